"""Topologies that the library may reorder: the program sees what it asked for, in an order that fits."""

import re
from pathlib import Path

import pytest

from eco import paths

from .conftest import Ended, Library
from .hosts import Hosts

pytestmark = pytest.mark.mpi

#: Two ranks that are neighbours in the program's numbering are in different subnets.
DEALT = [0, 2, 4, 1, 3, 5]
THREE_SUBNETS = "hosts=2+2+2 rate_mbit=100 uplink_mbit=10"


def moved(ended: Ended) -> int:
    """How many processes had another rank in a new communicator than in its parent."""
    match = re.search(r"^moved (\d+)$", ended.stderr, re.MULTILINE)
    assert match, ended.stderr
    return int(match.group(1))


def test_what_was_asked_for_is_what_is_made(library: Library, tmp_path: Path) -> None:
    """Every call, on the world, backwards, on some ranks, and on a communicator that was reordered itself."""
    ended = Hosts(library, tmp_path, THREE_SUBNETS, DEALT).run([library.compile("topologies")])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert moved(ended) > 50
    counted = ended.report["topologies"]
    assert isinstance(counted, dict)
    assert counted["reordered"] > 10
    assert f"{counted['reordered']} topologies reordered" in ended.stderr


def test_nothing_is_found_where_calls_are_compared(library: Library, tmp_path: Path) -> None:
    job = Hosts(library, tmp_path, THREE_SUBNETS, DEALT)
    ended = job.run([library.compile("topologies")], {"ECO_CHECK": "communication"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert moved(ended) > 50
    assert "ranks differ" not in ended.stderr


@pytest.mark.parametrize("hosts", [[0, 1, 2, 3], [0, 0, 0, 0, 1], [2, 0, 3, 1, 0, 2, 1, 3]], ids=str)
def test_other_numbers_of_ranks(library: Library, tmp_path: Path, hosts: list[int]) -> None:
    ended = Hosts(library, tmp_path, "hosts=2+2 uplink_mbit=10", hosts).run([library.compile("topologies")])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr


def test_errors_are_the_librarys(library: Library, tmp_path: Path) -> None:
    """The same classes, through the same handlers, as without ECO."""
    program = library.compile("topologies")
    bare = [str(paths.native_file("eco-exec")), "--bare", program, "wrong"]
    stock = library.run(len(DEALT), bare)
    served = Hosts(library, tmp_path, THREE_SUBNETS, DEALT).run([program, "wrong"])
    assert stock.returncode == 0, stock.stderr
    assert served.returncode == 0, served.stderr
    assert served.stdout == stock.stdout
    assert served.stdout.count("class") == 20


@pytest.mark.parametrize(
    "settings",
    [
        {"ECO": "off"},
        {"ECO": "observe"},
        {"ECO_DISABLE": "topology"},
        {"ECO_NETWORK": "", "ECO_MEASURE": "never"},
    ],
    ids=str,
)
def test_without_a_network_or_leave_nothing_is_reordered(
    library: Library, tmp_path: Path, settings: dict[str, str]
) -> None:
    ended = Hosts(library, tmp_path, THREE_SUBNETS, DEALT).run([library.compile("topologies")], settings)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    if library.name != "openmpi":  # whose own components may reorder graphs
        assert moved(ended) == 0


def test_a_network_that_nobody_knows_is_measured(library: Library) -> None:
    """By the first topology of the whole job, within the budget. All ranks are on one host, so they stay in order."""
    words = [str(paths.native_file("eco-exec")), library.compile("topologies"), "often", "3"]
    report = library.folder / "measured-topology.json"
    ended = library.run(4, words, {"ECO_REPORT": str(report), "ECO_BUDGET": "2"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.report["topologies"] == {"reordered": 0, "in_order": 3}
    assert isinstance(ended.report["arming_s"], float)
    assert ended.report["arming_s"] > 0


@pytest.mark.parametrize("made", [100, pytest.param(2200, marks=pytest.mark.slow)])
def test_freed_topologies_leave_nothing(library: Library, tmp_path: Path, made: int) -> None:
    """MPICH has some 2,000 context ids: one lost by each topology would end this."""
    if made > 1000 and library.name == "openmpi":
        pytest.skip("Open MPI has far too many context ids to use them up")
    job = Hosts(library, tmp_path, THREE_SUBNETS, DEALT)
    ended = job.run([library.compile("topologies"), "often", str(made)])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.report["topologies"] == {"reordered": made, "in_order": 0}
