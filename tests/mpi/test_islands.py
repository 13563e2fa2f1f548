"""Islands whose part is done by the library's own collectives: results, lifetimes, and that nothing is left behind.

Ranks of this one machine say that they are on several hosts (hosts.py).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from eco import plans
from eco.plans import Rows

from .conftest import Ended, Library
from .hosts import Hosts

pytestmark = pytest.mark.mpi


def rows_of(kind: str, in_order: bool) -> Rows:
    """Every composition that has an inside, uncut and in segments; scans where ranks stand in a row."""
    between = {
        "broadcast": ("parts=broadcast/flat,native", "parts=broadcast/chain,native"),
        "reduce": ("parts=native,reduce/flat", "parts=native,reduce/chain"),
        "allreduce": ("parts=native,allreduce/doubling,native", "parts=native,allreduce/chain,native"),
        "allgather": ("parts=native,broadcast/flat,native", "parts=native,broadcast/chain,native"),
        "reduce_scatter": ("parts=native,reduce/flat,native", "parts=native,reduce/chain,native"),
        "reduce_scatter_block": ("parts=native,reduce/flat,native", "parts=native,reduce/binomial,native"),
        "scan": ("parts=native,exscan/chain,native", "parts=native,exscan/doubling,native"),
        "exscan": ("parts=exscan/chain,exscan/chain,native", "parts=exscan/doubling,exscan/chain,native"),
    }
    rows = {
        name: [(500, f"{name.removesuffix('_block')}/levels islands={kind} {short}"),
               (1 << 24, f"{name.removesuffix('_block')}/levels segment=2000 islands={kind} {long}")]
        for name, (short, long) in between.items() if in_order or "scan" not in name
    }  # fmt: skip
    rows["barrier"] = [(0, f"barrier/levels islands={kind} parts=native,barrier/dissemination,native")]
    return rows


class Islands(Hosts):
    """A job on hosts of a synthetic network, and a plan for so many ranks of it."""

    def __init__(self, library: Library, folder: Path, network: str, kind: str, hosts: Sequence[int],
                 in_order: bool) -> None:  # fmt: skip
        super().__init__(library, folder, network, hosts)
        self.rows = rows_of(kind, in_order)

    def plan(self, ranks: int) -> Path:
        document = json.loads(plans.by_hand(ranks, self.rows))
        document["entries"] = [
            {**entry, "root_subnet": subnet}
            for entry in document["entries"]
            for subnet in range(self.n_subnets if entry["collective"] in ("broadcast", "reduce") else 1)
        ]
        path = self.folder / f"plan-{ranks}.json"
        path.write_text(json.dumps(document))
        return path

    def run_planned(
        self, words: Sequence[str], planned: int = 0, settings: Mapping[str, str] | None = None
    ) -> Ended:
        """With a plan for `planned` ranks; 0: for all."""
        plan = str(self.plan(planned or len(self.hosts)))
        return self.run(words, {"ECO_PLAN": plan, "ECO_ARM_AFTER": "0", **(settings or {})})


slow = pytest.mark.slow
long = pytest.mark.long
#: Network, what is an island, host of each rank, whether islands are runs of ranks.
PLACED = [
    pytest.param("hosts=1+1", "subnets", [0, 0, 0, 1, 1], True, id="two-hosts"),
    pytest.param("hosts=1+1", "subnets", [1, 0, 1, 0, 0], False, id="two-hosts-shuffled"),
    pytest.param("hosts=2+1", "hosts", [0, 0, 1, 2, 2], True, id="three-hosts"),
    pytest.param("hosts=1+1", "subnets", [0, 0, 0, 0, 1, 1, 1, 1], True, id="two-hosts-of-4", marks=long),
    pytest.param("hosts=1+1", "subnets", [0, 1, 1, 0, 1, 0, 0, 1], False, id="two-hosts-of-4-shuffled", marks=slow),
    pytest.param("hosts=2+2", "hosts", [0, 0, 1, 1, 2, 2, 3, 3], True, id="smp-islands", marks=long),
    pytest.param("hosts=2+2", "hosts", [0, 2, 3, 1, 3, 0, 2, 1], False, id="smp-islands-shuffled", marks=slow),
    pytest.param("hosts=2+2", "subnets", [0, 2, 3, 1, 3, 0, 2, 1], False, id="switches-shuffled", marks=slow),
]  # fmt: skip


@pytest.mark.parametrize(("network", "kind", "hosts", "in_order"), PLACED)
def test_every_operation_gives_what_the_library_gives(
    library: Library, tmp_path: Path, network: str, kind: str, hosts: list[int], in_order: bool
) -> None:
    """Roots, sizes, types, places, operations of the program's own that commute and that do not."""
    islands = Islands(library, tmp_path, network, kind, hosts, in_order)
    ended = islands.run_planned([library.compile("operations"), "300", "5", *library.draws])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    collectives = ended.report["collectives"]
    assert isinstance(collectives, dict)
    for name in islands.rows:
        assert collectives[name]["calls_served"] >= 5, (name, collectives[name], ended.stderr)


def test_a_communicator_of_some_ranks(library: Library, tmp_path: Path) -> None:
    """The plan is for all ranks but the last: what serves is the communicator without it."""
    islands = Islands(library, tmp_path, "hosts=1+1", "subnets", [0, 0, 1, 1, 0], True)
    ended = islands.run_planned([library.compile("operations"), "400", "3", *library.draws], planned=4)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.report["communicators_armed"] == 1, ended.stderr
    assert ended.served()[0] >= 20, ended.stderr


@pytest.mark.parametrize(
    ("made", "ids", "share"), [(100, [], 3), pytest.param(300, ["200"], 1, marks=pytest.mark.slow)]
)
def test_freed_communicators_leave_nothing(
    library: Library, tmp_path: Path, made: int, ids: list[str], share: int
) -> None:
    """Each armed copy of the world has islands, and it is one in `share`. MPICH has some 2,000 context ids, of which
    200 are left: enough for 20 copies with their islands at a time, and not for one lost by each of 300."""
    if ids and library.name == "openmpi":
        pytest.skip("Open MPI has far too many context ids to hold them")
    islands = Islands(library, tmp_path, "hosts=1+1", "subnets", [0, 0, 1, 1], True)
    ended = islands.run_planned([library.compile("communicators"), "20", str(made), *ids])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    native = ended.report["communicators_native"]
    assert isinstance(native, dict)
    assert not any("communicators for the islands" in why for why in native), native
    armed = ended.report["communicators_armed"]
    assert isinstance(armed, int)
    assert armed >= (20 + made) // share, ended.stderr


def test_the_world_is_finalized_with_its_islands(library: Library, tmp_path: Path) -> None:
    islands = Islands(library, tmp_path, "hosts=1+1", "subnets", [0, 0, 1, 1], True)
    ended = islands.run_planned([library.compile("lifetimes")])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 0, ended.stderr
