"""eco profile of a program whose calls are known."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from eco import paths, profile
from eco.cli import main
from eco.profile import Profile, Row

from .conftest import CHOSEN, Library

pytestmark = pytest.mark.mpi

RANKS = 4
#: (operation, ranks of the communicator, bytes of a call): calls of all ranks.
CALLS = {
    ("broadcast", RANKS, 400): 5 * RANKS,
    ("broadcast", RANKS, 0): RANKS,
    ("broadcast", RANKS, 800): 4 * RANKS,
    ("allreduce", RANKS, 8000): 7 * RANKS,
    ("barrier", RANKS, 0): (3 + 2) * RANKS,
    ("scan", RANKS, 4): 2 * RANKS,
    # Then with large counts, then nonblocking, with small and large ones.
    ("alltoallv", RANKS, 160): (2 + 2 + 2) * RANKS,
    ("alltoallw", RANKS, 160): (3 + 1 + 2) * RANKS,
    ("gatherv", RANKS, 40): (1 + 1 + 2) * RANKS,
    ("scatterv", RANKS, 40): (1 + 1 + 2) * RANKS,
    ("allgather", RANKS, 160): (1 + 2) * RANKS,
    ("reduce_scatter", RANKS, 160): (1 + 2) * RANKS,
    ("neighbor_allgather", RANKS, 4): RANKS,
    ("neighbor_allgatherv", RANKS, 40): 2 * RANKS,
    ("neighbor_alltoallv", RANKS, 80): 2 * RANKS,
    ("neighbor_alltoallw", RANKS, 80): 2 * RANKS,
    ("allreduce", RANKS // 2, 4): 4 * RANKS,
    ("barrier", RANKS // 2, 0): RANKS,
    # Between the two halves; what its bytes are is not looked at.
    ("allreduce", RANKS // 2, 0): RANKS,
    ("allreduce", 1, 4): 6,
}


def check_calls(found: Profile) -> dict[tuple[str, int, int], Row]:
    """Rows by what the program calls them."""
    for row in found.rows:
        assert (
            row.up_to_bytes // 2 < row.mean_bytes <= row.up_to_bytes or row.mean_bytes == row.up_to_bytes == 0
        )
        assert row.largest_bytes is not None
        assert row.mean_bytes <= row.largest_bytes <= row.up_to_bytes
        assert 0 < row.least_s <= row.mean_s <= row.most_s
        assert sum(row.fates.values()) == row.calls
    rows = {(row.operation, row.communicator_ranks, int(row.mean_bytes)): row for row in found.rows}
    assert {key: row.calls for key, row in rows.items()} == CALLS
    assert {row.ranks for key, row in rows.items() if key[1] > 1} == {RANKS}
    alone = rows["allreduce", 1, 4]
    assert (alone.ranks, alone.most_rank) == (1, 1)
    assert (found.ranks, [time.rank for time in found.times]) == (RANKS, [0, 1, 2, 3])
    assert [(used.ranks, used.number) for used in found.communicators] == [(1, 1), (2, 4), (RANKS, 2)]
    assert all(time.collective_s < time.wall_s for time in found.times)
    return rows


def profiled(library: Library, ranks: int, program: str, raw: Path) -> Profile:
    """Under the stock library."""
    words = [str(paths.native_file("eco-exec")), library.compile(program)]
    ended = library.run(ranks, words, {"ECO": "observe", "ECO_PROFILE": str(raw)})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    return profile.read(raw)


def test_of_the_stock_library(library: Library, tmp_path: Path) -> None:
    found = profiled(library, RANKS, "profiled", tmp_path / "raw.json")
    assert found.mode == "observe"
    rows = check_calls(found)
    assert {fate for row in rows.values() for fate in row.fates} == {"communicator", "varying", "nonblocking"}
    assert found.arming_s == 0


def test_with_eco_serving(library: Library, tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    ended = library.run_served(RANKS, [library.compile("profiled")], {"ECO_PROFILE": str(raw)})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    found = profile.read(raw)
    assert found.mode == "on"
    rows = check_calls(found)
    assert {key: set(row.fates) for key, row in rows.items()} == {
        ("broadcast", RANKS, 400): {"served"},
        ("broadcast", RANKS, 0): {"empty"},
        ("broadcast", RANKS, 800): {"served" if library.kind.carries else "nonblocking"},
        ("allreduce", RANKS, 8000): {"served"},
        ("barrier", RANKS, 0): {"served", "nonblocking"},
        ("scan", RANKS, 4): {"served"},
        ("alltoallv", RANKS, 160): {"varying"},
        ("alltoallw", RANKS, 160): {"varying"},
        ("gatherv", RANKS, 40): {"varying"},
        ("scatterv", RANKS, 40): {"varying"},
        ("allgather", RANKS, 160): {"served"} | ({"nonblocking"} if not library.kind.carries else set()),
        ("reduce_scatter", RANKS, 160): {"served"} | ({"nonblocking"} if not library.kind.carries else set()),
        ("neighbor_allgather", RANKS, 4): {"nonblocking"},
        ("neighbor_allgatherv", RANKS, 40): {"varying"},
        ("neighbor_alltoallv", RANKS, 80): {"varying"},
        ("neighbor_alltoallw", RANKS, 80): {"varying"},
        # The plan is for the ranks of the whole job.
        ("allreduce", RANKS // 2, 4): {"communicator"},
        ("barrier", RANKS // 2, 0): {"communicator"},
        ("allreduce", RANKS // 2, 0): {"communicator"},
        ("allreduce", 1, 4): {"communicator"},
    }
    assert found.arming_s > 0
    natives = {used.ranks: used.native for used in found.communicators}
    assert natives[1] == {"one rank only": 1}
    assert natives[2]["an inter-communicator"] == 2, "seen from either side"
    assert sum(natives[2].values()) == 4
    assert natives[RANKS] == {"too few or too short calls to be armed": 1}, "the ring"


def test_where_some_ranks_were_not_asked_there_is_none(library: Library, tmp_path: Path) -> None:
    """And nobody waits for them."""
    raw = tmp_path / "raw.json"
    eco_exec, program = str(paths.native_file("eco-exec")), library.compile("profiled")
    asked = [eco_exec, "--set", f"ECO_PROFILE={raw}", program]
    ended = library.run(2, [*asked, ":", "-n", "2", eco_exec, program], {"ECO_MEASURE": "never"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert not raw.exists()


def test_the_command(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in library.environment({}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    oversubscribe = ["--oversubscribe"] if library.kind.family == "openmpi" else []
    launcher = [str(library.prefix / "bin" / "mpiexec"), *oversubscribe, "-n", str(RANKS)]
    program = library.compile("profiled")
    monkeypatch.setattr(sys, "argv", ["eco", "profile", "--json", "p.json", "--", *launcher, program])
    with pytest.raises(SystemExit) as ended:
        main.main()
    said = capfd.readouterr()
    assert ended.value.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "right"
    assert lines[1].startswith(f"{RANKS} ranks under {'Open MPI' if library.name == 'openmpi' else 'MPICH'}")
    behind = [line for line in lines if "is waited for most" in line or "no plan is remembered" in line]
    calls = lines[: lines.index(behind[0])]
    assert [line.split()[0] for line in calls if line.strip()].count("allreduce") == 1
    assert "no plan is remembered" in behind[-1]
    assert "eco:" not in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


def test_the_late_rank_is_named(library: Library, tmp_path: Path) -> None:
    found = profiled(library, RANKS, "skewed", tmp_path / "raw.json")
    assert found.clock_error_s == 0, "ranks of one machine read one clock"
    late = {one.operation: one for one in found.late}
    whole, half = late["allreduce"], late["barrier"]
    assert (whole.communicator_ranks, whole.up_to_bytes, whole.calls) == (RANKS, 1024, 12)
    assert (whole.rank, whole.share > 0.5) == (2, True)
    assert 0 < whole.behind_s <= whole.spread_s
    assert whole.waiting_s > 0
    assert (half.communicator_ranks, half.up_to_bytes) == (RANKS // 2, 0)
    assert half.calls == 2 * 6, "of both halves"
    assert half.rank in (2, 3)


@pytest.mark.slow
def test_more_communicators_than_arrivals_have_room(
    libraries: Callable[[str], Library], tmp_path: Path
) -> None:
    """The room is ECO's, under every library."""
    found = profiled(libraries(CHOSEN[0]), 7, "orders", tmp_path / "raw.json")
    (late,) = found.late
    assert (late.operation, late.communicator_ranks) == ("barrier", 7)
    most = 2048
    assert late.calls == most, "the first of as many communicators as there is room for"
    (row,) = found.rows
    assert row.calls == 7 * 2200, "all are counted"
