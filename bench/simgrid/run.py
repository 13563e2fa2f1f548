"""The same schedules predicted and executed inside SimGrid: how near the prediction is, and what either costs.

    python bench/simgrid/run.py [--json F.json] [--only TEXT] [--sizes 1024,4194304] [--check-bytes 65536]

Needs SimGrid (`make simgrid`) and ECO's build (`make build`), whose two programs of bench/simgrid it builds. Simulated
times are the same on every machine and in every run. Costs are processor seconds, of a cell's simulation alone:
starting SimGrid, building schedules and checking results are not in them.
"""

import json
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import command
from platform_file import Platform
from smpi import BUILD, Records, asked, smpi

PLATFORM = Path(__file__).with_name("two-clusters-64.xml")
SIZES = "1KiB,16KiB,256KiB,4MiB"
#: From flat to fitted, with and without segments. A segment longer than the message is the message.
RECIPES = (
    "broadcast/flat",
    "broadcast/binomial",
    "broadcast/chain segment=65536",
    "broadcast/chain segment=65536 window=2",
    "broadcast/subnets inside=binomial",
    "broadcast/subnets segment=65536 inside=chain",
    "broadcast/scatter+allgather",
    "broadcast/two_tree segment=65536",
    "scatter/flat",
    "scatter/binomial",
    "scatter/subnets",
    "scatter/knomial degree=4",
    "allreduce/binomial",
    "allreduce/doubling",
    "allreduce/ring",
    "allreduce/subnets inside=binomial",
    "allreduce/reduce_scatter+allgather",
    "allgather/flat",
    "allgather/chain",
    "allgather/recursive_doubling",
    "allgather/bruck",
    "allgather/neighbor",
    "allgather/subnets",
    "alltoall/flat",
    "alltoall/pairwise",
    "alltoall/bruck",
    "alltoall/linear_sync",
    "alltoall/leaders",
    "alltoall/subnets",
    "reduce_scatter/flat",
    "reduce_scatter/recursive_halving",
    "reduce_scatter/circulant",
    "reduce_scatter/leaders",
    "reduce_scatter/subnets",
)


def text_of(cells: list[tuple[int, str]]) -> str:
    return "".join(f"{size} {recipe}\n" for size, recipe in cells)


def compare(
    cells: list[tuple[int, str]], check_bytes: int = 0, path: Path = PLATFORM, programs: Path = BUILD
) -> Records:
    """One record for each cell, (bytes, recipe), that the recipe can serve."""
    platform = Platform(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network, wanted = folder / "network.json", folder / "cells.txt"
        network.write_text(json.dumps(platform.network()))
        wanted.write_text(text_of(cells))
        answers = asked([programs / "bench-simgrid-predict", network, wanted])
        able = [cell for cell, answer in zip(cells, answers, strict=True) if "why_not" not in answer]
        predicted = [answer for answer in answers if "why_not" not in answer]
        wanted.write_text(text_of(able))
        program = programs / "bench-simgrid-execute.so"
        executed = smpi(platform, program, [network, wanted], [str(check_bytes)], folder=folder)
    records = [one | other for one, other in zip(executed, predicted, strict=True)]
    for record in records:
        for law in ("predicted", "in_turn"):
            record[f"{law}_error"] = record[f"{law}_s"] / record["simgrid_s"] - 1
    return records


def summary(records: Records) -> dict[str, Any]:
    def errors(law: str) -> dict[str, float]:
        sizes = sorted(abs(record[f"{law}_error"]) for record in records)
        return {
            f"{law}_median_abs_error": statistics.median(sizes),
            f"{law}_p90_abs_error": sizes[math.ceil(0.9 * len(sizes)) - 1],
            f"{law}_max_abs_error": sizes[-1],
        }

    simgrid, predict, in_turn = (
        sum(record[f"{what}_cost_s"] for record in records) for what in ("simgrid", "predict", "in_turn")
    )
    ratios = [record["simgrid_cost_s"] / record["predict_cost_s"] for record in records]
    return {
        "cells": len(records),
        **errors("predicted"),
        **errors("in_turn"),
        "simgrid_cost_s": simgrid,
        "predict_cost_s": predict,
        "in_turn_cost_s": in_turn,
        "cost_ratio_of_totals": simgrid / predict,
        "median_cost_ratio": statistics.median(ratios),
    }


def show(records: Records) -> None:
    print(
        f"{'recipe':48} {'bytes':>8} {'SimGrid ms':>11} {'predicted':>10} {'in turn':>8} {'cost ratio':>11}"
    )
    for record in records:
        print(
            f"{record['recipe'][:48]:48} {record['bytes']:8} {1e3 * record['simgrid_s']:11.3f} "
            f"{100 * record['predicted_error']:+9.1f}% {100 * record['in_turn_error']:+7.1f}% "
            f"{record['simgrid_cost_s'] / record['predict_cost_s']:11.0f}"
        )
    print(f"\n{'':24} {'cells':>5} {'median':>8} {'p90':>8} {'worst':>8}   in turn, median")
    operations = sorted({record["recipe"].split("/")[0] for record in records})
    for operation in [*operations, ""]:
        of_it = [record for record in records if record["recipe"].startswith(operation)]
        said = summary(of_it)
        print(
            f"{operation or 'all':24} {said['cells']:5} {100 * said['predicted_median_abs_error']:7.2f}% "
            f"{100 * said['predicted_p90_abs_error']:7.2f}% {100 * said['predicted_max_abs_error']:7.2f}% "
            f"{100 * said['in_turn_median_abs_error']:15.2f}%"
        )
    said = summary(records)
    print(
        f"\ncost: SimGrid {said['simgrid_cost_s']:.1f} s, predictions {said['predict_cost_s']:.3f} s "
        f"(1 / {said['cost_ratio_of_totals']:.0f}; the median cell 1 / {said['median_cost_ratio']:.0f}); "
        f"in turn {said['in_turn_cost_s']:.3f} s"
    )


def main() -> int:
    options = command.parse(__doc__, SIZES, "recipes that have this in them")
    cells = [(size, recipe) for recipe in RECIPES if options.only in recipe for size in options.sizes]
    started = time.monotonic()
    records = compare(cells, options.check_bytes, programs=options.build)
    show(records)
    print(f"{time.monotonic() - started:.0f} s in all")
    facts = {"platform": PLATFORM.name, "ranks": len(Platform(PLATFORM).hosts()), "summary": summary(records)}
    command.write(options.json, "eco.bench.simgrid", records, **facts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
