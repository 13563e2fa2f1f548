"""Short collectives one after the other, as a loop of a program has them: stock against ECO, tuned.

    python bench/in_a_row.py [--json F.json] [--network three-subnets] [--library openmpi,mpich]
                             [--placement block,shuffled:1] [--sizes 8,1024] [--calls 1000] [--launches 6]

`eco bench` times single calls to which all ranks wake from sleep at one instant; here nobody sleeps, so that calls take
less and overlap (docs/adr/0037). Pairs of launches, stock and with ECO in turn; the interval is the bootstrap's of
their ratios. Network and plan are made before. The last line is one JSON object. Run it alone.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from compiled import rows_of
from rich.console import Console
from rich.table import Table

from eco import jobs, stats
from eco.lab import Lab, load
from eco.provenance import provenance
from eco.report.records import write_json
from eco.tune import Part, tune_place

SOURCE = Path(__file__).with_name("in_a_row") / "loop.c"
OPERATIONS = "barrier,allreduce,allgather,alltoall"
Times = dict[tuple[str, int], float]  # operation and bytes: seconds of a call


def launch(place: jobs.LabPlace, served: bool, words: list[str]) -> Times:
    rows = rows_of(place, served, SOURCE, words)
    return {(op, int(size)): float(seconds) for op, size, seconds in rows}


def pairs(place: jobs.LabPlace, words: list[str], launches: int) -> list[dict[str, Any]]:
    """A record for each operation and length."""
    stock: list[Times] = []
    eco: list[Times] = []
    for number in range(launches):
        for served in (False, True) if number % 2 == 0 else (True, False):
            (eco if served else stock).append(launch(place, served, words))
    records = []
    for cell in stock[0]:
        samples = {"stock": [one[cell] for one in stock], "eco": [one[cell] for one in eco]}
        ratio = stats.ratio_of_launches(
            [[one] for one in samples["stock"]], [[one] for one in samples["eco"]]
        )
        records.append({
            "library": place.library, "placement": place.placement, "collective": cell[0], "bytes": cell[1],
            "stock_s": stats.median(samples["stock"]), "eco_s": stats.median(samples["eco"]), "ratio": ratio.ratio,
            "ratio_low": ratio.low, "ratio_high": ratio.high, "samples": samples,
        })  # fmt: skip
    return records


def show(records: list[dict[str, Any]], console: Console) -> None:
    table = Table("library", "placement", "operation", "bytes", "stock", "ECO", "stock / ECO")
    for r in records:
        table.add_row(
            r["library"], r["placement"], r["collective"], str(r["bytes"]), f"{1e6 * r['stock_s']:.0f} us",
            f"{1e6 * r['eco_s']:.0f} us", f"{r['ratio']:.2f} ({r['ratio_low']:.2f} to {r['ratio_high']:.2f})",
        )  # fmt: skip
    console.print(table)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--network", default="three-subnets")
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--placement", default="block,shuffled:1")
    parser.add_argument("--sizes", default="8,1024", help="bytes of the whole message")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--launches", type=int, default=6)
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    records = []
    libraries = options.library.split(",")
    with Lab(load(options.network), library=libraries[0]) as lab:
        for library in libraries:
            for placement in options.placement.split(","):
                lab.use(library=library, placement=placement)
                place = jobs.LabPlace(lab)
                tune_place(place, [Part(["--ops", OPERATIONS, "--sizes", options.sizes])], console)
                records += pairs(place, [str(options.calls), options.sizes], options.launches)
    show(records, console)
    if options.json:
        about = {
            **provenance(),
            "network": options.network,
            "calls": options.calls,
            "launches": options.launches,
        }
        write_json(options.json, {"schema": "eco.in_a_row", "version": 1, **about, "records": records})
    mean = math.prod(r["ratio"] for r in records) ** (1 / len(records))
    slower = sum(options.launches >= stats.MIN_LAUNCHES and r["ratio_high"] < 1 for r in records)
    print(json.dumps({"cells": len(records), "geometric_mean": round(mean, 3), "slower": slower}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
