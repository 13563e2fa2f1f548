"""One rail against two: recipes executed over the TCP transport on an emulated network whose hosts have several NICs.

    python bench/rails/run.py [--lab rails-8] [--sizes 1,4] [--launches 3] [--repetitions 3] [--json F.json]

Needs ECO's build (`make build`), whose program of bench/rails it builds. Every launch starts one rank on each host,
outside MPI, and executes all cells in turn. A cell's time is the median of its launches' medians; beside it the
prediction, and the bound that no algorithm can beat on one rail, or on all (eco.lab.bounds).
"""

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from eco import _core
from eco.lab import Lab, load
from eco.lab.bounds import OVERHEAD_BYTES, PAYLOAD_BYTES, bound_s
from eco.lab.description import Description

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "python"
MIB = 1 << 20
#: Of an operation: on one rail, then on all; {shares} stands for what each rail carries.
RECIPES = {
    "broadcast": (
        "broadcast/chain segment=8624 window=4",
        "broadcast/two_tree segment=8624 window=4",
        "broadcast/striped segment=8624 window=4 shares={shares} parts=broadcast/chain",
        "broadcast/striped segment=8624 window=4 shares={shares} parts=broadcast/two_tree",
        "broadcast/rail_trees segment=8624 window=4",
    ),
    "allreduce": (
        "allreduce/ring segment=8624 window=2",
        "allreduce/two_tree segment=8624 window=4",
        "allreduce/striped segment=8624 window=2 shares={shares} parts=allreduce/ring",
        "allreduce/striped segment=8624 window=4 shares={shares} parts=allreduce/two_tree",
    ),
    "allgather": (
        "allgather/chain segment=8624 window=2",
        "allgather/striped segment=8624 window=2 shares={shares} parts=allgather/chain",
    ),
}
Records = list[dict[str, Any]]


def synthetic(description: Description) -> str:
    """The network as ECO's predictor should see it: rates of payload, one rail after the other."""

    def payload(rate_mbit: float) -> float:
        return rate_mbit * PAYLOAD_BYTES / (PAYLOAD_BYTES + OVERHEAD_BYTES)

    first = [s for s in description.segments if s.rail == 0]
    rates = {s.rail: payload(s.rate_mbit) for s in description.segments}
    words = [
        "hosts=" + "+".join(str(len(s.hosts)) for s in first),
        f"rate_mbit={rates[0]:.4f}",
        "latency_us=60",
    ]
    if len(rates) > 1:
        words.append("rail_mbit=" + "+".join(f"{rates[r]:.4f}" for r in sorted(rates) if r > 0))
    lines = [p for j in description.joints for p in j.ports if p.delay_ms > 0]
    if lines:
        words += [
            f"uplink_mbit={payload(lines[0].rate_mbit or 0):.4f}",
            f"between_us={lines[0].delay_ms * 1e3:.0f}",
        ]
    return " ".join(words)


def one_rail(description: Description) -> Description:
    """What is left of it for who knows one NIC."""
    first = {s.name for s in description.segments if s.rail == 0}
    joints = {j.name: j for j in description.joints}
    kept: set[str] = set()
    for _ in joints:  # as far as the rail's segments lead
        kept |= {j.name for j in joints.values() if any(p.to in first | kept for p in j.ports)}
        kept |= {p.to for name in kept for p in joints[name].ports if p.to in joints}
    return dataclasses.replace(
        description,
        segments=tuple(s for s in description.segments if s.rail == 0),
        joints=tuple(j for j in description.joints if j.name in kept),
    )


def cells_of(description: Description, operations: list[str], sizes: list[int]) -> list[tuple[int, str]]:
    rates = {s.rail: s.rate_mbit for s in description.segments}
    shares = ",".join(f"{rates[rail] / min(rates.values()) * 16:.0f}" for rail in sorted(rates))
    recipes = [r.format(shares=shares) for o in operations for r in RECIPES[o]]
    return [(size, recipe) for size in sizes for recipe in recipes]


def launch(
    lab: Lab,
    program: Path,
    cells: list[tuple[int, str]],
    repetitions: int,
    check_bytes: int,
    timeout_s: float,
) -> Records:
    """One launch: a record for each cell."""
    rails = range(lab.description.n_rails)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network, wanted, found = (folder / f for f in ("network.json", "cells.txt", "records.jsonl"))
        network.write_text(_core.synthetic_network(synthetic(lab.description)))
        wanted.write_text("".join(f"{size} {recipe}\n" for size, recipe in cells))
        ranks = []
        for rank, host in enumerate(lab.description.hosts):
            addresses = [n.ip for r in rails for n in lab.fabric.nics if (n.host, n.rail) == (host, r)]
            words = [
                program,
                network,
                wanted,
                found,
                folder / "store",
                rank,
                repetitions,
                check_bytes,
                *addresses,
            ]
            ranks.append(lab.start([str(w) for w in words], host))
        try:
            codes = [rank.wait(timeout_s) for rank in ranks]
        except subprocess.TimeoutExpired:
            codes = [-1]
        finally:
            for rank in ranks:
                rank.kill()
        if any(codes):
            raise SystemExit(f"ranks ended with {codes}")
        return [json.loads(line) for line in found.read_text().splitlines()]


def summarise(description: Description, launches: list[Records]) -> Records:
    alone = one_rail(description)
    summary = []
    for of_cell in zip(*launches, strict=True):
        recipe, size = of_cell[0]["recipe"], of_cell[0]["bytes"]
        operation = recipe.split("/")[0]
        on_all = "striped" in recipe or "rail_trees" in recipe
        bound = bound_s(description if on_all else alone, "block", operation, size).seconds
        medians = [statistics.median(record["seconds"]) for record in of_cell]
        summary.append(
            {
                "recipe": recipe,
                "bytes": size,
                "rails": description.n_rails if on_all else 1,
                "seconds": statistics.median(medians),
                "launches_s": medians,
                "predicted_s": of_cell[0]["predicted_s"],
                "bound_s": bound,
            }
        )
    return summary


def show(summary: Records) -> None:
    print(f"{'recipe':80} {'MiB':>5} {'rails':>5} {'ms':>8} {'of bound':>8} {'predicted':>9} {'gain':>6}")
    for record in summary:
        same = [
            other["seconds"]
            for other in summary
            if other["rails"] == 1 and other["bytes"] == record["bytes"]
            and other["recipe"].split("/")[0] == record["recipe"].split("/")[0]
        ]  # fmt: skip
        print(
            f"{record['recipe'][:80]:80} {record['bytes'] / MIB:5.3g} {record['rails']:5} "
            f"{record['seconds'] * 1e3:8.1f} "
            f"{record['seconds'] / record['bound_s']:8.3f} {record['predicted_s'] / record['seconds'] - 1:+8.1%} "
            f"{min(same) / record['seconds']:6.2f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lab", default="rails-8", metavar="NETWORK")
    parser.add_argument("--operations", default=",".join(RECIPES), metavar="NAME,...")
    parser.add_argument("--sizes", default="1,4", metavar="MIB,...")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--check-bytes", type=int, default=4 * MIB, metavar="BYTES",
                        help="check the results of cells of up to so many bytes")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=200, metavar="S", help="of a launch")
    parser.add_argument("--build", type=Path, default=BUILD, metavar="FOLDER", help="of the program")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    words = ["cmake", "--build", str(options.build), "--target", "bench-rails"]
    subprocess.run(words, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    description = load(options.lab)
    sizes = [int(float(size) * MIB) for size in options.sizes.split(",")]
    cells = cells_of(description, options.operations.split(","), sizes)
    launches = []
    with Lab(description) as lab:
        for _ in range(options.launches):
            launches.append(
                launch(
                    lab,
                    options.build / "bench-rails",
                    cells,
                    options.repetitions,
                    options.check_bytes,
                    options.timeout,
                )
            )
        late_us = lab.stats()["late_us"]
    summary = summarise(description, launches)
    show(summary)
    if options.json:
        document = {
            "schema": "eco.bench.rails",
            "version": 1,
            "network": description.to_dict(),
            "launches": options.launches,
            "repetitions": options.repetitions,
            "relay_late_us": late_us,
            "records": summary,
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
