"""Recording a grid: all forms and segments of some problems, launch by launch, whenever there is time.

    recorder = Recorder(grid, path, options, time_units)
    recorder.record(budget_s=400)      # call again, in another process if need be, until it returns nothing left

A unit is a part of a cell in one launch: points of similar length, interleaved. The file is written after every start
of the ranks, so an interrupt loses no more than that start. Read `Recorder.record` first.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from eco import _core, jobs
from eco.characterize import characterize_place
from eco.collectives import Grid
from eco.errors import CorruptFile, InvalidArgument
from eco.grids import Cell, Point, RecordedGrid, read_grid, write_grid
from eco.lab import Description, Lab
from eco.provenance import provenance
from eco.report.progress import rank_progress
from eco.report.records import seconds_text
from eco.validate import hosts_in_network, time_trials, without_samples

#: A search sees one launch; on another the best point is chosen, and on a third both are timed (`eco.tuning.regret`).
FEWEST_LAUNCHES = 3
#: A unit's points are predicted to take so long once: less than anybody minds to lose.
UNIT_S = 8.0
#: What beginning together takes each run of an emulated network, about.
BEGIN_S = 0.015
#: Timed runs of a point in a launch, by its predicted seconds: medians of short calls need more of them.
RUNS = ((0.002, 10), (0.02, 5), (0.2, 3), (0.6, 2), (float("inf"), 1))


@dataclass(frozen=True)
class RecordOptions(Grid):
    """What is recorded."""

    launches: int = 3
    most_times: float = 20.0  # points predicted to take so many times the best's are left out
    most_s: float = 4.0  # and those predicted to take longer
    least_segment: int = 8
    timeout_s: float = 900.0

    def __post_init__(self) -> None:
        if self.launches < FEWEST_LAUNCHES:
            raise InvalidArgument(
                f"--launches {self.launches}: a search sees one, its answer is held against the best of another in a "
                f"third: give {FEWEST_LAUNCHES} or more"
            )
        if self.most_times <= 1 or self.most_s <= 0 or self.least_segment < 1:
            raise InvalidArgument(
                f"--most-times {self.most_times:g}, --most-seconds {self.most_s:g}, --least-segment "
                f"{self.least_segment}: nothing would be left; give more than 1, more than 0, and 1 or more"
            )


@dataclass(frozen=True)
class Unit:
    """Points of one cell that are timed together in one launch."""

    cell: Cell
    launch: int
    points: tuple[int, ...]
    runs: int

    def trial(self) -> dict[str, Any]:
        """As eco-rank time takes it."""
        return {
            "collective": self.cell.collective,
            "bytes": self.cell.bytes,
            "root": self.cell.root,
            "recipes": [self.cell.points[p].recipe for p in self.points],
            "repetitions": {"rounds": self.runs, "in_turn": 1, "wakes": False},
        }

    def take(self, timed: dict[str, Any]) -> None:
        """A trial's times into the cell."""
        launch = self.cell.launch(self.launch)
        for p, entry in zip(self.points, timed["recipes"], strict=True):
            launch.seconds[p] = list(entry["seconds"])
            launch.done[p] = True
        launch.native += timed["native"]
        launch.took_s += timed["took_s"]
        launch.runs += (1 + len(self.points)) * (1 + self.runs)


#: Times trials in one start of the ranks, beginning none after so many seconds: those that were, in their order.
TimeTrials = Callable[[Sequence[dict[str, Any]], float], list[dict[str, Any]]]


def make_cell(grid: RecordedGrid, collective: str, size: int, options: RecordOptions) -> Cell:
    """A cell's points with predictions. What is not proved, or predicted to be too slow, is left out and listed."""
    network = grid.network_text()
    root = 0
    forms = json.loads(_core.tune_forms(network, grid.hosts, collective, size, root, options.least_segment))
    listed = [(m, point) for m, form in enumerate(forms) for point in form["points"]]
    proved = [(m, point) for m, point in listed if point["why_not"] is None]
    recipes = [point["recipe"] for _, point in proved]
    began = time.thread_time()
    predicted = _core.forecasts(network, grid.hosts, recipes, collective, size, root)
    predicting_s = time.thread_time() - began
    able = [seconds for seconds in predicted if seconds is not None]
    if not able:
        raise InvalidArgument(f"no algorithm serves {collective} of {size} bytes")
    limit = min(options.most_s, options.most_times * min(able))
    left_out = [
        {"recipe": point["recipe"], "predicted_s": None, "why": point["why_not"]}
        for _, point in listed
        if point["why_not"] is not None
    ]
    points = []
    for (m, point), seconds in zip(proved, predicted, strict=True):
        if seconds is None or seconds > limit:
            why = "its schedules cannot end" if seconds is None else "predicted to be too slow"
            left_out.append({"recipe": point["recipe"], "predicted_s": seconds, "why": why})
        else:
            points.append(Point(m, point["segment"], point["recipe"], seconds))
    return Cell(
        collective, size, root, [form["form"] for form in forms], points, left_out,
        options.most_times, predicting_s,
    )  # fmt: skip


def units_of(cell: Cell, launch: int) -> list[Unit]:
    """What of a cell this launch has not timed yet, the quickest points first."""
    done = cell.launch(launch).done
    left = sorted(
        (p for p in range(len(cell.points)) if not done[p]), key=lambda p: cell.points[p].predicted_s
    )
    units: list[Unit] = []
    part: list[int] = []
    length_s = 0.0
    for p in left:
        seconds = cell.points[p].predicted_s
        runs = runs_of(seconds)
        once_s = (seconds + BEGIN_S) * (1 + runs)
        if part and (length_s + once_s > UNIT_S or runs_of(cell.points[part[0]].predicted_s) != runs):
            units.append(_unit(cell, launch, part))
            part, length_s = [], 0.0
        part.append(p)
        length_s += once_s
    return [*units, _unit(cell, launch, part)] if part else units


def runs_of(predicted_s: float) -> int:
    return next(runs for limit, runs in RUNS if predicted_s <= limit)


def _unit(cell: Cell, launch: int, points: Sequence[int]) -> Unit:
    return Unit(cell, launch, tuple(points), runs_of(cell.points[points[0]].predicted_s))


class Recorder:
    """Fills a grid's cells, launch by launch."""

    def __init__(
        self, grid: RecordedGrid, path: Path, options: RecordOptions, time_trials: TimeTrials
    ) -> None:
        self.grid = grid
        self.path = path
        self.options = options
        self.time_trials = time_trials

    def pending(self) -> list[Unit]:
        """Of the cells asked for, those of the first launch that lacks any."""
        cells = [cell for op, size in self.options.cells() if (cell := self.grid.cell(op, size))]
        for number in range(self.options.launches):
            units = [unit for cell in cells for unit in units_of(cell, number)]
            if units:
                return units
        return []

    def record(self, budget_s: float, clock: Callable[[], float] = time.monotonic) -> list[Unit]:
        """Starts the ranks as often as launches and the budget want it; what is left of the launch that it ends in."""
        began = clock()
        for op, size in self.options.cells():
            if self.grid.cell(op, size) is None:
                self.grid.cells.append(make_cell(self.grid, op, size, self.options))
                write_grid(self.path, self.grid)
        while (units := self.pending()) and (left_s := budget_s - (clock() - began)) > 0:
            timed = self.time_trials([unit.trial() for unit in units], left_s)
            if not timed:
                raise CorruptFile("a start of the ranks timed nothing")
            for unit, times in zip(units, timed, strict=False):
                unit.take(times)
            write_grid(self.path, self.grid)
        return self.pending()


def record_lab(
    description: Description, library: str, placement: str, path: Path, options: RecordOptions,
    budget_s: float, console: Console,
) -> tuple[RecordedGrid, list[Unit]]:  # fmt: skip
    """Goes on with the file if it is there; else measures the network first."""
    with Lab(description, library=library, placement=placement) as lab, rank_progress(console) as progress:
        place = jobs.LabPlace(lab)
        wanted = {
            "lab": description.name,
            "digest": description.digest(),
            "library": library,
            "placement": placement,
        }
        if path.exists():
            grid = read_grid(path)
            if grid.place != wanted:
                raise InvalidArgument(
                    f"{path} was recorded of {grid.place}, not of {wanted}; choose another file"
                )
        else:
            grid = measured_grid(
                place, lab.hosts_of_ranks, wanted, options, progress("measuring the network")
            )
        watch = progress(f"recording {library}, {placement}")

        def timer(trials: Sequence[dict[str, Any]], left_s: float) -> list[dict[str, Any]]:
            with jobs.scratch("network") as folder:
                file = folder / "network.json"
                file.write_text(grid.network_text(), encoding="utf-8")
                # A start that would be killed for its length ends well before.
                stop_s = min(left_s, 0.8 * options.timeout_s)
                return time_trials(
                    place, file, trials, ["--stop-after", f"{stop_s:g}"], options.timeout_s, watch
                )

        left = Recorder(grid, path, options, timer).record(budget_s)
    return grid, left


def measured_grid(
    place: jobs.LabPlace, hosts_of_ranks: Sequence[str], wanted: dict[str, Any], options: RecordOptions,
    watch: Callable[[str], None],
) -> RecordedGrid:  # fmt: skip
    """A grid without cells, of the network as it is measured now."""
    with jobs.scratch("network") as folder:
        file = folder / "network.json"
        began = time.monotonic()
        characterize_place(place, file, None, options.timeout_s, watch, remembered="left")
        took_s = time.monotonic() - began
        text = file.read_text(encoding="utf-8")
    network = {**without_samples(json.loads(text)), "pairs": [], "concurrent": []}
    return RecordedGrid(network, hosts_in_network(text, hosts_of_ranks, file), wanted, took_s, provenance())


def describe(grid: RecordedGrid, left: Sequence[Unit]) -> str:
    """What a file holds, and what it does not."""
    lines = []
    for cell in grid.cells:
        slow = sum(one["why"] == "predicted to be too slow" for one in cell.left_out)
        spent = sum(launch.took_s for launch in cell.launches)
        lines.append(
            f"{cell.collective} {cell.bytes} B: {len(cell.points)} points of {len(cell.forms)} forms, "
            f"{len(cell.launches)} launches, {seconds_text(spent) if spent else 'nothing yet'}; left out: "
            f"{slow} predicted to be too slow (beyond {cell.most_times:g} times the best), "
            f"{len(cell.left_out) - slow} that cannot run"
        )
    lines.append(f"{len(left)} parts of this launch are left: run it again" if left else "complete")
    return "\n".join(lines)
