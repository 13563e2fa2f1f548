"""How well the structure of generated networks is found, and what that costs (docs/structure.md).

    python bench/structure.py [--seed 1] [--networks 30] [--only I ...] [--json F.json]
    python bench/structure.py --lab three-subnets dome-20 dice:7 --library openmpi mpich

Each network is drawn by the seed and its number, measured through simulated probes with noise and 5 % of the samples
spoilt, and compared with its true tree, up to what any traffic can tell apart (eco/structure/visible.h). Figure 2 of
the ECO paper, with all pairs one after the other, stands beside it. The last line says how many trees are right.

With --lab the networks are emulated ones, shipped or by dice, measured through an MPI library (structure_lab.py).
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from structure_lab import generated, lab_trial

from eco import _core
from eco.lab import load
from eco.provenance import provenance
from eco.report.records import seconds_text, write_json

#: Mean of what a sample takes longer than it should, as a share: by the network's number.
NOISES = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03)
SPOILT = 0.05


def trial(seed: int, index: int) -> dict[str, Any]:
    start = time.perf_counter()
    noise = NOISES[index % len(NOISES)]
    result: dict[str, Any] = json.loads(_core.structure_trial(seed, index, noise, SPOILT))
    return {"index": index, "noise": noise, **result, "computing_s": time.perf_counter() - start}


def is_right(result: dict[str, Any]) -> bool:
    return bool(result["missed"] == 0 and result["invented"] == 0)


def table(results: list[dict[str, Any]]) -> Table:
    rows = Table(box=None, pad_edge=False)
    for column in (
        "network", "hosts", "levels", "links", "tree", "media", "capacities", "worst", "duplex", "pairs", "messages",
        "network time", "Figure 2", "its messages", "its time",
    ):  # fmt: skip
        rows.add_column(column, justify="right")
    for r in results:
        tree = "right" if is_right(r) else f"{r['missed']} missed, {r['invented']} invented"
        rows.add_row(
            str(r["index"]),
            str(r["hosts"]),
            str(r["depth"]),
            str(r["splits"]),
            tree,
            f"{r['media_right']}/{r['media']}",
            f"{r['capacities_right']}/{r['capacities']}",
            f"{100 * r['worst_capacity']:.0f} %" if r["capacities"] else "",
            f"{r['duplex_right']}/{r['capacities']}",
            str(r["pairs"]),
            str(r["messages"]),
            seconds_text(r["network_s"]),
            "right" if r["figure2_right"] else f"{r['figure2_parts']} parts",
            str(r["figure2_messages"]),
            seconds_text(r["figure2_network_s"]),
        )
    return rows


def lab_table(results: list[dict[str, Any]]) -> Table:
    rows = Table(box=None, pad_edge=False)
    for column in (
        "network", "library", "hosts", "links", "tree", "media", "capacities", "worst", "least sure", "at once",
        "tree took", "in all", "Figure 2", "subnets",
    ):  # fmt: skip
        rows.add_column(column, justify="right")
    for r in results:
        rows.add_row(
            r["network"],
            r["library"],
            str(r["hosts"]),
            str(r["links"]),
            "right" if is_right(r) else f"{r['missed']} missed, {r['invented']} invented",
            f"{r['kinds_right']}/{r['kinds']}",
            f"{r['capacities_right']}/{r['capacities']}",
            f"{100 * r['worst_capacity']:.0f} %" if r["capacities"] else "",
            f"{100 * r['least_confidence']:.0f} %",
            "yes" if r["in_parallel"] else "no",
            seconds_text(r["tree_s"]),
            seconds_text(r["seconds"]),
            "right" if r["figure2_right"] else f"{r['figure2_parts']} parts",
            r["verdict"].removeprefix("the subnets are those of ").partition(",")[0],
        )
    return rows


def lab_results(names: list[str], libraries: list[str], placement: str) -> list[dict[str, Any]]:
    results = []
    for name in names:
        seed = name.removeprefix("dice:")
        description = generated(int(seed)) if seed != name else load(name)
        for library in libraries:
            results.append(lab_trial(description, library, placement))
            print(json.dumps(results[-1]), flush=True)
    return results


def total(results: list[dict[str, Any]], key: str) -> int:
    return sum(result[key] for result in results)


def finish(results: list[dict[str, Any]], what: dict[str, Any], written: Path | None) -> None:
    if written is not None:
        write_json(written, {"schema": "eco.structure-bench", "version": 1, **what, "provenance": provenance(),
                             "networks": results})  # fmt: skip
    print(f"{sum(map(is_right, results))} of {len(results)}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--networks", type=int, default=30)
    options.add_argument(
        "--only", type=int, nargs="+", metavar="I", help="only the networks of these numbers"
    )
    options.add_argument("--json", type=Path)
    options.add_argument(
        "--lab", nargs="+", metavar="NAME", help="emulated networks: shipped, files, dice:SEED"
    )
    options.add_argument("--library", nargs="+", default=["openmpi"], help="with --lab")
    options.add_argument("--placement", default="shuffled:1", help="with --lab")
    chosen = options.parse_args()
    console = Console(width=200)
    if chosen.lab:
        results = lab_results(chosen.lab, chosen.library, chosen.placement)
        console.print(lab_table(results))
        finish(results, {"lab": chosen.lab}, chosen.json)
        return
    results = [trial(chosen.seed, index) for index in chosen.only or range(chosen.networks)]
    console.print(table(results))
    print(
        f"media {total(results, 'media_right')} of {total(results, 'media')}, "
        f"capacities within 15 % {total(results, 'capacities_right')} of {total(results, 'capacities')}, "
        f"duplex {total(results, 'duplex_right')} of {total(results, 'capacities')}, "
        f"uplinks wrongly said to hold somebody up {total(results, 'held_up_wrongly')}, "
        f"links that only many pairs at once show {total(results, 'only_shared')}"
    )
    print(
        f"most network time {max(r['network_s'] for r in results):.1f} s, "
        f"Figure 2 right on {sum(r['figure2_right'] for r in results)}"
    )
    finish(results, {"seed": chosen.seed}, chosen.json)


if __name__ == "__main__":
    main()
