"""Tables 3 to 7 of ECO's papers: which ways of communicating each compares, on what, and what the papers measured.

    outcome = outcome_of(TABLES["T4"], records)      # records as bench/papers.py writes them
    outcome.rows["ECO, openmpi"].median_s, outcome.verdicts

Pure: bench/papers.py measures. A row is one way under one library; its time in a launch is `seconds`' median.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eco import stats
from eco.lab import Streams

ECO, STOCK = "ECO", "stock"
LIBRARIES = ("openmpi", "mpich")
#: Ways by hand run under this library; ECO and stock under both.
BY_HAND_UNDER = "openmpi"
#: Plans by hand hold for every size.
ALL_SIZES = 1 << 28
Record = Mapping[str, Any]


def _one_tree(shape: str, parameters: str = "") -> dict[str, str]:
    """The papers' way: one tree for all operations, messages whole; to all is to the root and back down."""
    return {
        "broadcast": f"broadcast/{shape}{parameters}",
        "allgather": f"allgather/gather+broadcast parts=gather/{shape},broadcast/{shape}{parameters}",
        "allreduce": f"allreduce/{shape}{parameters}",
    }


#: Ways that know nothing of the network: ranks in their order.
BY_HAND: dict[str, dict[str, str]] = {
    "tree (k = 2)": _one_tree("kary", " degree=2"),
    "tree (k = 3)": _one_tree("kary", " degree=3"),
    "tree (k = 4)": _one_tree("kary", " degree=4"),
    "star": _one_tree("flat"),
    "chain": _one_tree("chain"),
    # Each rank passes on what it has just heard; sums go around in blocks.
    "ring": {"broadcast": "broadcast/chain", "allgather": "allgather/chain", "allreduce": "allreduce/ring"},
    # Partners at distance 1, 2, 4, ...; a sum is halved on the way there and put together on the way back.
    "butterfly": {
        "broadcast": "broadcast/binomial",
        "allgather": "allgather/recursive_doubling",
        "allreduce": "allreduce/reduce_scatter+allgather "
        "parts=reduce_scatter/recursive_halving,allgather/recursive_doubling",
    },
}  # fmt: skip
#: Short sums go along the chain: as many steps as around the ring, with one message each.
SHORT_BYTES = 4096
SHORT = {"ring": {"allreduce": "allreduce/chain"}}
#: recursive_doubling wants a power of two.
BUTTERFLY_OF_ANY_NUMBER = {"allgather": "allgather/doubling"}


@dataclass(frozen=True)
class Want:
    """One thing to show: how many times as long as ECO the best of some ways takes."""

    ways: tuple[str, ...]
    ratio: float  # at least; below 1: ECO may take that much longer
    what: str


@dataclass(frozen=True)
class PaperTable:
    """One table: what is run where, the papers' times, and what is to be shown."""

    name: str
    title: str
    network: str
    paper: dict[str, float]  # by way, in the paper's unit
    unit: str
    wants: tuple[Want, ...]
    ways: tuple[str, ...]  # by hand
    steps: int = 0  # of examples/moldyn; 0: a broadcast alone
    quick_steps: int = 0
    balance_every: int = 0
    streams: Streams | None = None

    def rows(self) -> list[tuple[str, str]]:
        """Way and library, in the order of a round."""
        return [
            (ECO, LIBRARIES[0]), *((way, BY_HAND_UNDER) for way in self.ways), (STOCK, LIBRARIES[0]),
            (ECO, LIBRARIES[1]), (STOCK, LIBRARIES[1]),
        ]  # fmt: skip


#: Each segment sends to the next one and hears from the one before: every ethernet carries two of the streams while
#: they are on, two thirds of the time. The window is one of that time.
AMBIENT = Streams((("h1", "h4"), ("h5", "h7"), ("h8", "h2")), on_s=2.0, off_s=1.0, window_bytes=32 << 10)
BROADCAST_BYTES = 16_000
#: Speeds that ranks of table 7 have for the balancer, dealt in turn: work moves in every launch, and alike.
SPEEDS = "1,2,1,3"
CELLS = 6
ATOMS = 4 * CELLS**3

_BETTER_STOCK = Want((STOCK,), 1.5, "the better stock library")
TABLES = {
    table.name: table
    for table in (
        PaperTable(
            "T3", f"a broadcast of {BROADCAST_BYTES:,} bytes", "eco-1995",
            {ECO: 0.0651, "tree (k = 2)": 0.128, "tree (k = 3)": 0.122, "star": 0.109}, "s",
            (Want(("tree (k = 2)", "tree (k = 3)", "star"), 1.7, "the best of trees and star"), _BETTER_STOCK),
            ("tree (k = 2)", "tree (k = 3)", "star", "butterfly"),
        ),
        PaperTable(
            "T4", "molecular dynamics, communication", "eco-1995",
            {ECO: 2.1, "tree (k = 2)": 2.7, "tree (k = 3)": 2.3, "star": 2.7, "butterfly": 3.0}, "min",
            (Want(("tree (k = 2)", "tree (k = 3)", "star"), 1.1, "the best of trees and star"),
             Want(("butterfly",), 1.4, "the butterfly"), _BETTER_STOCK),
            ("tree (k = 2)", "tree (k = 3)", "star", "butterfly"), steps=16, quick_steps=4,
        ),
        PaperTable(
            "T5", "the same with ambient traffic", "eco-1995",
            {ECO: 13.9, "tree (k = 2)": 18.7, "tree (k = 3)": 21.6, "butterfly": 16.6}, "min",
            (Want(("tree (k = 2)", "tree (k = 3)"), 1.3, "the best of the trees"),
             Want(("butterfly",), 1.2, "the butterfly")),
            ("tree (k = 2)", "tree (k = 3)", "butterfly"), steps=10, quick_steps=4, streams=AMBIENT,
        ),
        PaperTable(
            "T6", "molecular dynamics on one switch, communication", "one-switch",
            {"tree (k = 2)": 1.08, "tree (k = 3)": 3.28, "butterfly": 0.82}, "min",
            (Want(("tree (k = 2)", "tree (k = 3)", "star", "butterfly"), 0.95, "the best way by hand"),
             Want((STOCK,), 0.95, "the better stock library")),
            ("tree (k = 2)", "tree (k = 3)", "star", "butterfly"), steps=150, quick_steps=10,
        ),
        PaperTable(
            "T7", "molecular dynamics on 20 machines, communication", "dome-20",
            {ECO: 63.0, "star": 153.5, "tree (k = 4)": 148.1, "chain": 414.2}, "s",
            (Want(("star", "tree (k = 4)"), 2.4, "the better of star and tree"), Want(("chain",), 6.5, "the chain"),
             _BETTER_STOCK),
            ("star", "tree (k = 4)", "chain", "ring"), steps=6, quick_steps=2, balance_every=2,
        ),
    )
}  # fmt: skip


def rows_by_hand(way: str, ranks: int) -> dict[str, list[tuple[int, str | None]]]:
    """What a way by hand runs, by operation and size, as a plan has it."""
    others = BUTTERFLY_OF_ANY_NUMBER if way == "butterfly" and ranks & (ranks - 1) else {}
    rows: dict[str, list[tuple[int, str | None]]] = {
        name: [(ALL_SIZES, recipe)] for name, recipe in (BY_HAND[way] | others).items()
    }
    for name, recipe in SHORT.get(way, {}).items():
        rows[name].insert(0, (SHORT_BYTES, recipe))
    return rows


def row_name(way: str, library: str) -> str:
    return f"{way}, {library}"


@dataclass(frozen=True)
class Row:
    """One way under one library, over all of its launches."""

    way: str
    library: str
    launches: tuple[float, ...]  # seconds of each
    over_eco: stats.Ratio | None  # paired with ECO under the same library; None: it is ECO
    set_up_s: float | None  # before that, median: what is done once, by ECO too; None where it was not told

    @property
    def median_s(self) -> float:
        return stats.median(self.launches)


@dataclass(frozen=True)
class Verdict:
    """What was wanted and what was measured."""

    what: str
    wanted: float
    measured: float

    @property
    def is_met(self) -> bool:
        return self.measured >= self.wanted


@dataclass
class Outcome:
    """A table, measured."""

    table: PaperTable
    rows: dict[str, Row] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)


def by_launch(records: Sequence[Record], table: str, way: str, library: str, key: str) -> dict[int, Any]:
    """What the launches of a row have under a key."""
    return {
        record["launch"]: record[key]
        for record in records
        if (record["table"], record["way"], record["library"]) == (table, way, library) and record.get(key)
    }


def outcome_of(table: PaperTable, records: Sequence[Record], key: str = "seconds") -> Outcome:
    """All rows that have launches; ratios are medians over rounds in which both ran."""
    outcome = Outcome(table)
    found = {
        row: {
            launch: stats.median(each) for launch, each in by_launch(records, table.name, *row, key).items()
        }
        for row in table.rows()
    }
    for (way, library), launches in found.items():
        if not launches:
            continue
        rounds = sorted(launches.keys() & found[ECO, library].keys())
        over_eco = (
            stats.ratio_of_launches(
                [[launches[i]] for i in rounds], [[found[ECO, library][i]] for i in rounds]
            )
            if rounds and way != ECO
            else None
        )
        set_up = list(by_launch(records, table.name, way, library, "set_up_s").values())
        outcome.rows[row_name(way, library)] = Row(
            way,
            library,
            tuple(launches[i] for i in sorted(launches)),
            over_eco,
            stats.median(set_up) if set_up else None,
        )
    outcome.verdicts = [verdict for want in table.wants for verdict in _verdict(outcome, want)]
    return outcome


def _verdict(outcome: Outcome, want: Want) -> list[Verdict]:
    """Stock is held against the better ECO, the better library against the better; ways by hand under one library."""
    rows = outcome.rows.values()
    libraries = LIBRARIES if want.ways == (STOCK,) else (BY_HAND_UNDER,)
    theirs = [row.median_s for row in rows if row.way in want.ways and row.library in libraries]
    ours = [row.median_s for row in rows if row.way == ECO and row.library in libraries]
    if not theirs or not ours:
        return []
    return [Verdict(want.what, want.ratio, min(theirs) / min(ours))]


def differing(records: Sequence[Record], tolerance: float = 1e-6) -> list[str]:
    """Launches of the same program whose results are not those of its first."""
    first: dict[tuple[Any, ...], Record] = {}
    wrong = []
    for record in records:
        results = record.get("results")
        if results is None:
            continue
        wanted = first.setdefault((record["table"], record["steps"]), record)["results"]
        if any(abs(a - b) > tolerance for a, b in zip(results, wanted, strict=True)):
            name = row_name(record["way"], record["library"])
            wrong.append(
                f"{record['table']}, {name}, launch {record['launch']}: {results} instead of {wanted}"
            )
    return wrong
