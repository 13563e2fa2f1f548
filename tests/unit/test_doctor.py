"""`eco doctor`: finds what is wrong, names it, and changes nothing."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eco import kernel
from eco.cli import doctor, main
from eco.cli.doctor import State

runner = CliRunner()


def by_name(checks: list[doctor.Check]) -> dict[str, doctor.Check]:
    return {check.name: check for check in checks}


def test_a_missing_native_file_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in doctor.wanted_files():
        (tmp_path / name).touch()
    monkeypatch.setenv("ECO_NATIVE_DIR", str(tmp_path))
    assert {check.state for check in doctor.native_files()} == {State.OK}
    (tmp_path / "libeco-mpich.so").unlink()
    found = by_name(doctor.native_files())
    assert found["libeco-mpich.so"].state is State.MISSING
    assert found["libeco-openmpi.so"].state is State.OK
    assert not doctor.Report(tuple(found.values())).healthy


def test_a_forbidden_kernel_feature_limits_but_does_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "probe", lambda: kernel._nothing("unshare: Operation not permitted"))
    checks = doctor.kernel_features()
    assert by_name(checks)["namespaces"].state is State.LIMITED
    assert "Operation not permitted" in by_name(checks)["namespaces"].detail
    assert doctor.Report(tuple(checks)).healthy


def test_a_cache_that_cannot_be_written_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "not" / "yet"))
    monkeypatch.setenv("ECO_SITE_DIR", "none")
    found = by_name(doctor.folders())
    assert found["cache"].state is State.OK
    assert not (tmp_path / "not").exists()
    assert found["site directory"].detail.startswith("none")
    (tmp_path / "file").touch()
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "file"))
    assert by_name(doctor.folders())["cache"].state is State.LIMITED


def test_an_option_with_a_bad_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_BUDGET", "soon")
    monkeypatch.setenv("ECO_MEASURE", "never")
    found = by_name(doctor.options())
    assert found["ECO_BUDGET"].state is State.WRONG
    assert "ECO_BUDGET='soon'" in found["ECO_BUDGET"].detail
    assert found["ECO_MEASURE"].state is State.OK
    assert found["ECO_MEASURE"].detail.startswith("never")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org\n", "Open MPI 5.0.11"),
        ("mpiexec (OpenRTE) 4.1.8\n", "Open MPI 4.1.8"),
        ("HYDRA build details:\n    Version:                                 5.0.2\n", "MPICH 5.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.19 Build 1\n", "Intel MPI 2021.19"),
        ("slurm 23.02\n", "unknown launcher (slurm 23.02)"),
        ("", "unknown launcher"),
    ],
)
def test_launchers_are_told_apart(text: str, version: str) -> None:
    assert doctor.version_in(text) == version


def test_json_has_schema_and_every_section() -> None:
    done = runner.invoke(main.app, ["doctor", "--json"])
    report = json.loads(done.stdout)
    assert (report["schema"], report["version"]) == ("eco.doctor", 1)
    assert {check["section"] for check in report["checks"]} >= {
        "version",
        "native file",
        "MPI library",
        "kernel",
        "remembering",
    }
    assert done.exit_code == (0 if report["healthy"] else 1)


def test_the_probe_leaves_no_interface_behind() -> None:
    kernel.probe.cache_clear()
    before = set(Path("/sys/class/net").iterdir())
    assert kernel.probe().namespaces.detail
    assert set(Path("/sys/class/net").iterdir()) == before


def test_a_variable_that_is_no_option_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_BUGDET", "1")
    monkeypatch.setenv("ECO_LAB_IDLE_US", "1")
    found = by_name(doctor.options())
    assert found["ECO_BUGDET"].state is State.LIMITED
    assert found["ECO_BUGDET"].advice == "unset ECO_BUGDET; did you mean ECO_BUDGET?"
    assert "ECO_LAB_IDLE_US" not in found
