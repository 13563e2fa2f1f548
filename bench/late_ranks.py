"""Broadcasts to which some ranks come late: the 2000 paper's experiment (section 5) on an emulated network.

    python bench/late_ranks.py [--json F.json] [--library openmpi,mpich] [--launches 3] [--late 1,2,4] [--small 4000]

8 ranks, 1 MiB from rank 0. T is what the paper's static tree takes when nobody is late: binomial, uncut, by ECO. Three
ranks are late by 0.47, 0.70 and 0.94 T, as the paper's 200, 300 and 400 are of its 425 ms. Launches of all ways
alternate; each line is the median over launches of the median call, and from which to which the launches' medians are.
With --json all samples are kept.

`all` is when the last rank is out of the call. `on time` is the mean over the ranks that are on time and feed no late
one in the chain: those that could be as fast as ever. `clairvoyant` is a bound: nobody is fed before it has come, nor
by more than its own link brings, and nobody is faster than undelayed. Times are after the instant at which the ranks
that are on time call. The last line is one JSON object.

By default the latest rank is the one that has half of the others below it in the paper's tree.

`--small CALLS` measures instead what it costs to be ready for late ranks where nobody is late: so many broadcasts of
8 bytes, static, ECO_LATE=auto and mended.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiled import compiled
from rich.console import Console

from eco import jobs, plans
from eco.characterize import characterize_place
from eco.collectives import COLLECTIVES
from eco.lab import Lab, load
from eco.lab.bounds import wire_bytes
from eco.provenance import provenance
from eco.report.records import seconds_text, write_json

SOURCE = Path(__file__).with_name("late_ranks") / "late.c"
SMALL_SOURCE = SOURCE.with_name("small.c")
NETWORK = "one-switch"
BYTES = 1 << 20
#: Of T, as the paper's delays are of its undelayed time.
SHARES = (0.47, 0.70, 0.94)
PAPERS_TREE = "broadcast/binomial"
PIPELINE = "broadcast/chain segment=8192"
OTHERS = ",".join(name for name in COLLECTIVES if name != "broadcast")
TIMEOUT_S = 300.0
SMALL_BYTES = 8
SMALL_RECIPE = "broadcast/binomial"
#: Calls that are not timed: connections are made, ECO arms; and ECO_LATE=auto first asks after eight.
UNTIMED = 3
UNTIMED_AUTO = 10


@dataclass(frozen=True)
class Way:
    """One way in which the message is broadcast."""

    recipe: str | None  # None: the library's own
    late: str = "off"  # ECO_LATE
    delayed: bool = True

    def untimed(self) -> int:
        return UNTIMED_AUTO if self.late == "auto" else UNTIMED


WAYS: Mapping[str, Way] = {
    "undelayed_paper": Way(PAPERS_TREE, delayed=False),
    "static_paper": Way(PAPERS_TREE),
    "breadth_first": Way(PAPERS_TREE, "breadth_first"),
    "depth_first": Way(PAPERS_TREE, "depth_first"),
    "undelayed": Way(PIPELINE, delayed=False),
    "undelayed_dynamic": Way(PIPELINE, "mended", delayed=False),
    "undelayed_auto": Way(PIPELINE, "auto", delayed=False),
    "pipelined": Way(PIPELINE),
    "dynamic": Way(PIPELINE, "mended"),
    "auto": Way(PIPELINE, "auto"),
    "undelayed_stock": Way(None, delayed=False),
    "stock": Way(None),
}


def calls(report: Path, what: str) -> int:
    """Of rank 0's broadcasts those that were `served` or `formed`."""
    number: int = json.loads(report.read_text())["collectives"]["broadcast"][f"calls_{what}"]
    return number


class Experiment:
    """The lab that is up, and what all launches share."""

    def __init__(self, lab: Lab, calls: int, late: Sequence[int]) -> None:
        self.place = jobs.LabPlace(lab)
        self.program = compiled(lab.library, SOURCE)
        self.calls = calls
        self.late = late
        characterize_place(self.place, None, None, TIMEOUT_S, None)

    def launch(self, way: Way, delays: Sequence[str]) -> list[list[float]]:
        """When each rank was out of each call."""
        with jobs.scratch("late") as folder:
            out, plan, report = folder / "out.json", folder / "plan.json", folder / "report.json"
            words = [
                str(self.program),
                str(BYTES),
                str(way.untimed()),
                str(self.calls),
                str(out),
                *(delays if way.delayed else []),
            ]
            if way.recipe is None:
                command = self.place.stock(words)
            else:
                # What lines the ranks up stays the library's.
                rows = [(1024, None), (BYTES, way.recipe)]
                command = self.place.with_eco(words, self.settings(plan, report, rows, way.late))
            ended = self.place.start(command, TIMEOUT_S)
            jobs.check(ended, f"launch of {way}", "start it by hand to see more")
            if way.recipe is not None and calls(report, "served") < self.calls:
                raise SystemExit(f"{way}: ECO served too little: {report.read_text()}")
            # A launch that was to find out who is late, and did not, is one of another way.
            if way.late == "auto" and way.delayed and calls(report, "formed") < self.calls:
                raise SystemExit(f"{way}: too few calls formed: {report.read_text()}")
            ends: list[list[float]] = json.loads(out.read_text())["ends_s"]
        return ends

    def settings(
        self, plan: Path, report: Path, rows: Sequence[tuple[int, str | None]], late: str
    ) -> dict[str, str]:
        plan.write_text(plans.by_hand(self.place.ranks, {"broadcast": rows}))
        return {"ECO_QUIET": "1", "ECO_PLAN": str(plan), "ECO_ARM_AFTER": "0", "ECO_LATE": late,
                "ECO_REPORT": str(report), "ECO_DISABLE": OTHERS}  # fmt: skip

    def small(self, late: str, n_calls: int) -> dict[str, float]:
        """Seconds of one short broadcast, and which share of them formed."""
        program = compiled(self.place.library, SMALL_SOURCE)
        with jobs.scratch("late") as folder:
            out, plan, report = folder / "out.json", folder / "plan.json", folder / "report.json"
            settings = self.settings(plan, report, [(SMALL_BYTES, SMALL_RECIPE)], late)
            words = [str(program), str(SMALL_BYTES), str(n_calls), str(out)]
            ended = self.place.start(self.place.with_eco(words, settings), TIMEOUT_S)
            jobs.check(ended, f"launch with ECO_LATE={late}", "start it by hand to see more")
            if calls(report, "served") < n_calls:
                raise SystemExit(f"ECO served too little: {report.read_text()}")
            found: dict[str, float] = json.loads(out.read_text())
            return found | {"formed": calls(report, "formed") / calls(report, "served")}

    def on_time(self) -> list[int]:
        """Ranks that are on time and feed no late one down the chain."""
        feeders = set()
        for rank in self.late:
            feeder = rank - 1
            while feeder in self.late:
                feeder -= 1
            feeders.add(feeder)
        return [rank for rank in range(self.place.ranks) if rank not in self.late and rank not in feeders]

    def summary(self, launches: Sequence[Sequence[Sequence[float]]]) -> dict[str, Any]:
        """Median over launches of the median call, and the least and the greatest of those."""
        some = self.on_time()

        def medians(of_call: Any) -> list[float]:
            return [statistics.median(map(of_call, ends)) for ends in launches]

        found: dict[str, Any] = {}
        for name, of_call in (
            ("all", max),
            ("on_time", lambda ends: statistics.mean(ends[r] for r in some)),
        ):
            of_launches = medians(of_call)
            found[name] = statistics.median(of_launches)
            found[f"{name}_range"] = [min(of_launches), max(of_launches)]
        return found


def measured(experiment: Experiment, options: argparse.Namespace, rate_bit: float) -> dict[str, Any]:
    launches: dict[str, list[list[list[float]]]] = {name: [] for name in WAYS}
    undelayed = [experiment.launch(WAYS["undelayed_paper"], []) for _ in range(2)]
    t_s = experiment.summary(undelayed)["all"]
    delays_s = [share * t_s for share in SHARES]
    words = [f"{rank}:{delay:.6f}" for rank, delay in zip(experiment.late, delays_s, strict=True)]
    for number in range(options.launches):
        for name in list(WAYS) if number % 2 == 0 else list(WAYS)[::-1]:
            launches[name].append(experiment.launch(WAYS[name], words))
    found = {name: experiment.summary(of) for name, of in launches.items()}
    link_s = wire_bytes(BYTES) * 8 / rate_bit
    clairvoyant = max(max(delays_s) + link_s, found["undelayed"]["all"])
    return {
        "t_s": t_s,
        "delays_s": delays_s,
        "late": list(experiment.late),
        "on_time_ranks": experiment.on_time(),
        "ways": found,
        "clairvoyant_s": clairvoyant,
        "launches": launches,
    }


def measured_small(experiment: Experiment, options: argparse.Namespace) -> dict[str, Any]:
    launches: dict[str, list[dict[str, float]]] = {"off": [], "auto": [], "mended": []}
    for number in range(options.launches):
        for late in list(launches) if number % 2 == 0 else list(launches)[::-1]:
            launches[late].append(experiment.small(late, options.small))
    ways = {late: statistics.median(each["call_s"] for each in of) for late, of in launches.items()}
    return {"bytes": SMALL_BYTES, "calls": options.small, "ways": ways, "launches": launches}


def line_of(found: dict[str, Any]) -> dict[str, float]:
    """What the last line says of one library, in seconds."""
    ways = found["ways"]
    done = {
        name: ways[name]["all"]
        for name in ("static_paper", "breadth_first", "depth_first", "pipelined", "dynamic", "auto")
    }
    return {
        **done,
        "stock": ways["stock"]["all"],
        "clairvoyant": found["clairvoyant_s"],
        "on_time_mean": ways["dynamic"]["on_time"],
        "on_time_mean_auto": ways["auto"]["on_time"],
        "on_time_mean_pipelined": ways["pipelined"]["on_time"],
        "on_time_mean_stock": ways["stock"]["on_time"],
        "undelayed": ways["undelayed"]["on_time"],
    }


def show(console: Console, library: str, found: dict[str, Any]) -> None:
    if "t_s" not in found:
        for name, of in found["launches"].items():
            each = ", ".join(seconds_text(launch["call_s"]) for launch in of)
            formed = statistics.mean(launch["formed"] for launch in of)
            median = seconds_text(found["ways"][name])
            console.print(
                f"{library}: {name:8} {median} a call ({each}), {formed:.1%} formed", highlight=False
            )
        return
    delays = ", ".join(seconds_text(delay) for delay in found["delays_s"])
    late = ",".join(map(str, found["late"]))
    console.print(
        f"{library}: T {seconds_text(found['t_s'])}; ranks {late} late by {delays}", highlight=False
    )
    for name, way in found["ways"].items():
        columns = (
            f"{what.replace('_', ' ')} {seconds_text(way[what]):>9} "
            f"({' to '.join(map(seconds_text, way[f'{what}_range']))})"
            for what in ("all", "on_time")
        )
        console.print(f"  {name:18} " + "   ".join(columns), highlight=False)
    console.print(f"  {'clairvoyant':18} all {seconds_text(found['clairvoyant_s']):>9}", highlight=False)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--late", default="1,2,4", help="the ranks that are late, by 0.47, 0.70 and 0.94 T")
    parser.add_argument("--small", type=int, help="only so many short broadcasts, with nobody late")
    options = parser.parse_args()
    late = [int(rank) for rank in options.late.split(",")]
    if len(late) != len(SHARES) or not all(0 < rank < 8 for rank in late):
        parser.error("--late wants three ranks of 1 to 7")
    console = Console()
    records: dict[str, dict[str, Any]] = {}
    for library in options.library.split(","):
        description = load(NETWORK)
        with Lab(description, library=library, placement="block") as lab:
            experiment = Experiment(lab, options.calls, late)
            if options.small is not None:
                records[library] = measured_small(experiment, options)
            else:
                rate_bit = description.segments[0].rate_mbit * 1e6
                records[library] = measured(experiment, options, rate_bit)
        show(console, library, records[library])
        # After each, so that an interrupt keeps what there is.
        if options.json:
            document = {"schema": "eco.bench.late_ranks", "version": 2, **provenance(), "records": records}
            write_json(options.json, document)
    if options.small is None:
        print(json.dumps({library: line_of(found) for library, found in records.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
