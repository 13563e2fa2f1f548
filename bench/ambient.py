"""What recipes that follow ambient traffic gain: one collective in a loop, others on one subnet's uplink meanwhile.

    python bench/ambient.py [--json F.json] [--library openmpi,mpich] [--operation broadcast,allreduce] [--bytes 262144]
                            [--launches 3] [--phases quiet:6,loaded:14,after:10] [--ways stock,off,auto] [--unknown]

On `three-subnets`, two long TCP streams leave the second subnet (h4 to h7, h5 to h8; windows of 64 KiB) in phases
named `loaded`; in others nobody does. Ways alternate from launch to launch: `stock`, ECO with ECO_AMBIENT=off
(`off`), with auto (`auto`). The network is measured and plans are made before, in quiet; with --unknown by each launch
anew, in its first phase.

Of each launch and phase what counts is its time over its calls (so looks, races and all that is slow are in it), and
its last third alone (`settled`). Each row has the median over launches, and the least and the greatest. All instants
are kept in the file, and what ECO's report says of its looks. The last line is one JSON object: off over auto.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiled import compiled
from rich.console import Console
from rich.table import Table

from eco import jobs
from eco.lab import Lab, Streams, load
from eco.provenance import provenance
from eco.report.records import write_json
from eco.tune import Part, TuneOptions, tune_place

SOURCE = Path(__file__).with_name("ambient") / "steady.c"
NETWORK = "three-subnets"
#: Out of the second subnet.
STREAMS = Streams((("h4", "h7"), ("h5", "h8")), on_s=1000.0, off_s=0.1, window_bytes=64 << 10)
WAYS = ("stock", "off", "auto")
LOADED = "loaded"
TIMEOUT_S = 300.0
#: Of a phase, at its end, for what recipes come to.
SETTLED = 1 / 3


@dataclass(frozen=True)
class Phase:
    name: str
    seconds: float


class Job:
    """The lab that is up, one operation of one size, and where what ECO finds is remembered."""

    def __init__(self, lab: Lab, operation: str, size: int, cache: Path) -> None:
        self.lab = lab
        self.place = jobs.LabPlace(lab)
        self.operation = operation
        self.size = size
        self.cache = cache

    def tune(self, console: Console) -> None:
        """Network and plan, in quiet."""
        os.environ["ECO_CACHE_DIR"] = str(self.cache)
        part = Part(["--ops", self.operation, "--sizes", str(self.size)])
        tune_place(self.place, [part], console, TuneOptions(timeout_s=TIMEOUT_S))

    def launch(
        self, way: str, phases: Sequence[Phase], seed: int, cache: Path | None = None
    ) -> dict[str, Any]:
        """Instants at which calls ended, in seconds since the first phase began, and when each phase did."""
        with jobs.scratch("ambient") as folder, contextlib.ExitStack() as traffic:
            words = [str(compiled(self.place.library, SOURCE)), self.operation, str(self.size), str(folder)]
            report = folder / "report.json"
            settings = {"ECO_AMBIENT": way, "ECO_ARM_AFTER": "0", "ECO_REPORT": str(report)}
            os.environ["ECO_CACHE_DIR"] = str(cache or self.cache)
            command = self.place.stock(words) if way == "stock" else self.place.with_eco(words, settings)
            ended: list[jobs.Ended] = []
            run = threading.Thread(target=lambda: ended.append(self.place.start(command, TIMEOUT_S)))
            if phases[0].name == LOADED:
                traffic.enter_context(self.lab.streams(STREAMS, seed))
            run.start()
            while run.is_alive() and not (folder / "began").exists():
                time.sleep(0.01)
            began: list[float] = []
            for number, phase in enumerate(phases):
                if number > 0:
                    traffic.close()
                    if phase.name == LOADED:
                        traffic.enter_context(self.lab.streams(STREAMS, seed))
                began.append(time.monotonic())
                run.join(phase.seconds)
            over = time.monotonic()
            (folder / "stop").touch()
            run.join()
            jobs.check(ended[0], f"{way}: {' '.join(words)}", "start it by hand to see more")
            ends = [float(line) for line in (folder / "ends").read_text().split()]
            told = json.loads(report.read_text()) if way != "stock" else {}
        return {
            "phases_s": [round(t - began[0], 4) for t in began] + [round(over - began[0], 4)],
            "ends_s": [round(t - began[0], 4) for t in ends],
            "network": told.get("network", ""),
            "ambient": told.get("ambient", {}),
            "served": told.get("collectives", {}).get(self.operation, {}).get("calls_served", 0),
        }


def means(launch: dict[str, Any], phase: int) -> tuple[float, float]:
    """Seconds of a call of the whole phase, and of its last part; of those calls that end in it."""
    begin, end = launch["phases_s"][phase], launch["phases_s"][phase + 1]

    def mean(since: float) -> float:
        inside = [t for t in launch["ends_s"] if since <= t < end]
        return (inside[-1] - inside[0]) / (len(inside) - 1) if len(inside) > 1 else float("nan")

    return mean(begin), mean(end - SETTLED * (end - begin))


def summary(launches: Sequence[dict[str, Any]], phases: Sequence[Phase]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, phase in enumerate(phases):
        for kind, times in zip(
            ("all", "settled"), zip(*(means(each, number) for each in launches), strict=True), strict=True
        ):
            found[f"{number} {phase.name} {kind}"] = [statistics.median(times), min(times), max(times)]
    return found


def show(record: dict[str, Any], console: Console) -> None:
    table = Table(title=f"{record['library']}, {record['operation']} of {record['bytes']} B: ms of a call")
    table.add_column("phase")
    for way in record["ways"]:
        table.add_column(way)
    for row in next(iter(record["ways"].values())):
        cells = [way[row] for way in record["ways"].values()]
        table.add_row(row, *(f"{1e3 * a:.2f} ({1e3 * b:.2f} to {1e3 * c:.2f})" for a, b, c in cells))
    console.print(table)
    for launch in record["launches"].get("auto", []):
        told = launch["ambient"]
        console.print(
            f"  auto: {told['looks']} looks of {told['seconds']:.2f} s,"
            f" moved {told['moves']} and back {told['moves_back']}"
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--operation", default="broadcast,allreduce")
    parser.add_argument("--bytes", type=int, default=256 << 10)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--phases", default="quiet:6,loaded:14,after:10")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--unknown", action="store_true")
    options = parser.parse_args(arguments)
    phases = [
        Phase(name, float(seconds)) for name, seconds in (p.split(":") for p in options.phases.split(","))
    ]
    ways = options.ways.split(",")
    console = Console(stderr=True)
    records = []
    libraries = options.library.split(",")
    with Lab(load(NETWORK), library=libraries[0]) as lab, tempfile.TemporaryDirectory() as scratch:
        for library in libraries:
            if lab.library != library:
                lab.use(library=library)
            for operation in options.operation.split(","):
                job = Job(lab, operation, options.bytes, Path(scratch))
                if not options.unknown:
                    job.tune(console)
                launches: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
                for number in range(options.launches):
                    for way in ways if number % 2 == 0 else ways[::-1]:
                        anew = (
                            Path(scratch, f"{library}-{operation}-{number}-{way}")
                            if options.unknown
                            else None
                        )
                        launches[way].append(job.launch(way, phases, number, anew))
                record = {
                    "library": library, "operation": operation, "bytes": options.bytes,
                    "ways": {way: summary(of, phases) for way, of in launches.items()}, "launches": launches,
                }  # fmt: skip
                records.append(record)
                show(record, console)
    if options.json:
        write_json(options.json, {"schema": "eco.ambient", "version": 1, **provenance(), "network": NETWORK,
                                  "phases": options.phases, "unknown": options.unknown,
                                  "records": records})  # fmt: skip
    gains = {
        f"{r['library']} {r['operation']} {row}": round(r["ways"]["off"][row][0] / r["ways"]["auto"][row][0], 3)
        for r in records if {"off", "auto"} <= r["ways"].keys()
        for row in r["ways"]["auto"]
    }  # fmt: skip
    print(json.dumps(gains))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
