"""Broadcasts to which some ranks come late: the 2000 paper's experiment (section 5) on an emulated network.

    python bench/late_ranks.py [--json F.json] [--library openmpi,mpich] [--launches 3] [--late 1,2,4]

8 ranks, 1 MiB from rank 0. T is what the paper's static tree takes when nobody is late: binomial, uncut, by ECO. Three
ranks are late by 0.47, 0.70 and 0.94 T, as the paper's 200, 300 and 400 are of its 425 ms. Launches of all ways
alternate; each line is the median over launches of the median call.

`all` is when the last rank is out of the call. `on time` is the mean over the ranks that are on time and feed no late
one in the chain: those that could be as fast as ever. `clairvoyant` is a bound: nobody is fed before it has come, nor
by more than its own link brings, and nobody is faster than undelayed. Times are after the instant at which the ranks
that are on time call. The last line is one JSON object.

By default the latest rank is the one that has half of the others below it in the paper's tree.
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
NETWORK = "one-switch"
BYTES = 1 << 20
#: Of T, as the paper's delays are of its undelayed time.
SHARES = (0.47, 0.70, 0.94)
PAPERS_TREE = "broadcast/binomial"
PIPELINE = "broadcast/chain segment=8192"
OTHERS = ",".join(name for name in COLLECTIVES if name != "broadcast")
TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Way:
    """One way in which the message is broadcast."""

    recipe: str | None  # None: the library's own
    late: str = "off"  # ECO_LATE
    delayed: bool = True


WAYS: Mapping[str, Way] = {
    "undelayed_paper": Way(PAPERS_TREE, delayed=False),
    "static_paper": Way(PAPERS_TREE),
    "breadth_first": Way(PAPERS_TREE, "breadth_first"),
    "depth_first": Way(PAPERS_TREE, "depth_first"),
    "undelayed": Way(PIPELINE, delayed=False),
    "undelayed_dynamic": Way(PIPELINE, "mended", delayed=False),
    "pipelined": Way(PIPELINE),
    "dynamic": Way(PIPELINE, "mended"),
    "undelayed_stock": Way(None, delayed=False),
    "stock": Way(None),
}


def served(report: Path) -> int:
    calls: int = json.loads(report.read_text())["collectives"]["broadcast"]["calls_served"]
    return calls


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
                str(self.calls),
                str(out),
                *(delays if way.delayed else []),
            ]
            if way.recipe is None:
                command = self.place.stock(words)
            else:
                # What lines the ranks up stays the library's.
                plan.write_text(
                    plans.by_hand(self.place.ranks, {"broadcast": [(1024, None), (BYTES, way.recipe)]})
                )
                settings = {"ECO_QUIET": "1", "ECO_PLAN": str(plan), "ECO_ARM_AFTER": "0", "ECO_LATE": way.late,
                            "ECO_REPORT": str(report), "ECO_DISABLE": OTHERS}  # fmt: skip
                command = self.place.with_eco(words, settings)
            ended = self.place.start(command, TIMEOUT_S)
            jobs.check(ended, f"launch of {way}", "start it by hand to see more")
            if way.recipe is not None and served(report) < self.calls:
                raise SystemExit(f"{way}: ECO served too little: {report.read_text()}")
            ends: list[list[float]] = json.loads(out.read_text())["ends_s"]
        return ends

    def on_time(self) -> list[int]:
        """Ranks that are on time and feed no late one down the chain."""
        feeders = set()
        for rank in self.late:
            feeder = rank - 1
            while feeder in self.late:
                feeder -= 1
            feeders.add(feeder)
        return [rank for rank in range(self.place.ranks) if rank not in self.late and rank not in feeders]

    def summary(self, launches: Sequence[Sequence[Sequence[float]]]) -> dict[str, float]:
        """Median over launches of the median call."""
        some = self.on_time()

        def median(of_call: Any) -> float:
            return statistics.median(statistics.median(map(of_call, ends)) for ends in launches)

        return {"all": median(max), "on_time": median(lambda ends: statistics.mean(ends[r] for r in some))}


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


def line_of(found: dict[str, Any]) -> dict[str, float]:
    """What the last line says of one library, in seconds."""
    ways = found["ways"]
    done = {
        name: ways[name]["all"]
        for name in ("static_paper", "breadth_first", "depth_first", "pipelined", "dynamic")
    }
    return {
        **done,
        "stock": ways["stock"]["all"],
        "clairvoyant": found["clairvoyant_s"],
        "on_time_mean": ways["dynamic"]["on_time"],
        "on_time_mean_pipelined": ways["pipelined"]["on_time"],
        "on_time_mean_stock": ways["stock"]["on_time"],
        "undelayed": ways["undelayed"]["on_time"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--late", default="1,2,4", help="the ranks that are late, by 0.47, 0.70 and 0.94 T")
    options = parser.parse_args()
    late = [int(rank) for rank in options.late.split(",")]
    if len(late) != len(SHARES) or not all(0 < rank < 8 for rank in late):
        parser.error("--late wants three ranks of 1 to 7")
    console = Console()
    records: dict[str, dict[str, Any]] = {}
    for library in options.library.split(","):
        description = load(NETWORK)
        with Lab(description, library=library, placement="block") as lab:
            rate_bit = description.segments[0].rate_mbit * 1e6
            found = measured(Experiment(lab, options.calls, late), options, rate_bit)
        records[library] = found
        delays = ", ".join(seconds_text(delay) for delay in found["delays_s"])
        console.print(
            f"{library}: T {seconds_text(found['t_s'])}; ranks {options.late} late by {delays}",
            highlight=False,
        )
        for name, way in found["ways"].items():
            console.print(
                f"  {name:18} all {seconds_text(way['all']):>9}   on time {seconds_text(way['on_time']):>9}",
                highlight=False,
            )
        console.print(f"  {'clairvoyant':18} all {seconds_text(found['clairvoyant_s']):>9}", highlight=False)
        # After each, so that an interrupt keeps what there is.
        if options.json:
            document = {"schema": "eco.bench.late_ranks", "version": 1, **provenance(), "records": records}
            write_json(options.json, document)
    print(json.dumps({library: line_of(found) for library, found in records.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
