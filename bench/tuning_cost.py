"""What the tuner's searches cost and what their answers lose, on recorded grids (docs/tuning.md).

    python bench/tuning_cost.py bench/grids/*.json.xz [--json F.json] [--picture F.html] [--repeats 10]

For linear, MGD, SMGD and the model-guided search: seconds of measuring and the regret of the answer, in launches that
the search has not seen. All have the same points, repeats and estimator (the median of a point's runs, each the latest
rank's); repeats are as many as the cell's quick points were recorded, at most --repeats. The model-guided search is
charged its computing, the predictions of all points, and the measuring of the network: once for a whole grid, and in
the cases of the paper's Table 10 also whole. The last line is one JSON object.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from rich.console import Console
from rich.table import Table

from eco import _core
from eco.errors import EcoError
from eco.grids import Cell, RecordedGrid, read_grid
from eco.provenance import provenance
from eco.record import FEWEST_LAUNCHES
from eco.report.picture import PALETTE, write_page
from eco.report.records import seconds_text, size_text, write_json
from eco.stats import median
from eco.tuning import (
    Searched,
    guided_search,
    left_out_s,
    paper_search,
    regret,
    search_cell,
    seconds_to,
    shortlist_search,
)

SEARCHES = ("linear", "mgd", "smgd", "model_guided")
#: For comparison: what stops after the predictions.
PREDICTED = "predicted_best_five"
#: The paper's Table 10: seconds of linear, MGD and SMGD on its machine.
TABLE_10 = {
    ("broadcast", 1024): (11.4, 1.3, 1.3),
    ("broadcast", 131072): (1324.7, 21.4, 10.2),
    ("scatter", 1024): (82.2, 3.2, 1.3),
    ("scatter", 131072): (12613.0, 159.9, 39.6),
}


@dataclass(frozen=True)
class Result:
    """One search of one cell in one launch."""

    grid: str
    collective: str
    bytes: int
    launch: int
    search: str
    measuring_s: float
    computing_s: float  # with the predictions
    points: int
    runs: int
    regret: float
    curve: list[tuple[float, float]]  # seconds, and the regret of the best point known then
    recipe: str

    @property
    def seconds(self) -> float:
        return self.measuring_s + self.computing_s


def result_of(grid: str, cell: Cell, launch: int, name: str, searched: Searched) -> Result:
    is_guided = name.startswith("model_guided") or name == PREDICTED
    computing_s = searched.computing_s + (cell.predicting_s if is_guided else 0.0)
    curve = [(seconds + computing_s, regret(cell, point, launch)) for seconds, point in searched.curve]
    return Result(
        grid, cell.collective, cell.bytes, launch, name, searched.seconds, computing_s, searched.points, searched.runs,
        regret(cell, searched.best, launch), curve, cell.points[searched.best].recipe,
    )  # fmt: skip


def repeats_of(cell: Cell, most: int) -> int:
    return min(most, max(len(seconds) for launch in cell.launches for seconds in launch.seconds))


def run_grid(name: str, grid: RecordedGrid, most_repeats: int) -> list[Result]:
    """Every search on every cell and launch; small sizes first, as the planner goes."""
    launches = sorted({launch.number for cell in grid.cells for launch in cell.launches})
    cells = sorted(
        (cell for cell in grid.cells if cell.complete(FEWEST_LAUNCHES)), key=lambda cell: cell.bytes
    )
    results = []
    for launch in launches:
        guided = _core.Guided()
        for cell in cells:
            repeats = repeats_of(cell, most_repeats)
            searchers = {search: paper_search(search, repeats) for search in ("linear", "mgd", "smgd")}
            searchers["model_guided"] = guided_search(repeats, guided)
            # What a single problem costs, nothing being known from others.
            searchers["model_guided_alone"] = guided_search(repeats)
            searchers["predicted_best_five"] = shortlist_search(repeats)
            for search, searcher in searchers.items():
                results.append(result_of(name, cell, launch, search, search_cell(cell, launch, searcher)))
    return results


def best_alone_s(cell: Cell, repeats: int) -> float:
    """What the best point's runs and its check take, the mean over launches: less than any search that measures it."""
    return mean(
        [
            (1 + repeats) * (min(median(runs) for runs in launch.seconds if runs) + launch.overhead_s())
            for launch in cell.launches
        ]
    )


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def totals(results: Sequence[Result], calibration_s: float) -> dict[str, Any]:
    """Over cells and launches; seconds are those of tuning everything once."""
    launches = len({(one.grid, one.launch) for one in results}) / len({one.grid for one in results})
    found: dict[str, Any] = {}
    for name in (*SEARCHES, PREDICTED):
        mine = [one for one in results if one.search == name]
        cells: dict[tuple[str, str, int], list[float]] = {}
        for one in mine:
            cells.setdefault((one.grid, one.collective, one.bytes), []).append(one.regret)
        charged = calibration_s if name in ("model_guided", PREDICTED) else 0.0
        measuring_s = sum(one.measuring_s for one in mine) / launches
        computing_s = sum(one.computing_s for one in mine) / launches
        found[name] = {
            "mean_regret": mean([one.regret for one in mine]),
            "max_regret": max(mean(regrets) for regrets in cells.values()),
            "max_regret_of_one_launch": max(one.regret for one in mine),
            "seconds": measuring_s + computing_s + charged,
            "measuring_s": measuring_s,
            "computing_s": computing_s,
            "calibration_s": charged,
            "points": sum(one.points for one in mine) / launches,
            "cells": len(cells),
        }
    return found


def table_10(
    results: Sequence[Result], grids: dict[str, RecordedGrid], most_repeats: int
) -> list[dict[str, Any]]:
    """The paper's cases: seconds and regret of each search, and the model-guided search's against SMGD's regret."""
    rows = []
    for name, grid in grids.items():
        n_cells = sum(cell.complete(FEWEST_LAUNCHES) for cell in grid.cells)
        for (op, size), paper in TABLE_10.items():
            cell = grid.cell(op, size)
            mine = [one for one in results if (one.grid, one.collective, one.bytes) == (name, op, size)]
            if cell is None or not mine:
                continue
            row: dict[str, Any] = {"grid": name, "collective": op, "bytes": size, "paper_s": paper}
            for search in (*SEARCHES, "model_guided_alone"):
                ones = [one for one in mine if one.search == search]
                row[search] = {
                    "seconds": mean([one.seconds for one in ones]),
                    "regret": mean([one.regret for one in ones]),
                    "points": mean([one.points for one in ones]),
                }
            overhead_s = mean([launch.overhead_s() for launch in cell.launches])
            row["linear_with_left_out_s"] = row["linear"]["seconds"] + left_out_s(
                cell, repeats_of(cell, most_repeats), overhead_s
            )
            row["best_alone_s"] = best_alone_s(cell, repeats_of(cell, most_repeats))
            row["calibration_amortised_s"] = grid.calibration_s / n_cells
            row["calibration_whole_s"] = grid.calibration_s
            row["seconds_to_smgd_regret"] = to_equal_regret(mine)
            rows.append(row)
    return rows


def to_equal_regret(mine: Sequence[Result]) -> list[float | None]:
    """Of each launch: from when on the model-guided search has SMGD's regret, or 1 % where that is less."""
    reached = []
    for one in mine:
        if one.search == "model_guided_alone":
            smgd = next(other for other in mine if (other.search, other.launch) == ("smgd", one.launch))
            reached.append(seconds_to(one.curve, max(smgd.regret, 0.01)))
    return reached


def show(
    results: Sequence[Result], found: dict[str, Any], cases: Sequence[dict[str, Any]], console: Console
) -> None:
    table = Table("operation", "size", "grid", *(f"{name}: s, regret" for name in (*SEARCHES, PREDICTED)))
    for key in dict.fromkeys((one.collective, one.bytes, one.grid) for one in results):
        words = []
        for name in (*SEARCHES, PREDICTED):
            ones = [
                one for one in results if (one.collective, one.bytes, one.grid) == key and one.search == name
            ]
            lost = mean([one.regret for one in ones])
            words.append(f"{seconds_text(mean([one.seconds for one in ones]))}, {100 * lost:.1f} %")
        table.add_row(key[0], size_text(key[1]), key[2], *words)
    console.print(table)
    for name, total in found.items():
        console.print(
            f"{name}: {seconds_text(total['seconds'])} (measuring {seconds_text(total['measuring_s'])}, computing "
            f"{total['computing_s']:.2f} s, network {total['calibration_s']:.1f} s), {total['points']:.0f} points in "
            f"{total['cells']} cells; regret {100 * total['mean_regret']:.2f} %, worst "
            f"{100 * total['max_regret']:.1f} %, of one launch {100 * total['max_regret_of_one_launch']:.1f} %",
            highlight=False,
        )
    for case in cases:
        alone = case["model_guided_alone"]["seconds"]
        linear, smgd = case["linear"]["seconds"], case["smgd"]["seconds"]
        paper = case["paper_s"]
        equal = ", ".join("never" if s is None else seconds_text(s) for s in case["seconds_to_smgd_regret"])
        console.print(
            f"Table 10, {case['collective']} {size_text(case['bytes'])} ({case['grid']}): linear {linear:.1f} s "
            f"({case['linear_with_left_out_s']:.0f} s with what was left out, as predicted), MGD "
            f"{case['mgd']['seconds']:.2f} s, SMGD {smgd:.2f} s, regret {100 * case['smgd']['regret']:.1f} %; "
            f"model-guided {alone:.2f} s by itself, regret {100 * case['model_guided_alone']['regret']:.1f} % "
            f"({case['model_guided']['seconds']:.2f} s in its turn; network {case['calibration_amortised_s']:.2f} s of "
            f"{case['calibration_whole_s']:.1f} s), SMGD's regret after {equal}; linear / SMGD {linear / smgd:.0f}x "
            f"(the paper's {paper[0] / paper[2]:.0f}x), linear / model-guided {linear / alone:.0f}x, with its share of "
            f"the network {linear / (alone + case['calibration_amortised_s']):.0f}x; the best point alone "
            f"{case['best_alone_s']:.2f} s, so that no search gets beyond {linear / case['best_alone_s']:.0f}x",
            highlight=False,
        )


def picture(results: Sequence[Result], path: Path) -> None:
    """Regret against seconds, the mean over launches' cells: what each search would answer if stopped then."""
    page = go.Figure()
    for colour, name in zip(PALETTE, SEARCHES, strict=False):
        mine = [one for one in results if one.search == name]
        times = sorted({seconds for one in mine for seconds, _ in one.curve})
        times = times[:: max(1, len(times) // 400)]
        x, y = [], []
        for at in times:
            # Before its first answer a search has none to score.
            known = [[value for seconds, value in one.curve if seconds <= at] for one in mine]
            if all(known):
                x.append(at)
                y.append(100 * mean([values[-1] for values in known]))
        page.add_scatter(x=x, y=y, mode="lines", name=name, line={"color": colour, "shape": "hv"})
    page.update_xaxes(type="log", title_text="seconds spent on each cell")
    page.update_yaxes(title_text="mean regret of the best point known, %", rangemode="tozero")
    page.update_layout(title="Searches stopped early: regret on held-out launches", template="plotly_white")
    write_page(page, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("grids", nargs="+", type=Path)
    parser.add_argument("--repeats", type=int, default=10, help="of a point, at most")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    console = Console(width=140)
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats}: give 1 or more")
    try:
        grids = {path.name.split(".")[0]: read_grid(path) for path in options.grids}
    except EcoError as error:
        parser.error(str(error))
    results = [one for name, grid in grids.items() for one in run_grid(name, grid, options.repeats)]
    if not results:
        parser.error(
            f"no cell of these grids has {FEWEST_LAUNCHES} complete launches; eco record goes on with them"
        )
    used = {one.grid for one in results}
    calibration_s = sum(grid.calibration_s for name, grid in grids.items() if name in used)
    found = totals(results, calibration_s)
    cases = table_10(results, grids, options.repeats)
    show(results, found, cases, console)
    if options.picture:
        picture(results, options.picture)
    document = {"search": found, "table_10": cases}
    if options.json:
        write_json(
            options.json,
            {
                "schema": "eco.tuning_cost", "version": 1, "provenance": provenance(), "repeats": options.repeats,
                **document, "results": [asdict(one) for one in results],
            },
        )  # fmt: skip
    print(json.dumps({"search": {name: found[name] for name in SEARCHES}}))


if __name__ == "__main__":
    main()
