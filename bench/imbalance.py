"""Collectives whose ranks come at random times, stock against ECO, on emulated networks.

    python bench/imbalance.py [--json F.json] [--network one-switch,three-subnets] [--library openmpi,mpich]
                              [--launches 3] [--calls 32] [--ops broadcast,reduce] [--sizes 65536,1048576]
                              [--imbalances classes] [--ways chosen]

T is what the library takes for a cell when everybody comes at once. Ranks are late by random draws, the same in every
launch of a cell (bench/late_ranks/imbalance.c): `exponential`, each by its own of mean T; `straggler`, one of them,
drawn for each call, by 2 T; `classes`, every second one by about 2 T; `none`.

What is compared is what users feel: the mean seconds in the call of the ranks that were on time, which are those that
came in the first half of the time in which all came. The root of a reduce or gather is left out: it has to wait for
everybody. So has every rank of an allgather or allreduce: its seconds are that wait and what is left of the call after
it, of an allreduce at least the last rank's vector over one link. `bound` is stock over that, of the arrivals of the
stock launches: no more can be gained. Each cell of a launch is a job of its own, whose first calls are not timed:
ECO_LATE=auto (`chosen`) tries in them what is best. Those that are timed are as many as to show its looks at the recipe
too. Launches of stock, ECO as it is (`static`), ECO_LATE=mended (`dynamic`) and `chosen` alternate. Networks are
measured and plans made before. With --json all samples are kept, and of `chosen` what it compared and decided. The last
line is one JSON object: of each cell stock / the last of the ways.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiled import compiled
from rich.console import Console
from rich.table import Table

from eco import jobs
from eco.lab import Description, Lab, load
from eco.lab.bounds import wire_bytes
from eco.provenance import provenance
from eco.report.records import seconds_text, write_json
from eco.stats import Ratio, ratio_of_launches
from eco.tune import Part, TuneOptions, tune_place

SOURCE = Path(__file__).with_name("late_ranks") / "imbalance.c"
#: Mean or amount of what ranks are late by, of T.
IMBALANCES = {"none": 0.0, "exponential": 1.0, "straggler": 2.0, "classes": 2.0}
#: ECO_LATE of each way; None: the library alone.
WAYS: dict[str, str | None] = {"stock": None, "static": "off", "dynamic": "mended", "chosen": "auto"}
TIMEOUT_S = 900.0
SEED = 20261122
#: Calls of each cell before those that are timed: ECO_LATE=auto asks after 8 whether somebody is late, tries a form for
#: 8, for 16 more with who is late in most calls as leaves, and the library for 8.
UNTIMED = 41

#: When each rank came and left, by rank.
Call = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Cell:
    collective: str
    size: int
    imbalance: str

    @property
    def name(self) -> str:
        return f"{self.collective} {self.size} {self.imbalance}"

    def seconds_in_call(self, call: Call) -> float:
        """The mean of the ranks that were on time and need not wait for all."""
        half = max(came for came, _ in call) / 2
        roots = {0} if self.collective in ("reduce", "gather") else set()
        on_time = [
            left - came for rank, (came, left) in enumerate(call) if came <= half and rank not in roots
        ]
        return statistics.mean(on_time or [left - came for came, left in call])

    def bound(self, launches: Sequence[Sequence[Call]], description: Description) -> float | None:
        """Of an allreduce: what stock takes over the least that is possible; None of others."""
        if self.collective != "allreduce":
            return None
        link_s = (
            wire_bytes(self.size) * 8 / (1e6 * max(segment.rate_mbit for segment in description.segments))
        )
        calls = [call for launch in launches for call in launch]
        least_s = []
        for call in calls:
            last = max(came for came, _ in call)
            on_time = [came for came, _ in call if came <= last / 2] or [came for came, _ in call]
            least_s.append(statistics.mean(last - came + link_s for came in on_time))
        taken_s = statistics.median(self.seconds_in_call(call) for call in calls)
        return taken_s / statistics.median(least_s)


def launch(
    place: jobs.LabPlace, way: str, cell: Cell, t_s: dict[str, float], calls: int
) -> tuple[list[Call], list[str]]:
    """The timed calls of one cell, and what ECO_LATE=auto compared and decided, those untimed too."""
    with jobs.scratch("imbalance") as folder:
        wanted, out = folder / "cells", folder / "out.json"
        late_s = IMBALANCES[cell.imbalance] * t_s.get(f"{cell.collective} {cell.size}", 0.0)
        wanted.write_text(f"{cell.collective} {cell.size} {cell.imbalance} {late_s:.6f}\n")
        program = compiled(place.library, SOURCE, "-lm")
        words = [str(program), str(wanted), str(UNTIMED), str(calls), str(SEED), str(out)]
        late, report = WAYS[way], folder / "report.json"
        settings = {"ECO_QUIET": "1", "ECO_MEASURE": "never", "ECO_ARM_AFTER": "0", "ECO_REPORT": str(report)}
        command = (
            place.stock(words) if late is None else place.with_eco(words, {**settings, "ECO_LATE": late})
        )
        ended = place.start(command, TIMEOUT_S)
        jobs.check(ended, f"launch of {way}, {cell.name}", "start it by hand to see more")
        account = json.loads(report.read_text())["late"]["account"] if late == "auto" else []
        return json.loads(out.read_text())["cells"][0], account


def measured(
    lab: Lab, cells: Sequence[Cell], options: argparse.Namespace, console: Console
) -> dict[str, Any]:
    place = jobs.LabPlace(lab)
    sizes = ",".join(str(size) for size in sorted({cell.size for cell in cells}))
    parts = [Part(["--ops", op, "--sizes", sizes]) for op in dict.fromkeys(cell.collective for cell in cells)]
    tune_place(place, parts, console, TuneOptions(timeout_s=TIMEOUT_S))
    at_once = list(dict.fromkeys(Cell(cell.collective, cell.size, "none") for cell in cells))
    t_s = {
        f"{cell.collective} {cell.size}": statistics.median(
            max(left for _, left in call) for call in launch(place, "stock", cell, {}, options.calls)[0]
        )
        for cell in at_once
    }
    ways = ["stock", *options.ways]
    launches: dict[str, list[list[list[Call]]]] = {way: [] for way in ways}
    accounts: dict[str, list[list[str]]] = {cell.name: [] for cell in cells}
    for number in range(options.launches):
        for way in ways if number % 2 == 0 else ways[::-1]:
            of_cells = [launch(place, way, cell, t_s, options.calls) for cell in cells]
            launches[way].append([timed for timed, _ in of_cells])
            for cell, (_, account) in zip(cells, of_cells, strict=True):
                if WAYS[way] == "auto":
                    accounts[cell.name].append(account)
            console.print(
                f"  {lab.description.name}, {lab.library}: launch {number + 1} of {way}", style="dim"
            )
    names = [cell.name for cell in cells]
    return {"t_s": t_s, "cells": names, "launches": launches, "accounts": accounts}


def ratios(record: dict[str, Any], cells: Sequence[Cell], way: str) -> list[tuple[float, Ratio]]:
    """Of each cell: seconds of this way, and stock against it."""
    found = []
    for index, cell in enumerate(cells):
        of = {
            one: [
                [cell.seconds_in_call(call) for call in one_launch[index]]
                for one_launch in record["launches"][one]
            ]
            for one in ("stock", way)
        }
        seconds = statistics.median(statistics.median(calls) for calls in of[way])
        found.append((seconds, ratio_of_launches(of["stock"], of[way])))
    return found


def show(name: str, record: dict[str, Any], cells: Sequence[Cell], console: Console) -> None:
    description = load(name.split(",")[0])
    ways = [way for way in record["launches"] if way != "stock"]
    table = Table("cell", "T", title=name, title_justify="left")
    for word in (*(f"stock / {way}" for way in ways), ways[-1], "bound"):
        table.add_column(word)
    of_ways = [ratios(record, cells, way) for way in ways]
    for index, cell in enumerate(cells):
        bound = cell.bound([launch[index] for launch in record["launches"]["stock"]], description)
        here = [of[index] for of in of_ways]
        texts = [f"{r.ratio:.2f} ({r.low:.2f} to {r.high:.2f})" for _, r in here]
        t_s = record["t_s"][f"{cell.collective} {cell.size}"]
        of_bound = f"{bound:.2f}" if bound is not None else ""
        table.add_row(cell.name, seconds_text(t_s), *texts, seconds_text(here[-1][0]), of_bound)
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--network", default="one-switch,three-subnets")
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--calls", type=int, default=32)
    parser.add_argument("--ops", default="broadcast,reduce,allreduce,gather")
    parser.add_argument("--sizes", default="65536,1048576")
    parser.add_argument("--imbalances", default=",".join(IMBALANCES))
    parser.add_argument("--ways", default="static,dynamic,chosen", type=lambda text: text.split(","))
    parser.add_argument("--memory", type=Path, help="a folder that keeps what is measured and planned")
    return parser.parse_args()


def main() -> int:
    options, console = parse(), Console(width=130)
    sizes = [int(size) for size in options.sizes.split(",")]
    kinds = options.imbalances.split(",")
    cells = [Cell(*of) for of in itertools.product(options.ops.split(","), sizes, kinds)]
    records: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="eco-imbalance-") as only_now:
        os.environ["ECO_CACHE_DIR"] = str((options.memory or Path(only_now)).absolute())
        for network, library in itertools.product(options.network.split(","), options.library.split(",")):
            with Lab(load(network), library=library, placement="block") as lab:
                record = measured(lab, cells, options, console)
            records[f"{network}, {library}"] = record
            show(f"{network}, {library}", record, cells, console)
            # After each, so that an interrupt keeps what there is.
            if options.json:
                write_json(
                    options.json,
                    {"schema": "eco.bench.imbalance", "version": 1, **provenance(), "records": records},
                )
    gains = {
        name: {
            cell.name: round(ratio.ratio, 3)
            for cell, (_, ratio) in zip(cells, ratios(of, cells, options.ways[-1]), strict=True)
        }
        for name, of in records.items()
    }
    print(json.dumps(gains))
    return 0


if __name__ == "__main__":
    sys.exit(main())
