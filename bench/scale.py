"""Collectives of 64 to 1,024 simulated ranks: SimGrid's selectors, ECO's choice, and what no algorithm can beat.

    python bench/scale.py --ranks 256 --operations broadcast,allreduce --sizes 8,65536 --json bench/results/scale.json

Runs inside SimGrid (`make simgrid build`): simulated times are the same on every machine and in every run. Every cell
is a platform (bench/simgrid/platforms.py), a number of ranks, an operation and a size: of the message (broadcast,
allreduce), of one contribution (allgather), for one peer (alltoall). Of stock MPI the best of SMPI's selectors
counts; ECO's recipe is the one that its planner chooses by prediction on the platform's numbers, run by its Executor.
What is in --json already is not run again (--anew: it is). Runs that take longer than --limit-s or --choosing-s are
recorded as such. The last line is one JSON object; docs/scale.md has the tables.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "simgrid"))
from bounds import bound_s
from platform_file import Platform
from platforms import PLATFORMS, platform_text
from smpi import BUILD, asked, build, smpi, version, why_not

from eco.report.records import size_text, write_records

SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
OPERATIONS = ("broadcast", "allreduce", "allgather", "alltoall")
RANKS = (64, 256, 1024)
SIZES = (8, 64 << 10, 4 << 20)
#: What the project asks for: where the best selector is above so many bounds, ECO is to be so much faster; elsewhere
#: within so much of the bound, or equal to the selector.
FAR_FROM_BOUND = 2.5
WANTED_GAIN = 2.0
NEAR_BOUND = 1.15
EQUAL = 0.999
#: Ranks in one process: no program here has variables that they must not share. Folded memory (timed.h) in large
#: pieces, of which a process may have only so many.
HOW = ("--cfg=smpi/privatization:no", f"--cfg=smpi/shared-malloc-blocksize:{256 << 20}")
CHECKED_BYTES = 64 << 10

Record = dict[str, Any]


def whole_bytes(operation: str, n_bytes: int, n_ranks: int) -> int:
    """As ECO counts: of all contributions, or of what one rank sends to all."""
    return n_bytes * n_ranks if operation in ("allgather", "alltoall") else n_bytes


def key(record: Record) -> tuple[str, int, str, int]:
    return record["platform"], record["ranks"], record["operation"], record["bytes"]


def why(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not ended after {error.timeout:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        return f"failed ({error.returncode})"
    return str(error)


class Bench:
    """Runs cells of one platform."""

    def __init__(self, name: str, n_ranks: int, folder: Path, options: argparse.Namespace) -> None:
        self.name, self.n_ranks = name, n_ranks
        self.folder, self.programs = folder, options.build
        self.most_messages = options.most_messages
        path = folder / "platform.xml"
        path.write_text(platform_text(name, n_ranks, options.seed))
        self.platform = Platform(path)
        self.network = self.platform.network()
        (folder / "network.json").write_text(json.dumps(self.network))

    def stock(self, selector: str, operation: str, n_bytes: int, limit_s: float) -> Record:
        cells = self.folder / "cells.txt"
        cells.write_text(f"{n_bytes} {operation}\n")
        how = [*HOW, f"--cfg=smpi/coll-selector:{selector}"]
        program = self.programs / "bench-simgrid-stock.so"
        try:
            (found,) = smpi(self.platform, program, [cells], folder=self.folder, how=how, limit_s=limit_s)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            return {"why_not": why(error)}
        return {"seconds": found["simgrid_s"], "cost_s": round(found["simgrid_cost_s"], 2)}

    def choose(self, operation: str, n_bytes: int, limit_s: float) -> Record:
        cells = self.folder / "cells.txt"
        cells.write_text(f"{whole_bytes(operation, n_bytes, self.n_ranks)} {operation}\n")
        words: list[str | Path] = [
            self.programs / "bench-simgrid-choose",
            self.folder / "network.json",
            cells,
        ]
        words.append(str(self.most_messages))
        try:
            (found,) = asked(words, limit_s)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            return {"why_not": f"choosing: {why(error)}"}
        return {
            "recipe": found["recipe"],
            "predicted_s": found["predicted_s"],
            "choosing_s": round(found["choosing_s"], 3),
            "choosing_megabytes": round(found["peak_kilobytes"] / 1024, 1),
        }

    def execute(self, chosen: Record, operation: str, n_bytes: int, limit_s: float) -> Record:
        if "why_not" in chosen:
            return chosen
        cells = self.folder / "cells.txt"
        cells.write_text(f"{whole_bytes(operation, n_bytes, self.n_ranks)} {chosen['recipe']}\n")
        program = self.programs / "bench-simgrid-execute.so"
        before = [self.folder / "network.json", cells]
        after = [str(CHECKED_BYTES)]
        try:
            (found,) = smpi(
                self.platform, program, before, after, folder=self.folder, how=HOW, limit_s=limit_s
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            return {**chosen, "why_not": why(error)}
        return {**chosen, "seconds": found["simgrid_s"], "cost_s": round(found["simgrid_cost_s"], 2)}

    def cell(self, operation: str, n_bytes: int, limit_s: float, choosing_s: float) -> Record:
        stock = {selector: self.stock(selector, operation, n_bytes, limit_s) for selector in SELECTORS}
        chosen = self.choose(operation, n_bytes, choosing_s)
        return {
            "platform": self.name,
            "ranks": self.n_ranks,
            "operation": operation,
            "bytes": n_bytes,
            "bound_s": bound_s(self.network, operation, n_bytes),
            "stock": stock,
            "eco": self.execute(chosen, operation, n_bytes, limit_s),
        }


def best_stock(record: Record) -> tuple[str, float] | None:
    ended = [(run["seconds"], name) for name, run in record["stock"].items() if "seconds" in run]
    if not ended:
        return None
    seconds, name = min(ended)
    return name, seconds


def verdict(record: Record) -> str:
    """met, missed, or what was not run."""
    best = best_stock(record)
    if best is None or "seconds" not in record["eco"]:
        return "not run"
    eco_s, stock_s, bound = record["eco"]["seconds"], best[1], record["bound_s"]
    if stock_s > FAR_FROM_BOUND * bound:
        return "met" if stock_s >= WANTED_GAIN * eco_s else "missed"
    return "met" if eco_s <= NEAR_BOUND * bound or stock_s >= EQUAL * eco_s else "missed"


def rows(records: list[Record]) -> Iterator[list[str]]:
    for record in records:
        best = best_stock(record)
        eco = record["eco"]
        eco_s = eco.get("seconds")
        bound = record["bound_s"]
        yield [
            record["platform"],
            str(record["ranks"]),
            record["operation"],
            size_text(record["bytes"]),
            f"{1e3 * bound:.3f}",
            f"{1e3 * best[1]:.3f} ({best[0]})" if best else "-",
            f"{best[1] / bound:.2f}" if best else "-",
            f"{1e3 * eco_s:.3f}" if eco_s else eco.get("why_not", "-"),
            f"{eco_s / bound:.2f}" if eco_s else "-",
            f"{best[1] / eco_s:.2f}" if best and eco_s else "-",
            verdict(record),
            eco.get("recipe", ""),
        ]


HEAD = ["platform", "ranks", "operation", "size", "bound ms", "best selector ms", "/ bound", "ECO ms", "/ bound",
        "stock / ECO", "", "recipe"]  # fmt: skip


def show(records: list[Record]) -> None:
    table = [HEAD, *rows(records)]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEAD))]
    for row in table:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())


def summary(records: list[Record]) -> dict[str, Any]:
    verdicts = [verdict(record) for record in records]
    gains = [best[1] / record["eco"]["seconds"] for record in records
             if (best := best_stock(record)) and "seconds" in record["eco"]]  # fmt: skip
    return {
        "cells": len(records),
        "met": verdicts.count("met"),
        "missed": verdicts.count("missed"),
        "not_run": verdicts.count("not run"),
        "faster_than_every_selector": sum(gain > 1 / EQUAL for gain in gains),
        "slower_than_the_best": sum(gain < EQUAL for gain in gains),
    }


def read_records(path: Path | None) -> list[Record]:
    if path is None or not path.exists():
        return []
    document = json.loads(path.read_text())
    if (document.get("schema"), document.get("version")) != ("eco.bench.scale", 1):
        raise SystemExit(f"{path} is no eco.bench.scale of version 1")
    records: list[Record] = document["records"]
    return records


def write(path: Path, records: list[Record], seed: int) -> None:
    head = {"schema": "eco.bench.scale", "version": 1, "simgrid": version(), "seed": seed}
    write_records(path, head, records)


def chosen_from(text: str, all_of: tuple[Any, ...]) -> list[Any]:
    """Words of a comma-separated list, in the order of `all_of`; sizes and ranks may be others, too."""
    words = [type(all_of[0])(word) for word in text.split(",")]
    if isinstance(all_of[0], str):
        for word in words:
            if word not in all_of:
                raise SystemExit(f"no '{word}'; choose from {','.join(all_of)}")
    return words


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, all_of in (("platforms", tuple(PLATFORMS)), ("ranks", RANKS), ("operations", OPERATIONS),
                         ("sizes", SIZES)):  # fmt: skip
        parser.add_argument(f"--{name}", default=",".join(map(str, all_of)), metavar="LIST")
    parser.add_argument("--seed", type=int, default=1, help="of the platforms")
    parser.add_argument("--json", type=Path, metavar="FILE", help="records, read first and added to")
    parser.add_argument("--anew", action="store_true", help="run what is recorded already, too")
    parser.add_argument("--eco-anew", action="store_true", help="run ECO again, keeping what stock MPI took")
    parser.add_argument("--limit-s", type=float, default=120, help="for one run inside SimGrid")
    parser.add_argument("--choosing-s", type=float, default=300, help="for one choice of a recipe")
    parser.add_argument("--most-messages", type=float, default=200_000,
                        help="of a recipe that ECO may choose, for SimGrid's sake")  # fmt: skip
    parser.add_argument("--show", action="store_true", help="print what is recorded, run nothing")
    parser.add_argument("--build", type=Path, default=BUILD, metavar="FOLDER", help="of the programs")
    options = parser.parse_args()
    # What it has started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    records = {key(record): record for record in read_records(options.json)}
    if not options.show:
        if reason := why_not(options.build):
            raise SystemExit(reason)
        build(options.build)
        run(options, records)
    found = list(records.values())
    show(found)
    print(json.dumps(summary(found)))
    return 0


def run(options: argparse.Namespace, records: dict[tuple[str, int, str, int], Record]) -> None:
    """Small sizes and few ranks first: these cost least."""
    operations = chosen_from(options.operations, OPERATIONS)
    for n_ranks in chosen_from(options.ranks, RANKS):
        for n_bytes in chosen_from(options.sizes, SIZES):
            for name in chosen_from(options.platforms, tuple(PLATFORMS)):
                wanted = [(name, n_ranks, operation, n_bytes) for operation in operations]
                if not (options.anew or options.eco_anew):
                    wanted = [cell for cell in wanted if cell not in records]
                if not wanted:
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    bench = Bench(name, n_ranks, Path(folder), options)
                    for cell in wanted:
                        run_cell(bench, cell, options, records)


def run_cell(
    bench: Bench,
    cell: tuple[str, int, str, int],
    options: argparse.Namespace,
    records: dict[tuple[str, int, str, int], Record],
) -> None:
    operation, n_bytes = cell[2:]
    started = time.monotonic()
    if options.eco_anew and not options.anew and cell in records:
        chosen = bench.choose(operation, n_bytes, options.choosing_s)
        eco = bench.execute(chosen, operation, n_bytes, options.limit_s)
        records[cell] = {**records[cell], "bound_s": bound_s(bench.network, operation, n_bytes), "eco": eco}
    else:
        records[cell] = bench.cell(operation, n_bytes, options.limit_s, options.choosing_s)
    print(f"{time.monotonic() - started:6.1f} s:", *next(rows([records[cell]])), file=sys.stderr, flush=True)
    if options.json:
        write(options.json, list(records.values()), options.seed)


if __name__ == "__main__":
    sys.exit(main())
