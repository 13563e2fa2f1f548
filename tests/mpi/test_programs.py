"""Real programs, unmodified: served, with the results of the library. bench/programs measures them on networks."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from eco import paths

from .conftest import Library

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

RANKS = 4
#: What each program calls that a plan by hand must serve. Without hpcc, which takes minutes on one host.
SERVED = {
    "pw.x": {"allreduce", "alltoall", "barrier", "broadcast"},
    "lammps": {"allreduce", "broadcast", "scan"},
    "mpi4py-fft": {"broadcast", "gather"},
}


@pytest.fixture(scope="module")
def programs(load_tool: Callable[..., ModuleType]) -> ModuleType:
    return load_tool("programs.py", folder="bench/programs")


@pytest.mark.parametrize("name", SERVED)
def test_a_program_is_served_and_comes_to_the_same(
    programs: ModuleType,
    libraries: Callable[[str], Library],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = programs.PROGRAMS[name]
    missing = program.why_not()
    if missing:
        pytest.skip(missing)
    library = libraries("debian-openmpi")
    for file in program.inputs:
        shutil.copy(programs.INPUTS / file, tmp_path)
    monkeypatch.chdir(tmp_path)
    words = list(program.words)
    if words[0] == "python":
        python = paths.library_dir("debian-openmpi") / "bin" / "python"
        if not python.exists():
            pytest.skip(f"{python} is not there: run `make programs`")
        words[0] = str(python)
    native = library.run(RANKS, words)
    assert native.returncode == 0, native.stderr
    wanted = program.results(native.stdout, tmp_path)
    served = library.run_served(RANKS, words, {"ECO_REPORT": str(tmp_path / "report.json")})
    assert served.returncode == 0, served.stderr
    assert program.difference(wanted, program.results(served.stdout, tmp_path)) is None
    calls = served.report["collectives"]
    assert isinstance(calls, dict)
    assert {operation for operation, row in calls.items() if row["calls_served"] > 0} >= SERVED[name]


def test_a_wrong_result_is_told(programs: ModuleType, tmp_path: Path) -> None:
    program = programs.PROGRAMS["pw.x"]
    output = "!    total energy = {} Ry\n convergence has been achieved in   9 iterations\n"
    right = program.results(output.format("-62.45777024"), tmp_path)
    assert program.difference(right, program.results(output.format("-62.45777025"), tmp_path)) is None
    assert "instead of" in program.difference(right, program.results(output.format("-62.45777027"), tmp_path))
    with pytest.raises(ValueError, match="without its results"):
        program.results("!    total energy = 1.0 Ry\n", tmp_path)
