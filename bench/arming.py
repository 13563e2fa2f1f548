"""What a communicator of very many ranks costs one of them: seconds and bytes of memory, the planning rank and another.

    python bench/arming.py [--ranks 16384] [--hosts 16384,1024] [--operations broadcast,allreduce,...]
                           [--sizes 8,65536,1048576] [--program build/release/bench-arm] [--json F.json]

Builds bench-arm (release) unless a program is given, and runs it for each number of hosts: four sites with unequal
links, one operation and size at a time. `first` is rank 0, which reads the network, chooses among candidates and proves
the winner; `last` is told. Seconds are the least of three, memory is the worst at any time and what stays. The last
line says how many of the rows are within 50 ms and 10 MB.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from compiled import released
from rich.console import Console
from rich.table import Table

from eco.provenance import provenance
from eco.report.records import write_json

MOST_S, MOST_BYTES = 0.050, 10_000_000
TIMEOUT_S = 280.0


def is_within(row: dict[str, Any]) -> bool:
    return bool(row["seconds"] <= MOST_S and row["most_bytes"] <= MOST_BYTES)


def show(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table()
    for title in ("hosts", "operation", "bytes", "rank", "ms", "MB at most", "MB kept", "serves"):
        table.add_column(title)
    for row in rows:
        table.add_row(
            str(row["ranks"] // row["ranks_a_host"]), row["operation"], str(row["bytes"]), row["rank"],
            f"{1e3 * row['seconds']:.1f}", f"{1e-6 * row['most_bytes']:.1f}", f"{1e-6 * row['kept_bytes']:.1f}",
            row["serves"], style="" if is_within(row) else "bold",
        )  # fmt: skip
    console.print(table)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=16384)
    parser.add_argument("--hosts", default="16384,1024")
    parser.add_argument("--operations", default="")
    parser.add_argument("--sizes", default="8,65536,1048576")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    program = options.program or released("bench-arm")
    rows: list[dict[str, Any]] = []
    for hosts in options.hosts.split(","):
        for operation in options.operations.split(","):
            words = [
                str(program),
                str(options.ranks),
                str(options.ranks // int(hosts)),
                operation,
                options.sizes,
            ]
            said = subprocess.run(
                words, check=True, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S
            ).stdout
            rows += [json.loads(line) for line in said.splitlines()]
    show(rows, Console(stderr=True, width=160))
    if options.json:
        write_json(options.json, {"schema": "eco.arming", "version": 1, **provenance(), "rows": rows})
    within = {
        rank: f"{sum(is_within(row) for row in rows if row['rank'] == rank)}"
        f" of {sum(row['rank'] == rank for row in rows)}"
        for rank in ("first", "last")
    }
    print(json.dumps({f"within {1e3 * MOST_S:.0f} ms and {1e-6 * MOST_BYTES:.0f} MB": within}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
