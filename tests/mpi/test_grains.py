"""Reductions of short elements under plans, which are made with doubles: what is sent, and that it is right.

test_eight_bytes_go_as_a_double_does      messages between subnets of an allreduce that has a tree for each of them
test_blocks_that_are_filled_up            reduce_scatter of ints with blocks of several lengths
"""

from pathlib import Path

from eco import plans

from .conftest import Library
from .hosts import Hosts

RANKS = 6


def between(library: Library, folder: Path, elements: str) -> int:
    """Messages between subnets, of a job whose allreduces have an owner in each subnet."""
    plan = folder / "plan.json"
    plan.write_text(plans.by_hand(RANKS, {"allreduce": [(4096, "allreduce/subnets")]}))
    job = Hosts(library, folder, "hosts=2+2+2 rate_mbit=100 uplink_mbit=10", [0, 2, 4, 1, 3, 5])
    ended = job.run([library.compile("grains"), elements], {"ECO_PLAN": str(plan), "ECO_ARM_AFTER": "0"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    totals = ended.report["totals"]
    assert isinstance(totals, dict)
    assert totals["allreduce"]["calls_served"] == 20 * RANKS, ended.stderr
    return int(totals["allreduce"]["between_messages"])


def test_eight_bytes_go_as_a_double_does(library: Library, tmp_path: Path) -> None:
    assert between(library, tmp_path, "bytes") == between(library, tmp_path, "double") > 0


def test_blocks_that_are_filled_up(library: Library) -> None:
    rows = {"reduce_scatter": [(1 << 16, "reduce_scatter/subnets")]}
    ended = library.run_served(4, [library.compile("grains"), "filled"], rows=rows)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 20, ended.stderr
