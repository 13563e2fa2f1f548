"""Programs of examples/: the same numbers stock and served, in C and in Fortran, on any number of ranks."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from eco import paths, profile
from eco.lateness import waited_for
from eco.plans import Rows

from .conftest import Ended, Library
from .hosts import Hosts

pytestmark = pytest.mark.mpi

EXAMPLES = Path(__file__).parents[2] / "examples"
#: 256 atoms for 30 steps: lists are made anew meanwhile, and sums in another order stay within 1e-8.
SMALL = ["4", "30"]
TOLERANCE = 2e-8
#: One way up, others down; the sums of two energies go another way than the forces.
ROWS: Rows = {
    "broadcast": [(1 << 24, "broadcast/kary degree=3")],
    "allgather": [(1 << 24, "allgather/gather+broadcast parts=gather/kary,broadcast/kary degree=2")],
    "allreduce": [(64, "allreduce/flat"), (1 << 24, "allreduce/ring segment=1000")],
}


def compiled(library: Library) -> str:
    return library.compile(str(EXAMPLES / "moldyn"), "moldyn", ["-lm"])


def numbers(ended: Ended) -> tuple[float, float]:
    """Energy of an atom and mean square way; the program itself says whether energy was conserved."""
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = re.search(r"energy of an atom (\S+), .*; mean square way (\S+)", ended.stdout)
    assert found, ended.stdout
    return float(found[1]), float(found[2])


def pairs(ended: Ended) -> list[int]:
    """How many pairs each rank has at last."""
    found = re.search(r"^pairs (.*)$", ended.stdout, re.MULTILINE)
    assert found, ended.stdout
    return [int(word) for word in found[1].split()]


@pytest.fixture(scope="module")
def alone(libraries: Callable[[str], Library]) -> tuple[float, float]:
    """The numbers of one rank."""
    library = libraries("openmpi")
    return numbers(library.run(1, [compiled(library), *SMALL]))


@pytest.mark.parametrize("ranks", [2, 5])
def test_stock_and_served_come_to_the_same(library: Library, alone: tuple[float, float], ranks: int) -> None:
    program = [compiled(library), *SMALL, "3", "1,2"]
    stock = library.run(ranks, program)
    report = {"ECO_REPORT": str(library.folder / f"report-moldyn-{ranks}.json")}
    served = library.run_served(ranks, program, report, rows=ROWS)
    assert numbers(stock) == pytest.approx(alone, abs=TOLERANCE)
    assert numbers(served) == pytest.approx(alone, abs=TOLERANCE)
    calls = served.report["collectives"]
    assert isinstance(calls, dict)
    assert {name for name, row in calls.items() if row["calls_served"] > 0} >= set(ROWS)


def test_work_goes_to_the_ranks_that_are_faster(library: Library) -> None:
    """By speeds by hand; every pair is somebody's, before and after."""
    program = [compiled(library), *SMALL]
    before = pairs(library.run(3, [*program, "0"]))
    after = pairs(library.run(3, [*program, "1", "1,3,1"]))
    assert sum(after) == sum(before)
    assert max(before) < 1.2 * min(before)
    assert after[1] == pytest.approx(3 * after[0], rel=0.15)
    assert after[1] == pytest.approx(3 * after[2], rel=0.15)


def test_the_ring_is_laid_along_the_subnets(
    library: Library, tmp_path: Path, alone: tuple[float, float]
) -> None:
    """Work moves in the order that ECO finds, and comes to the same."""
    job = Hosts(library, tmp_path, "hosts=2+2+2 rate_mbit=100 uplink_mbit=10", [0, 2, 4, 1, 3, 5])
    ended = job.run([compiled(library), *SMALL, "2", "1,2"])
    assert numbers(ended) == pytest.approx(alone, abs=TOLERANCE)
    assert ended.report["topologies"] == {"reordered": 1, "in_order": 0}


@pytest.mark.parametrize(
    "words",
    [["3"], ["6", "0"], ["4", "1", "-1"], ["4", "1", "1", "2,-1"], ["4", "1", "1", "x"]],
    ids=lambda words: " ".join(words),
)
def test_wrong_arguments_are_told(libraries: Callable[[str], Library], words: list[str]) -> None:
    library = libraries("openmpi")
    ended = library.run(2, [compiled(library), *words])
    assert ended.returncode != 0
    assert "usage: moldyn" in ended.stderr


@pytest.mark.parametrize("name", ["debian-openmpi", "debian-mpich"])
def test_fortran_comes_to_the_numbers_of_c(
    libraries: Callable[[str], Library], name: str, alone: tuple[float, float], tmp_path: Path
) -> None:
    library = libraries(name)
    if not library.has_fortran:
        pytest.skip(f"no Fortran for {name} here: run `make fortran`, {library.kind.how_to_install()}")
    program = tmp_path / "moldyn_lists"
    words = [library.kind.command("mpif90"), "-O1", "-std=f2008", f"-J{tmp_path}"]
    subprocess.run(
        [*words, str(EXAMPLES / "moldyn_lists.f90"), "-o", str(program)],
        check=True,
        env=library.environment({}),
    )
    for ranks in (1, 4):
        assert numbers(library.run(ranks, [str(program), *SMALL])) == pytest.approx(alone, abs=TOLERANCE)
    report = {"ECO_REPORT": str(tmp_path / "report.json")}
    served = library.run_served(4, [str(program), *SMALL], report, rows=ROWS)
    assert numbers(served) == pytest.approx(alone, abs=TOLERANCE)
    calls = served.report["collectives"]
    assert isinstance(calls, dict)
    assert {op for op, row in calls.items() if row["calls_served"] > 0} >= set(ROWS)


#: One tree down and one up, so that they form around late ranks.
TREES: Rows = {
    "broadcast": [(1 << 24, "broadcast/chain segment=8192")],
    "reduce": [(1 << 24, "reduce/chain segment=8192")],
    "gather": [(1 << 24, "gather/flat")],
}


def solver(library: Library) -> str:
    return library.compile(str(EXAMPLES / "schwarz"), "schwarz", ["-lm"])


def solved(ended: Ended) -> tuple[float, str]:
    """Residual, which the program itself judges too, and the sum over the solution."""
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = re.search(r"residual (\S+) of the right hand side, sum (\S+)", ended.stdout)
    assert found, ended.stdout
    return float(found[1]), found[2]


@pytest.mark.parametrize("late", [pytest.param("off", marks=pytest.mark.long), "auto", "mended"])
def test_a_solver_with_uneven_work_comes_to_the_same(library: Library, late: str) -> None:
    # On 5 ranks the last square of the coarse grid is half outside.
    program = [solver(library), "richardson", "40", "moving:20"]
    stock = solved(library.run(5, program))
    settings = {
        "ECO_LATE": late,
        "ECO_ANY_ORDER": "1",
        "ECO_REPORT": str(library.folder / f"schwarz-{late}.json"),
    }
    served = library.run_served(5, program, settings, rows=TREES)
    # To a square of the coarse grid two ranks add, so their order is all the same.
    assert solved(served) == stock
    assert stock[0] < 1e-2
    calls = served.report["collectives"]
    assert isinstance(calls, dict)
    assert {name for name, row in calls.items() if row["calls_served"] > 0} >= set(TREES)
    assert (calls["reduce"]["calls_formed"] > 0) == (late != "off")


def test_conjugate_gradients_come_further(library: Library) -> None:
    by_gradients = solved(library.run(3, [solver(library), "cg", "40", "steady:1:5"]))
    assert by_gradients[0] < 1e-8


@pytest.mark.parametrize("late", [1, 3])
def test_the_profile_names_who_has_most_work(library: Library, late: int, tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    # 120 ms that are slept for, on every machine. Rank 0 waits for them in a reduce that others leave, who then wait
    # for it: whom a late rank has made late is named too (docs/late-ranks.md).
    words = [solver(library), "cg", "15", f"steady:{late}:100", "0", str(tmp_path / "out.json"), "150"]
    observed = [str(paths.native_file("eco-exec")), *words]
    ended = library.run(4, observed, {"ECO": "observe", "ECO_PROFILE": str(raw)})
    assert ended.returncode == 0, ended.stderr
    found = profile.read(raw)
    assert late in list(waited_for(found.late))[:2]
    of_broadcasts = next(row for row in found.late if row.operation == "broadcast")
    assert (of_broadcasts.rank, of_broadcasts.share > 0.5) == (late, True)
    assert min(found.times, key=lambda time: time.collective_s).rank == late


@pytest.mark.parametrize(
    "words", [["jacobi", "3"], ["cg", "0"], ["cg", "3", "steady:2:9"], ["cg", "3", "uneven"]]
)
def test_a_solver_that_is_asked_for_nonsense_says_so(
    libraries: Callable[[str], Library], words: list[str]
) -> None:
    library = libraries("openmpi")
    ended = library.run(2, [solver(library), *words])
    assert ended.returncode != 0
    assert "schwarz: " in ended.stderr
