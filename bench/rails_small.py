"""Are small messages any slower because ECO has found rails, or has looked for them?

    python bench/rails_small.py [--json F.json] [--network one-switch,rails-8] [--library openmpi,mpich] [--launches 8]
                                [--sizes 8,1024,16384] [--calls 60]

The same recipes serve the same calls (`rails/small.c`) with ECO_TRANSPORT=mpi, which knows of no rails, and with auto:
on `one-switch` there is one network, on `rails-8` each host is on two, over which none of these recipes sends. Launches
of both alternate. Printed are milliseconds of the median call and the paired ratio, mpi over auto, with its 95 %
interval: below 1, auto is slower. Run it alone. The last line is one JSON object.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from compiled import compiled
from rich.console import Console
from rich.table import Table

from eco import jobs, plans, stats
from eco.lab import Lab, load
from eco.provenance import provenance
from eco.report.records import size_text, write_json

SOURCE = Path(__file__).with_name("rails") / "small.c"
#: Of every launch; MPI's messages carry them, whatever rails there are.
RECIPES = {"broadcast": "broadcast/binomial", "allreduce": "allreduce/binomial"}
WAYS = ("mpi", "auto")
TIMEOUT_S = 200.0

#: Seconds of every call, by operation and bytes.
Calls = dict[tuple[str, int], list[float]]


def launch(place: jobs.LabPlace, way: str, words: list[str], plan: Path) -> Calls:
    """One start of the program with ECO on this transport; every call is served by the plan."""
    with jobs.scratch("rails-small") as folder:
        out, report = folder / "out", folder / "report.json"
        command = [str(compiled(place.library, SOURCE)), words[0], str(out), *words[1:]]
        settings = {
            "ECO_TRANSPORT": way,
            "ECO_PLAN": str(plan),
            "ECO_ARM_AFTER": "0",
            "ECO_REPORT": str(report),
        }
        ended = place.start(place.with_eco(command, settings), TIMEOUT_S)
        jobs.check(ended, f"launch with ECO_TRANSPORT={way}", "start it by hand to see more")
        told = json.loads(report.read_text())
        rails = told["transport"]["rails"]
        if bool(rails) != (way == "auto" and place.lab.description.n_rails > 1):
            raise SystemExit(f"ECO_TRANSPORT={way} on {place.network}: rails {rails}")
        for operation in RECIPES:
            passed = told["collectives"][operation]["calls_passed"]
            if passed > 0:
                raise SystemExit(f"ECO_TRANSPORT={way}: {passed} calls of {operation} not served")
        rows = [line.split() for line in out.read_text().splitlines()]
    return {(row[0], int(row[1])): [float(word) for word in row[2:]] for row in rows}


def compared(
    place: jobs.LabPlace, words: list[str], plan: Path, launches: int, console: Console
) -> list[dict[str, Any]]:
    """All launches, and the ratio of each operation and size."""
    found: dict[str, list[Calls]] = {way: [] for way in WAYS}
    for number in range(launches):
        console.print(f"{place.network}, {place.library}: launch {number + 1} of {launches}", highlight=False)
        for way in WAYS if number % 2 == 0 else reversed(WAYS):
            found[way].append(launch(place, way, words, plan))
    rows = []
    for cell in found["mpi"][0]:
        calls = {way: [each[cell] for each in found[way]] for way in WAYS}
        ratio = stats.ratio_of_launches(calls["mpi"], calls["auto"])
        rows.append(
            {
                "network": place.network,
                "library": place.library,
                "operation": cell[0],
                "bytes": cell[1],
                "ratio": ratio.to_dict(),
                "slower": ratio.measurably_slower(),
                "seconds": calls,
            }
        )
    return rows


def show(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="ms of the median call")
    for heading in ("network", "library", "operation", "size", *WAYS, "mpi / auto"):
        table.add_column(heading)
    for row in rows:
        medians = [
            f"{1e3 * stats.median([stats.median(calls) for calls in row['seconds'][way]]):.3f}"
            for way in WAYS
        ]
        ratio = row["ratio"]
        text = f"{ratio['ratio']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})" + (
            " SLOWER" if row["slower"] else ""
        )
        table.add_row(
            row["network"], row["library"], row["operation"], size_text(row["bytes"]), *medians, text
        )
    console.print(table)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--network", default="one-switch,rails-8")
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--launches", type=int, default=8)
    parser.add_argument("--sizes", default="8,1024,16384")
    parser.add_argument("--calls", type=int, default=60)
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    words = [str(options.calls), *options.sizes.split(",")]
    libraries = options.library.split(",")
    largest = max(int(size) for size in options.sizes.split(","))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="eco-rails-small-") as folder:
        os.environ["ECO_CACHE_DIR"] = str(Path(folder) / "cache")
        for network in options.network.split(","):
            with Lab(load(network), library=libraries[0]) as lab:
                plan = Path(folder) / f"{network}.json"
                plan.write_text(
                    plans.by_hand(
                        len(lab.hosts_of_ranks), {op: [(largest, recipe)] for op, recipe in RECIPES.items()}
                    )
                )
                for library in libraries:
                    if lab.library != library:
                        lab.use(library=library)
                    rows += compared(jobs.LabPlace(lab), words, plan, options.launches, console)
    show(rows, console)
    if options.json:
        write_json(options.json, {"schema": "eco.rails-small", "version": 1, **provenance(), "calls": options.calls,
                                  "launches": options.launches, "recipes": RECIPES, "rows": rows})  # fmt: skip
    worst = min(row["ratio"]["ratio"] for row in rows)
    print(json.dumps({"mpi over auto, least": round(worst, 3), "slower": sum(row["slower"] for row in rows)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
