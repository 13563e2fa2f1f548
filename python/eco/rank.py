"""What eco-rank is told, and what it answers.

eco-rank is the small MPI program of each backend that measures, tunes and benchmarks; it is started by the
user's own launcher, so that it sees the ranks, hosts and transport that the user's programs will see.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from eco.errors import CorruptFile
from eco.report.records import read_json

BENCH_SCHEMA = ("eco.rank.bench", 1)
#: eco-rank ends with this where a collective gave a wrong result; its file says which.
WRONG_RESULT = 3
REPORT_SCHEMA = ("eco.report", 1)


@dataclass(frozen=True)
class TimedCell:
    """All timed calls of one operation at one size: of each call the time at which the last rank was done."""

    collective: str
    bytes: int
    seconds: tuple[float, ...]
    algorithm: str  # what served it; "native" where ECO did not
    correct: bool
    late: int  # calls taken again, because a rank heard of the common start too late


@dataclass(frozen=True)
class TimedLaunch:
    """One run of `eco-rank bench`."""

    ranks: int
    hosts: tuple[str, ...]  # of every rank
    library: str
    clock: str
    preloaded: bool  # ECO's preload was in the process
    cells: tuple[TimedCell, ...]
    library_file: str = ""  # as rank 0 has it loaded


def read_bench(path: Path) -> TimedLaunch:
    """Reads what `eco-rank bench` wrote; throws CorruptFile."""
    document = read_json(path, *BENCH_SCHEMA)
    try:
        cells = tuple(
            TimedCell(
                cell["collective"],
                int(cell["bytes"]),
                tuple(float(s) for s in cell["seconds"]),
                cell["algorithm"],
                bool(cell["correct"]),
                int(cell.get("late", 0)),
            )
            for cell in document["cells"]
        )
        return TimedLaunch(
            int(document["ranks"]),
            tuple(document["hosts"]),
            document["library"],
            document["clock"],
            bool(document["preloaded"]),
            cells,
            str(document.get("library_file", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path}: {error!r} in a file of eco-rank of another version") from error


@dataclass(frozen=True)
class Progressed:
    """How far a long run of eco-rank is."""

    fraction: float
    what: str


def parse_progress(line: str) -> Progressed | None:
    """A line `eco-rank: 42 % pairs of hosts`; nothing for any other line."""
    match = re.fullmatch(r"eco-rank: (\d+(?:\.\d+)?) % (.*)", line.strip())
    return Progressed(min(1.0, float(match.group(1)) / 100), match.group(2)) if match else None


@dataclass(frozen=True)
class Report:
    """What a program with ECO under it (or ECO=observe) reported at its end."""

    mode: str
    ranks: int
    wall_s: float
    collective_s: float  # in blocking collectives that ECO knows, mean over ranks
    arming_s: float  # measuring, planning and agreeing, once per communicator
    estimated_gain_s: float  # of the calls, by the plan's measurements, less arming_s
    armed: int  # communicators
    native: tuple[str, ...]  # why the others were not


def read_report(path: Path) -> Report:
    """Reads a file of ECO_REPORT; throws CorruptFile."""
    document = read_json(path, *REPORT_SCHEMA)
    try:
        ranks = int(document["ranks"])
        # Sums over all ranks, unless the program ended in a way that left no time to make them: then rank
        # 0's.
        tallies, over = (document["totals"], ranks) if "totals" in document else (document["collectives"], 1)
        seconds = sum(float(tally["seconds"]) for tally in tallies.values()) / over
        return Report(
            document["mode"],
            ranks,
            float(document["wall_s"]),
            seconds,
            float(document["arming_s"]),
            float(document["estimated_gain_s"]),
            int(document.get("communicators_armed", 0)),
            tuple(document.get("communicators_native") or ()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path}: {error!r} in a report of another version") from error
