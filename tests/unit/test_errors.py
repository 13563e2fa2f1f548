"""Errors: the same names on both sides, one line and an exit code at the command line's edge."""

import inspect
import subprocess
import sys

import pytest

import eco.errors
from eco import _core, paths
from eco.cli import main
from eco.errors import CorruptFile, EcoError, InvalidArgument, Unsupported


def test_python_has_the_classes_of_the_core() -> None:
    header = (paths.data_dir().parent / "eco" / "base" / "errors.h").read_text()
    in_python = {name for name, _ in inspect.getmembers(eco.errors, inspect.isclass)} - {"EcoError"}
    in_core = {line.split()[1] for line in header.splitlines() if line.startswith("class ")} - {"Error"}
    assert in_python == in_core


def test_an_error_of_the_core_arrives_as_its_class() -> None:
    with pytest.raises(InvalidArgument, match="ECO_MEASURE='sometimes'"):
        _core.check_options({"ECO_MEASURE": "sometimes"})


def test_every_error_is_an_eco_error() -> None:
    for _, kind in inspect.getmembers(eco.errors, inspect.isclass):
        assert issubclass(kind, EcoError)


@pytest.mark.parametrize(
    ("error", "code"), [(InvalidArgument, 2), (CorruptFile, 2), (Unsupported, 1), (EcoError, 1)]
)
def test_the_command_line_prints_one_line(
    error: type[EcoError], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise error("what, where, which values, what to try")

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code
    assert capsys.readouterr().err == "eco: what, where, which values, what to try\n"


def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise KeyError("a defect of ours")

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(KeyError):
        main.main()


def test_an_unknown_command_is_refused() -> None:
    done = subprocess.run([sys.executable, "-m", "eco.cli.main", "levitate"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "levitate" in done.stderr
