"""tools/setup: what it decides, without installing anything."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def setup(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("setup")


def test_a_stamp_holds_until_an_input_changes(setup: ModuleType, tmp_path: Path) -> None:
    old = setup.Stamp(tmp_path / "stamps", "python", setup.digest(["numpy>=2"]))
    assert not old.is_current()
    old.renew()
    assert setup.Stamp(tmp_path / "stamps", "python", setup.digest(["numpy>=2"])).is_current()
    assert not setup.Stamp(tmp_path / "stamps", "python", setup.digest(["numpy>=3"])).is_current()
    assert not setup.Stamp(tmp_path / "stamps", "mpi", setup.digest(["numpy>=2"])).is_current()
    assert [path.name for path in (tmp_path / "stamps").iterdir()] == ["python"]


def test_a_build_is_told_of(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setup.compiled_of(tmp_path) is None
    (tmp_path / "build.ninja").write_text(
        "build a/x.cc.o: CXX_COMPILER__a ../x.cc\nbuild y.o: ASM ../y.S\nbuild a.so: LINK a/x.cc.o\n"
    )
    (tmp_path / "y.o").touch()
    assert setup.compiled_of(tmp_path) == (1, 2)
    monkeypatch.setattr(setup, "SAYS_EVERY_S", 0.01)
    said = ""
    with setup.told_of(tmp_path):
        for _ in range(500):
            said = said or capsys.readouterr().out
            time.sleep(0 if said else 0.01)
    assert said.startswith("setup: 1 of 2 files compiled\n")


def test_a_build_is_installed_where_the_environment_looks(setup: ModuleType) -> None:
    """Debian's Python, whose own packages lie in local/lib, got this wrong."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert setup.site_packages(Path("/v")) == f"/v/lib/{version}/site-packages"


def test_requirements_cover_building_running_and_checking(setup: ModuleType) -> None:
    pyproject = {
        "build-system": {"requires": ["nanobind>=2"]},
        "project": {
            "dependencies": ["typer>=1"],
            "optional-dependencies": {"dev": ["ruff", "nanobind>=2"], "lab": ["left-out"]},
        },
    }
    assert setup.requirements(pyproject) == ["nanobind>=2", "ruff", "typer>=1"]


def test_only_missing_system_packages_are_asked_for(setup: ModuleType) -> None:
    here = setup.SystemPackage("bash", "shells", lambda: True)
    absent = setup.SystemPackage("libabsent-dev", "a test", lambda: False)
    assert setup.missing_packages([here, absent]) == [absent]
    assert setup.apt_command([absent])[-1] == "libabsent-dev"


@pytest.mark.parametrize("step", ["system", "simgrid", "programs"])
def test_without_root_one_command_is_printed(
    setup: ModuleType, step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = (setup.SystemPackage("libabsent-dev", "a test", lambda: False),)
    monkeypatch.setattr(setup, "missing_packages", lambda _: list(packages))
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup, "run", lambda *_, **__: pytest.fail("nothing may be run without root"))
    assert setup.main([step]) == 1
    assert "sudo apt-get install -y --no-install-recommends libabsent-dev" in capsys.readouterr().err


def test_a_current_step_runs_nothing(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\n[project]\ndependencies = ["typer"]\n'
        "[project.optional-dependencies]\ndev = []\n"
    )
    ran: list[object] = []
    monkeypatch.setattr(setup, "run", lambda command, **_: ran.append(command))
    steps = setup.Setup(tmp_path)
    monkeypatch.setattr(setup, "venv", lambda folder: folder / "bin" / "python")
    steps.python()
    assert len(ran) == 1
    setup.Setup(tmp_path).python()
    assert len(ran) == 1


def test_an_unknown_step_is_refused(setup: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert setup.main(["everything"]) == 2
    assert "unknown step 'everything'" in capsys.readouterr().err


def test_the_interpreters_own_packages_are_asked_for(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [package.name for package in setup.SYSTEM_PACKAGES]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert {f"{version}-venv", f"{version}-dev"} <= set(names)
    monkeypatch.setattr(setup.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(setup.sysconfig, "get_path", lambda name: "/nonexistent")
    missing = [package.name for package in setup.missing_packages()]
    assert {f"{version}-venv", f"{version}-dev"} <= set(missing)


def test_an_environment_without_pip_is_made_anew(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(setup, "run", lambda command, **_: ran.append([str(word) for word in command]))
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")  # what a failed first attempt leaves: an interpreter, no pip
    python.chmod(0o755)
    assert setup.venv(tmp_path) == python
    assert ran[0][1:] == ["-m", "venv", "--clear", str(tmp_path)]
    python.write_text("#!/bin/sh\nexit 0\n")
    setup.venv(tmp_path)
    assert len(ran) == 1


def test_a_failed_command_is_named(setup: ModuleType) -> None:
    with pytest.raises(setup.SetupError, match="failed with code 3: bash -c"):
        setup.run(["bash", "-c", "exit 3"])
    with pytest.raises(setup.SetupError, match="no-such-program is missing"):
        setup.run(["no-such-program"])


def test_further_libraries_are_installed_on_demand_only(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    for step in (*setup.ALL_STEPS, *setup.STEPS_ON_DEMAND):
        name = step.replace("-", "_")
        monkeypatch.setattr(setup.Setup, name, lambda self, name=name: ran.append(name))
    assert setup.main([]) == 0
    assert ran == ["system", "python", "mpi", "native"]
    assert setup.main(["more-mpi"]) == 0
    assert ran[4:] == ["more_mpi"]
    assert not set(setup.MPI_PACKAGES) & set(setup.MORE_MPI_PACKAGES)
