"""Programs whose ranks have uneven work, stock and with ECO, on emulated networks: seconds in collectives, and of all.

    python bench/uneven_programs.py --json F.json --memory DIR          an hour, alone
    python bench/uneven_programs.py --json F.json --memory DIR --limit-s 280       goes on where the file ends
    python bench/uneven_programs.py --json F.json --show

Programs are `cg` and `richardson`, one solver of examples/schwarz.c, and LAMMPS with a slab of liquid in a box that
is else nearly empty (`make programs`). `steady`: rank 5 has most of the work; `moving`: in every iteration another
rank has; `even`: all have the same. What they compute must come out the same. What a rank of the solver has more to do
than others it sleeps for, as long as it would take on a processor of its own: the ranks share this machine's, and with
`--work real` whoever works takes them from those who pass messages on. LAMMPS works. Launches of the solver in which
something else had the machine are kept apart, and taken again the next time.

Launches alternate: the library alone (`stock`), ECO_LATE=off (`static`), auto and mended, the last two with
ECO_ANY_ORDER=1, since they add up floating-point numbers. Networks are measured and plans made before. In one launch
more of each the library's collectives are profiled: whom the others wait for, as `eco profile` says. The last line is
one JSON object.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiled import compiled
from rich.console import Console
from rich.table import Table

from eco import jobs, profile
from eco.lab import Lab, load
from eco.lateness import waited_for
from eco.provenance import provenance
from eco.report.records import read_json, seconds_text, write_json
from eco.stats import ratio_of_launches
from eco.tune import Part, TuneOptions, tune_place

sys.path.insert(0, str(Path(__file__).with_name("programs")))
from programs import INPUTS, of_salt

SCHEMA, VERSION = "eco.bench.uneven_programs", 1
SOURCE = Path(__file__).parents[1] / "examples" / "schwarz.c"
SLAB = INPUTS / "slab.lammps"
#: The rank whose work is most, where it is always the same one.
LATE_RANK = 5
#: Sweeps of the rank whose turn it is, in those of the others: about twice what the library takes for a broadcast here.
TIMES = 100
#: What a sweep takes on an otherwise idle core (AMD EPYC): 17,000 take 1.19 s.
SWEEP_US = 65
#: Iterations that are not timed (ECO_LATE=auto compares its ways in 40 calls), and all.
UNTIMED, ITERATIONS = 41, 71
TIMEOUT_S = 120.0
ANY_ORDER = {"ECO_ANY_ORDER": "1"}
#: Settings of each way; None: the library alone.
WAYS: Mapping[str, Mapping[str, str] | None] = {
    "stock": None,
    "static": {"ECO_LATE": "off"},
    "auto": {"ECO_LATE": "auto", **ANY_ORDER},
    "mended": {"ECO_LATE": "mended", **ANY_ORDER},
}
#: What the programs call most, and its sizes.
TUNED = {
    "schwarz": (("broadcast", "61440"), ("reduce", "61440"), ("allreduce", "8,16"), ("gather", "65536")),
    "lammps": (("allreduce", "4,8,16"),),
}
#: Digits of a program's results that ways may differ in: sums are added up in another order.
SAME = {"richardson": 0.0, "cg": 1e-9, "lammps": 1e-6}

#: Phases of a rank that are no collective.
ALONE = ("work", "asleep", "border")
#: A launch is disturbed, and is not counted, in which the work of the middle rank took so many times what it took of a
#: processor. Beside nothing else it is 3: ranks take turns with each other and with what carries their packets.
MOST_STRETCH = 5.0

Launch = dict[str, Any]
Records = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Cell:
    network: str
    library: str
    program: str
    uneven: str
    is_asleep: bool = True

    @property
    def name(self) -> str:
        works = "" if self.is_asleep else ", working"
        return f"{self.network}, {self.library}, {self.program}, {self.uneven}{works}"

    @property
    def expected(self) -> int | None:
        """Who is late, by how the work is cut."""
        return LATE_RANK if self.uneven == "steady" else None

    def launch(self, place: jobs.LabPlace, way: str) -> Launch:
        with jobs.scratch("uneven") as folder:
            return (self._lammps if self.program == "lammps" else self._schwarz)(place, way, folder)

    def _settings(self, way: str) -> dict[str, str]:
        return {"ECO_QUIET": "1", "ECO_MEASURE": "never", **(WAYS[way] or {})}

    def _start(self, place: jobs.LabPlace, command: Sequence[str], way: str) -> jobs.Ended:
        ended = place.start(command, TIMEOUT_S)
        jobs.check(ended, f"{self.name}: launch of {way}", "start it by hand to see more")
        return ended

    def _words(self, folder: Path) -> list[str]:
        if self.program == "lammps":
            return ["lmp", "-in", str(SLAB), "-log", "none"]
        how = {"even": "even", "steady": f"steady:{LATE_RANK}:{TIMES}", "moving": f"moving:{TIMES}"}
        words = [self.program, str(ITERATIONS), how[self.uneven], str(UNTIMED), str(folder / "out.json")]
        return [
            str(compiled(self.library, SOURCE, "-lm")),
            *words,
            *([str(SWEEP_US)] if self.is_asleep else []),
        ]

    def _schwarz(self, place: jobs.LabPlace, way: str, folder: Path) -> Launch:
        words, report = self._words(folder), folder / "report.json"
        settings = {**self._settings(way), "ECO_REPORT": str(report)}
        self._start(place, place.stock(words) if way == "stock" else place.with_eco(words, settings), way)
        told = json.loads((folder / "out.json").read_text())
        processor = [of.pop("processor") for of in told["ranks"]]
        calls = json.loads(report.read_text())["collectives"] if way != "stock" else {}
        return {
            "seconds": told["seconds"],
            "ranks": told["ranks"],
            "processor": processor,
            "results": {"residual": told["residual"], "sum": told["sum"]},
            "formed": {name: row["calls_formed"] for name, row in calls.items() if row.get("calls_formed")},
            "served": {name: row["calls_served"] for name, row in calls.items() if row.get("calls_served")},
        }

    def _lammps(self, place: jobs.LabPlace, way: str, folder: Path) -> Launch:
        found, output = self._profiled(place, way, folder)
        return {
            "seconds": loop_s(output),
            "ranks": [{"collectives": time.collective_s} for time in found.times],
            "results": of_salt(output, folder),
            "served": {
                row.operation: row.fates.get("served", 0) // row.ranks
                for row in found.rows
                if row.fates.get("served")
            },
        }

    def _profiled(self, place: jobs.LabPlace, way: str, folder: Path) -> tuple[profile.Profile, str]:
        raw = folder / "raw.json"
        settings = {**self._settings(way), "ECO_PROFILE": str(raw)}
        if way == "stock":
            settings["ECO"] = "observe"
        ended = self._start(place, place.with_eco(self._words(folder), settings), way)
        return profile.read(raw), ended.output

    def profiled(self, place: jobs.LabPlace) -> dict[str, Any]:
        """What `eco profile` says of the library's own calls."""
        with jobs.scratch("uneven") as folder:
            found, _ = self._profiled(place, "stock", folder)
        return {
            "waited_for_s": waited_for(found.late, found.clock_error_s),
            "waits_least": min(found.times, key=lambda time: time.collective_s).rank,
            "expected": self.expected,
            "late": [vars(late) for late in found.late],
        }


def loop_s(output: str) -> float:
    """Of LAMMPS: what its steps took, without start and end."""
    for line in output.splitlines():
        if line.startswith("Loop time of "):
            return float(line.split()[3])
    raise ValueError(f"LAMMPS told no loop time:\n{output[-1000:]}")


def collective_s(of_rank: Mapping[str, float]) -> float:
    """Of one rank's phases."""
    return math.fsum(seconds for phase, seconds in of_rank.items() if phase not in ALONE)


def stretch(launch: Launch) -> float:
    """Of a launch's work: its time over its processor's. LAMMPS does not say."""
    pairs = zip(launch["ranks"], launch.get("processor", []), strict=False)
    stretches = [float(of_rank["work"] / work_s) for of_rank, (work_s, _) in pairs]
    return statistics.median(stretches or [1.0])


def of_launch(what: str, launch: Launch) -> float:
    """One number of a launch, in seconds.

    `seconds`: of the slowest rank, all; `collectives`: of the mean rank; `others`: likewise, of those who are not
    LATE_RANK; `late`: of that; else a phase of the mean rank.
    """
    ranks = launch["ranks"]
    if what == "seconds":
        return float(launch["seconds"])
    if what == "collectives":
        return statistics.mean(map(collective_s, ranks))
    if what == "late":
        return collective_s(ranks[LATE_RANK])
    if what == "others":
        return statistics.mean(collective_s(of) for rank, of in enumerate(ranks) if rank != LATE_RANK)
    return float(statistics.mean(of.get(what, 0.0) for of in ranks))


def difference(cell: Cell, wanted: Mapping[str, float], got: Mapping[str, float]) -> str | None:
    """What came out otherwise, in words. The residual of cg is rounding itself; it is small, or the program ends."""
    for name, number in wanted.items():
        if cell.program == "cg" and name == "residual":
            continue
        if abs(got[name] - number) > SAME[cell.program] * max(1.0, abs(number)):
            return f"{name}: {got[name]!r} instead of {number!r}"
    return None


def measure(
    lab: Lab,
    cells: Sequence[Cell],
    options: argparse.Namespace,
    console: Console,
    records: Records,
    ends_at: float,
) -> bool:
    """Adds launches to the records, the cells in turn; false where the time was over."""
    place = jobs.LabPlace(lab)
    kinds = {"lammps" if cell.program == "lammps" else "schwarz" for cell in cells}
    for kind in sorted(kinds):
        parts = [Part(["--ops", op, "--sizes", sizes]) for op, sizes in TUNED[kind]]
        tune_place(place, parts, console, TuneOptions(timeout_s=TIMEOUT_S * 5))
    for number in range(options.launches):
        for cell in cells:
            record = records.setdefault(cell.name, {"launches": {way: [] for way in WAYS}})
            for way in list(WAYS) if number % 2 == 0 else list(WAYS)[::-1]:
                launches = record["launches"][way]
                if len(launches) > number:
                    continue
                if time.monotonic() > ends_at:
                    return False
                launch = cell.launch(place, way)
                record.setdefault("results", launch["results"])
                wrong = difference(cell, record["results"], launch["results"])
                if wrong:
                    raise SystemExit(f"{cell.name}, {way}: other results, {wrong}")
                told = f"  {cell.name}: launch {number + 1} of {way}"
                if stretch(launch) > MOST_STRETCH:
                    record.setdefault("disturbed", {}).setdefault(way, []).append(launch)
                    told += ", disturbed"
                else:
                    launches.append(launch)
                console.print(told, style="dim", highlight=False)
                save(options.json, records)
            if "profile" not in record:
                record["profile"] = cell.profiled(place)
                save(options.json, records)
    return True


def save(path: Path | None, records: Records) -> None:
    if path is not None:
        write_json(path, {"schema": SCHEMA, "version": VERSION, **provenance(), "records": records})


def cells_of(options: argparse.Namespace) -> dict[tuple[str, str], list[Cell]]:
    """By network and library, which are one lab."""
    cells: dict[tuple[str, str], list[Cell]] = {}
    for network in options.network.split(","):
        for program in options.programs.split(","):
            is_lammps = program == "lammps"
            for library in ["debian-openmpi"] if is_lammps else options.library.split(","):
                for uneven in ["steady"] if is_lammps else options.uneven.split(","):
                    cell = Cell(network, library, program, uneven, options.work == "asleep" and not is_lammps)
                    cells.setdefault((network, library), []).append(cell)
    return cells


def shown_of(cell: Cell) -> list[str]:
    whom = ["collectives"] if cell.uneven != "steady" else ["collectives", "others", "late"]
    return ["seconds", *whom] + ([] if cell.program == "lammps" else ["broadcast", "reduce", "border"])


def summary(record: Mapping[str, Any], what: str, way: str) -> dict[str, float]:
    """The median launch, and stock over it."""
    of = {one: [[of_launch(what, launch)] for launch in record["launches"][one]] for one in ("stock", way)}
    pairs = min(map(len, of.values()))
    ratio = ratio_of_launches(of["stock"][:pairs], of[way][:pairs])
    return {"median_s": statistics.median(launch[0] for launch in of[way]), **ratio.to_dict()}


def show(cells: Sequence[Cell], records: Records, console: Console) -> None:
    table = Table(
        "cell", "of", *WAYS, title="seconds of the median launch (stock / it)", title_justify="left"
    )
    for cell in cells:
        record = records.get(cell.name)
        if record is None or not all(record["launches"].values()):
            continue
        for what in shown_of(cell):
            texts = []
            for way in WAYS:
                found = summary(record, what, way)
                of_ratio = f" ({found['ratio']:.2f})" if way != "stock" else ""
                texts.append(f"{seconds_text(found['median_s'])}{of_ratio}")
            table.add_row(cell.name if what == "seconds" else "", what, *texts)
        of = record.get("profile")
        if of:
            waited_s = of["waited_for_s"]
            ranks = [f"{rank} {s / sum(waited_s.values()):.0%}" for rank, s in waited_s.items()]
            named = f"waited for: rank {', '.join(ranks[:3])}; waits least: rank {of['waits_least']}"
            table.add_row("", "eco profile", named)
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="keeps every launch; what it has is not run again")
    parser.add_argument("--network", default="one-switch,three-subnets")
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--programs", default="richardson,cg,lammps")
    parser.add_argument("--uneven", default="even,steady,moving")
    parser.add_argument("--work", choices=("asleep", "real"), default="asleep")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="begins no launch after so long")
    parser.add_argument("--memory", type=Path, help="a folder that keeps what is measured and planned")
    parser.add_argument("--show", action="store_true", help="only what the file has")
    return parser.parse_args()


def main() -> int:
    options, console = parse(), Console(width=160)
    records: Records = {}
    if options.json and options.json.exists():
        records = read_json(options.json, SCHEMA, VERSION)["records"]
    labs = cells_of(options)
    ends_at = time.monotonic() + options.limit_s
    with tempfile.TemporaryDirectory(prefix="eco-uneven-") as only_now:
        os.environ["ECO_CACHE_DIR"] = str((options.memory or Path(only_now)).absolute())
        for (network, library), cells in labs.items():
            if options.show or time.monotonic() > ends_at:
                break
            with Lab(load(network), library=library, placement="block") as lab:
                if not measure(lab, cells, options, console, records, ends_at):
                    console.print("the time is over: the same command goes on", highlight=False)
                    break
    cells = [cell for of_lab in labs.values() for cell in of_lab]
    show(cells, records, console)
    told = {
        cell.name: {
            what: {way: round(summary(records[cell.name], what, way)["median_s"], 4) for way in WAYS}
            for what in ("seconds", "collectives")
        }
        for cell in cells
        if cell.name in records and all(records[cell.name]["launches"].values())
    }
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
