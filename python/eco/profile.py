"""A program's collective calls: which, how large, how long, and who served them.

    profile = read(Path("raw.json"))           # as ECO_PROFILE had rank 0 write it; read_written() of `--json`
    profile.rows[0].operation                  # what takes most of the time
    profile.collective_s / profile.wall_s      # its share of the run

Every rank counts its own calls; here they are put together. Read `merge` first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eco.errors import CorruptFile
from eco.lateness import Late, clock_error_s, lateness
from eco.report.records import read_json, schema_of, write_json

SCHEMA = ("eco.profile", 1)
RANKS_SCHEMA = ("eco.rank.profile", 1)

#: Who served a call: ECO, or the library, and why. Of "communicator" the communicators say more.
FATES = {
    "served": "ECO",
    "communicator": "communicator not served",
    "waiting": "communicator not armed yet",
    "plan": "the plan's choice",
    "late": "the library, where ranks come late",
    "unplanned": "not planned yet",
    "empty": "no bytes",
    "too_large": "too large",
    "reduction": "datatype or operation",
    "arguments": "arguments",
    "uneven": "blocks too unequal",
    "nonblocking": "nonblocking",
    "varying": "counts of each rank's own",
    "graph": "topology",
}
#: What they send isn't known to a rank without edges, so calls count as empty until ECO has gathered the graph.
ALONG_EDGES = frozenset({"neighbor_allgather", "neighbor_alltoall"})
#: Of these: calls that no plan serves, whatever it has for their size.
UNABLE = frozenset({"empty", "too_large", "reduction", "arguments", "uneven"})


@dataclass(frozen=True)
class Row:
    """All calls of one operation and size on communicators of so many ranks. Sums are over the job's ranks."""

    operation: str
    communicator_ranks: int
    up_to_bytes: int  # and more than half of it
    calls: int
    bytes: int  # as `eco bench` counts an operation's size
    ranks: int  # that made such calls
    seconds: float
    least_s: float  # of these ranks
    most_s: float
    most_rank: int
    fates: dict[str, int]  # calls by a key of FATES
    largest_bytes: int | None = None  # of one call; None: not in files of earlier versions

    @property
    def mean_bytes(self) -> float | None:
        """None where it isn't known: of what goes along edges, as long as ECO has not gathered the graph."""
        if self.bytes == 0 and self.operation in ALONG_EDGES and set(self.fates) != {"empty"}:
            return None
        return self.bytes / self.calls

    @property
    def calls_of_a_rank(self) -> float:
        return self.calls / self.ranks

    @property
    def mean_s(self) -> float:
        return self.seconds / self.ranks


@dataclass(frozen=True)
class RankTime:
    """One rank from MPI_Init to MPI_Finalize."""

    rank: int
    wall_s: float
    collective_s: float
    arming_s: float  # measuring, planning and agreeing; not in collective_s


@dataclass(frozen=True)
class Communicators:
    """Those of one size that made collective calls, each counted once, and why ECO serves none of their calls."""

    ranks: int
    number: int
    native: dict[str, int]


@dataclass(frozen=True)
class Profile:
    """A whole job."""

    library: str
    mode: str  # "observe": the library served everything
    ranks: int
    times: tuple[RankTime, ...]  # of the ranks that reported
    communicators: tuple[Communicators, ...]
    rows: tuple[Row, ...]  # the longest first
    late: tuple[Late, ...] = ()  # those that wait most first
    clock_error_s: float = 0.0  # by which arrivals are uncertain

    @property
    def wall_s(self) -> float:
        """Of the mean rank, as all times without a rank."""
        return self._mean(time.wall_s for time in self.times)

    @property
    def collective_s(self) -> float:
        return self._mean(time.collective_s for time in self.times)

    @property
    def arming_s(self) -> float:
        return self._mean(time.arming_s for time in self.times)

    def share(self, rows: Iterable[Row]) -> float:
        """Of all ranks' time, the part spent in these calls."""
        wall_s = self.wall_s * len(self.times)
        return sum(row.seconds for row in rows) / wall_s if wall_s > 0 else 0.0

    def _mean(self, seconds: Iterable[float]) -> float:
        return sum(seconds) / len(self.times)

    def to_dict(self) -> dict[str, Any]:
        schema, version = SCHEMA
        head = {"wall_s": self.wall_s, "collective_s": self.collective_s, "arming_s": self.arming_s}
        return {"schema": schema, "version": version, **head, **asdict(self)}

    def write(self, path: Path) -> None:
        write_json(path, self.to_dict())


def read(path: Path) -> Profile:
    """Reads a file of ECO_PROFILE; throws CorruptFile."""
    return _read(path, RANKS_SCHEMA, merge)


def read_either(path: Path) -> Profile:
    """Reads a file of ECO_PROFILE, or what Profile.write() wrote; throws CorruptFile."""
    return read_written(path) if schema_of(path) == SCHEMA[0] else read(path)


def read_written(path: Path) -> Profile:
    """Reads what Profile.write() wrote; throws CorruptFile."""
    return _read(path, SCHEMA, from_document)


def _read(path: Path, schema: tuple[str, int], made: Callable[[Mapping[str, Any]], Profile]) -> Profile:
    document = read_json(path, *schema)
    try:
        return made(document)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path}: {error!r} in a profile of another version") from error


def from_document(document: Mapping[str, Any]) -> Profile:
    """Of what Profile.to_dict() gave."""
    return Profile(
        str(document["library"]),
        str(document["mode"]),
        int(document["ranks"]),
        tuple(RankTime(**time) for time in document["times"]),
        tuple(Communicators(**one) for one in document["communicators"]),
        tuple(Row(**row) for row in document["rows"]),
        tuple(_late_from_dict(late) for late in document.get("late", [])),
        float(document.get("clock_error_s", 0.0)),
    )


def _late_from_dict(late: Mapping[str, Any]) -> Late:
    waited_for_s = {int(rank): float(seconds) for rank, seconds in late.get("waited_for_s", {}).items()}
    return Late(**{**late, "waited_for_s": waited_for_s})


def merge(document: Mapping[str, Any]) -> Profile:
    """Puts the ranks' profiles together."""
    of_ranks = document["profiles"]
    if not of_ranks:
        raise ValueError("no rank's profile")
    cells: dict[tuple[str, int, int], dict[int, list[Mapping[str, Any]]]] = {}
    for of_rank in of_ranks:
        for call in of_rank["calls"]:
            key = (str(call["operation"]), int(call["communicator_ranks"]), int(call["up_to_bytes"]))
            cells.setdefault(key, {}).setdefault(int(of_rank["rank"]), []).append(call)
    rows = [_row(key, by_rank) for key, by_rank in cells.items()]
    times = tuple(
        RankTime(
            int(of_rank["rank"]),
            float(of_rank["wall_s"]),
            sum(float(call["seconds"]) for call in of_rank["calls"]),
            float(of_rank["arming_s"]),
        )
        for of_rank in of_ranks
    )
    return Profile(
        str(document["library"]),
        str(document["mode"]),
        int(document["ranks"]),
        times,
        _communicators(of_ranks),
        tuple(sorted(rows, key=lambda row: -row.seconds)),
        lateness(document),
        0.0 if document.get("one_clock") else clock_error_s(of_ranks),
    )


def _row(key: tuple[str, int, int], by_rank: Mapping[int, list[Mapping[str, Any]]]) -> Row:
    calls = [call for of_rank in by_rank.values() for call in of_rank]
    seconds = {rank: sum(float(call["seconds"]) for call in of_rank) for rank, of_rank in by_rank.items()}
    fates: Counter[str] = Counter()
    for call in calls:
        fates[str(call["fate"])] += int(call["calls"])
    most_rank = max(seconds, key=lambda rank: seconds[rank])
    return Row(
        *key,
        calls=sum(fates.values()),
        bytes=sum(int(call["bytes"]) for call in calls),
        ranks=len(by_rank),
        seconds=sum(seconds.values()),
        least_s=min(seconds.values()),
        most_s=seconds[most_rank],
        most_rank=most_rank,
        fates=dict(fates),
        largest_bytes=largest_bytes(calls),
    )


def largest_bytes(calls: Sequence[Mapping[str, Any]]) -> int | None:
    """Of those that a plan could serve, if there are such."""
    able = [call for call in calls if call["fate"] not in UNABLE]
    return max(
        (int(call["largest_bytes"]) for call in able or calls if "largest_bytes" in call), default=None
    )


def _communicators(of_ranks: Iterable[Mapping[str, Any]]) -> tuple[Communicators, ...]:
    """Each of a communicator's ranks has counted it."""
    numbers: Counter[int] = Counter()
    native: dict[int, Counter[str]] = {}
    for of_rank in of_ranks:
        for entry in of_rank["communicators"]:
            ranks = int(entry["ranks"])
            numbers[ranks] += int(entry["number"])
            native.setdefault(ranks, Counter()).update(entry["native"])
    return tuple(
        Communicators(
            ranks,
            -(-number // ranks),
            {why: -(-count // ranks) for why, count in native[ranks].items()},
        )
        for ranks, number in sorted(numbers.items())
    )
