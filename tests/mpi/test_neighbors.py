"""Neighbourhood collectives along the edges of a topology: byte by byte what the library makes of them."""

from pathlib import Path

import pytest

from eco import plans
from eco.plans import Rows

from .conftest import Ended, Library
from .hosts import Hosts

pytestmark = pytest.mark.mpi

THREE_SUBNETS = "hosts=3+3+2 rate_mbit=100 uplink_mbit=10"
#: Neighbours in the program's numbering are in different subnets.
DEALT = [0, 3, 6, 1, 4, 7, 2, 5]
MOST = 1 << 24
#: Rows change between the sizes of the program's calls.
ROWS: dict[str, Rows] = {
    "edge by edge": {
        "neighbor_allgather": [
            (300, "neighbor_allgather/flat"),
            (MOST, "neighbor_allgather/flat segment=1000"),
        ],
        "neighbor_alltoall": [
            (300, "neighbor_alltoall/flat"),
            (MOST, "neighbor_alltoall/flat segment=1000 window=2"),
        ],
    },
    "by subnets": {
        "neighbor_allgather": [
            (300, "neighbor_allgather/subnets between=flat inside=binomial"),
            (MOST, "neighbor_allgather/subnets segment=1000"),
        ],
    },
}
#: With leaders, where two edges lead from one subnet to another.
LEADERS: Rows = {"neighbor_alltoall": [(6000, "neighbor_alltoall/leaders")]}


def run(library: Library, tmp_path: Path, hosts: list[int], rows: Rows, settings: dict[str, str]) -> Ended:
    files = []
    for ranks in {len(hosts), len(hosts) // 2 * 2}:  # of all, and of a grid of two rows
        files.append(tmp_path / f"plan-{ranks}.json")
        files[-1].write_text(plans.by_hand(ranks, rows))
    job = Hosts(library, tmp_path, THREE_SUBNETS, hosts)
    program = library.compile("neighbors", flags=["-ldl"])
    return job.run([program, "7"], {"ECO_PLAN": ":".join(map(str, files)), "ECO_ARM_AFTER": "0", **settings})


def served(ended: Ended) -> dict[str, tuple[int, int]]:
    assert ended.returncode == 0, ended.stderr
    *lines, last = ended.stdout.splitlines()
    assert last == "right", ended.stdout
    return {name: (int(gathers), int(exchanges)) for name, gathers, exchanges in map(str.split, lines)}


TOPOLOGIES = {"line", "ring", "halo", "torus", "selves", "edges", "graph", "sparse", "dense", "alone", "star"}


@pytest.mark.parametrize(
    "hosts", [DEALT, [0, 1, 2, 3, 4], pytest.param([0, 0, 3, 3, 6, 6, 7], marks=pytest.mark.long)], ids=str
)
@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_results_are_the_librarys(library: Library, tmp_path: Path, hosts: list[int], rows: str) -> None:
    calls = served(run(library, tmp_path, hosts, ROWS[rows], {}))
    assert set(calls) == TOPOLOGIES
    assert calls.pop("alone") == (0, 0), "a rank without edges does not know what the others do"
    # Of 24 calls of each operation four have no bytes.
    expected = (20, 20 if "neighbor_alltoall" in ROWS[rows] else 0)
    assert calls == dict.fromkeys(calls, expected)


def test_leaders(library: Library, tmp_path: Path) -> None:
    """Where there is nothing to combine the plan is refused, and the topology's calls are the library's."""
    calls = served(run(library, tmp_path, DEALT, LEADERS, {}))
    assert calls["dense"][1] == 16, "blocks above 6000 bytes are no rows of the plan"
    assert {exchanges for _, exchanges in calls.values()} == {0, 16}


def test_a_plan_is_made_and_remembered_for_its_graph(library: Library, tmp_path: Path) -> None:
    """By trials, within the budget; a second job of the same graphs makes none."""
    program = library.compile("neighbors", flags=["-ldl"])
    job = Hosts(library, tmp_path, THREE_SUBNETS, DEALT)
    settings = {"ECO_ARM_AFTER": "0", "ECO_BUDGET": "10", "ECO_CACHE_DIR": str(tmp_path / "cache")}
    first = job.run([program, "7"], settings)
    assert set(served(first)) == TOPOLOGIES
    remembered = sorted((tmp_path / "cache").rglob("*.json"))
    assert any("neighbor_allgather" in file.read_text() for file in remembered)
    assert any("neighbor_allgather" not in file.read_text() for file in remembered)


def test_trials_of_the_librarys_own_end_where_they_began(library: Library, tmp_path: Path) -> None:
    """Where one rank hears and tells nobody: it takes part like all others, and leaves no message for the next call."""
    program = library.compile("neighbors", flags=["-ldl"])
    job = Hosts(library, tmp_path, THREE_SUBNETS, DEALT)
    ended = job.run([program, "7", "star"], {"ECO_ARM_AFTER": "0", "ECO_BUDGET": "8"}, 120)
    assert set(served(ended)) == {"star"}
    assert "wrong result" not in ended.stderr


@pytest.mark.parametrize(
    "settings", [{"ECO": "off"}, {"ECO_DISABLE": "neighbor_allgather,neighbor_alltoall"}], ids=str
)
def test_switched_off(library: Library, tmp_path: Path, settings: dict[str, str]) -> None:
    calls = served(run(library, tmp_path, DEALT, ROWS["edge by edge"], settings))
    assert set(calls.values()) == {(0, 0)}


def test_paced(library: Library, tmp_path: Path) -> None:
    """Too few calls to be armed: counted alike on all ranks, and the library's."""
    calls = served(run(library, tmp_path, DEALT, ROWS["edge by edge"], {"ECO_ARM_AFTER": "auto"}))
    assert set(calls.values()) == {(0, 0)}
