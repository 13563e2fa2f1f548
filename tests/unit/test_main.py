"""The registry of commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import eco
from eco import __version__, _core
from eco.cli import main
from eco.errors import InvalidArgument

runner = CliRunner()


def test_version() -> None:
    assert runner.invoke(main.app, ["--version"]).output == f"eco {__version__}\n"


def test_every_command_listed_is_there() -> None:
    assert [name for name in main.COMMANDS if not main.has_module(name)] == []
    listed = runner.invoke(main.app, ["--help"]).output
    assert all(f" {name} " in listed for name in main.COMMANDS)


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = runner.invoke(main.app, [name, "--help"])
    assert done.exit_code == 0, done.output
    assert f"{name} [OPTIONS]" in done.output


@pytest.mark.parametrize(
    "words",
    ["explain --root 99999999999999999999", "explain --ranks 1048577", "predict --search 1 --seed 99999999999999999999",
     "tune --timeout nan -- mpirun", "tune --budget inf -- mpirun", "lab run one-switch --ranks 99999999999 -- true"],
)  # fmt: skip
def test_numbers_that_fit_nowhere_are_the_callers_mistake(words: str, tmp_path: Path) -> None:
    network = tmp_path / "network.json"
    network.write_text(_core.synthetic_network("hosts=2+2"), encoding="utf-8")
    asks = words.startswith(("explain", "predict"))
    done = runner.invoke(main.app, [*words.split(), *(["--network", str(network)] if asks else [])])
    assert isinstance(done.exception, InvalidArgument) or done.exit_code == 2, done.exception


def test_names_of_files_are_any_bytes_and_words_are_text(tmp_path: Path) -> None:
    network = tmp_path / os.fsdecode(b"net\xff.json")
    network.write_text(_core.synthetic_network("hosts=2+2"), encoding="utf-8")
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}

    def eco(*words: str | Path) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "eco.cli.main", *words]
        return subprocess.run(command, capture_output=True, env=strict, check=False)

    written = tmp_path / os.fsdecode(b"out\xff")
    done = eco("map", "--network", network, "--ring", "--rankfile", written)
    assert done.returncode == 0, done.stderr
    assert b"out\xff" in done.stdout
    done = eco(
        "predict", "--network", network, "--op", "broadcast", "--recipe", os.fsdecode(b"broadcast/\xff")
    )
    assert (done.returncode, done.stderr) == (2, b"eco: --recipe 'broadcast/\\udcff': expected UTF-8\n")


def test_one_command_does_not_import_another() -> None:
    code = (
        "import sys; from eco.cli import main; sys.argv = ['eco', 'doctor', '--help']\n"
        "try: main.main()\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith('eco.cli.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "['eco.cli.main', 'eco.cli.doctor']\n"


def test_nothing_below_the_commands_imports_one() -> None:
    package = Path(eco.__file__).parent
    files = {file.relative_to(package): file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    importing = {
        str(path) for path, text in files.items() if re.search(r"^\s*(from|import) eco\.cli", text, re.M)
    }
    assert {path for path in importing if not path.startswith("cli/")} == set()
    assert "cli/demo.py" in importing, "what is looked for is found"


def test_a_misspelt_command_is_guessed() -> None:
    for words, meant in ((["rnu"], "run"), (["lab", "rnu"], "run"), (["bnech"], "bench")):
        done = runner.invoke(main.app, words, env={"COLUMNS": "120"})
        assert done.exit_code == 2
        assert re.search(f"id you mean '?{meant}'?[?]", done.output), done.output
    assert "you mean" not in runner.invoke(main.app, ["xyzzy"]).output


def test_usage_says_what_show_needs() -> None:
    usage = runner.invoke(main.app, ["show", "--help"], env={"COLUMNS": "120"}).output
    assert "show [OPTIONS] [FILE | --remembered]" in usage
    assert "needed: a network file" in usage


def test_files_that_a_command_writes_are_looked_at_before_its_work() -> None:
    """Of options of files only those that are read are left to their command."""
    command = typer.main.get_command(main.app)
    unchecked = {
        parameter.name
        for name in main.COMMANDS
        for each in main.all_of(command.get_command(None, name))  # type: ignore[attr-defined]
        for parameter in each.params
        if parameter.metavar in ("FILE", "DIR") and parameter.callback is None
    }
    assert unchecked == {"network", "plan", "read", "profile", "graph", "replay_file", "report"}


def test_a_place_that_cannot_be_written_is_refused_before_anything_starts(tmp_path: Path) -> None:
    bad = tmp_path / "file" / "below"
    bad.parent.touch()
    lines = [
        ["compare", "--json", bad, "--", "mpirun", "touch", tmp_path / "made"],
        ["record", bad, "--lab", "tiny"],
        ["export", "--to", "mpich", "--lab", "tiny", "--out", bad],
        ["fuzz", "--folder", bad],
        ["demo", "--out", bad],
    ]
    for line in lines:
        done = runner.invoke(main.app, [str(word) for word in line])
        assert isinstance(done.exception, InvalidArgument), (line, done.output)
        assert f"{bad}: " in str(done.exception)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
