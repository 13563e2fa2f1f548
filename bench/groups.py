"""Communicators that cut across subnets, in large collectives all at once: does anybody starve?

    python bench/groups.py [--json F.json] [--network three-subnets] [--library openmpi,mpich] [--cut across,threads]
                           [--groups 2] [--bytes 1048576] [--calls 6]

`groups/together.c` has N communicators: across, of every Nth rank; or of all ranks, each with a thread of its own
(`threads`) or with calls begun at once (`nonblocking`). Each runs a broadcast, an allreduce and an allgather alone and
then beside the others; results are checked. Printed are milliseconds of a call, stock and with ECO, of each
communicator beside the others, what that is of its time alone, and the slowest communicator over the fastest: 1 if all
get the same. Networks are measured and plans made before. The last line is one JSON object.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from compiled import rows_of
from rich.console import Console
from rich.table import Table

from eco import jobs
from eco.lab import Lab, load
from eco.provenance import provenance
from eco.report.records import write_json

SOURCE = Path(__file__).with_name("groups") / "together.c"
CUTS = ("across", "threads", "nonblocking")
WARM_CALLS = "1"


def launch(place: jobs.LabPlace, served: bool, words: list[str]) -> list[dict[str, Any]]:
    """Each operation and communicator: seconds of a call alone, and beside the others."""
    rows = rows_of(place, served, SOURCE, words, "-pthread")
    return [
        {"operation": op, "communicator": int(comm), "alone_s": float(alone), "beside_s": float(beside)}
        for op, comm, alone, beside in rows
    ]


def show(record: dict[str, Any], console: Console) -> None:
    table = Table(title=f"{record['cut']}, {record['library']}: ms of a call beside the others (of alone)")
    for heading in ("", "stock", "ECO", "slowest / fastest stock", "ECO"):
        table.add_column(heading)
    for op in dict.fromkeys(row["operation"] for row in record["stock"]):
        cells, ratios = [], []
        for way in ("stock", "eco"):
            rows = [row for row in record[way] if row["operation"] == op]
            cells.append(
                ", ".join(f"{1e3 * r['beside_s']:.0f} ({r['beside_s'] / r['alone_s']:.2f}x)" for r in rows)
            )
            times = [row["beside_s"] for row in rows]
            ratios.append(f"{max(times) / min(times):.2f}")
        table.add_row(op, *cells, *ratios)
    console.print(table)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--network", default="three-subnets")
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--cut", default=",".join(CUTS))
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=1 << 20)
    parser.add_argument("--calls", type=int, default=6)
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    records = []
    libraries = options.library.split(",")
    with Lab(load(options.network), library=libraries[0]) as lab:
        for library in libraries:
            if lab.library != library:
                lab.use(library=library)
            place = jobs.LabPlace(lab)
            for cut in options.cut.split(","):
                words = [cut, str(options.bytes), str(options.calls), str(options.groups)]
                # A job that measures what those that are timed find.
                launch(place, True, [cut, str(options.bytes), WARM_CALLS, str(options.groups)])
                record = {
                    "library": library,
                    "cut": cut,
                    "stock": launch(place, False, words),
                    "eco": launch(place, True, words),
                }
                records.append(record)
                show(record, console)
    if options.json:
        write_json(options.json, {"schema": "eco.groups", "version": 1, **provenance(),
                                  "network": options.network, "bytes": options.bytes, "records": records})  # fmt: skip
    worst = max(max(row["beside_s"] / row["alone_s"] for row in record["eco"]) for record in records)
    print(json.dumps({"slowest beside others, of its time alone": round(worst, 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
