"""The tuner's searches on recorded grids: what each costs, and how much worse than the best its answer is.

    outcome = search_cell(cell, launch=0, searcher=paper_search("smgd", repeats=3))
    outcome.seconds, regret(cell, outcome.best, held_out=(1, 2))

Costs are those of measuring live: every run's seconds, the run that checks a recipe's result before its first, and what
beginning together takes beyond the calls (recorded with the grid). Read `search_cell` first.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eco import _core, stats
from eco.grids import Cell, CellLaunch

#: A form's name, and the segment and prediction of its points: the largest segment first.
Forms = list[tuple[str, list[tuple[int, float]]]]
Asked = tuple[int, int]  # form, point
Oracle = Callable[[Sequence[Asked], int], list[list[float]] | None]
#: Of bytes, forms and an oracle the search's answer (`_core.tune_by`).
Searcher = Callable[[int, Forms, Oracle], dict[str, Any]]


@dataclass(frozen=True)
class Space:
    """A cell as searches see it; `index` finds its points again."""

    bytes: int
    forms: Forms
    index: list[list[int]]  # of each form, of each of its points: index into Cell.points

    @staticmethod
    def of(cell: Cell) -> Space:
        forms: Forms = []
        index: list[list[int]] = []
        for number, name in enumerate(cell.forms):
            mine = [p for p, point in enumerate(cell.points) if point.form == number]
            mine.sort(key=lambda p: -(cell.points[p].segment or 2 * cell.bytes + 1))
            if mine:
                forms.append((name, [(cell.points[p].segment, cell.points[p].predicted_s) for p in mine]))
                index.append(mine)
        return Space(cell.bytes, forms, index)

    def point(self, asked: Asked) -> int:
        return self.index[asked[0]][asked[1]]


@dataclass
class Bench:
    """An oracle that answers from one launch of a recorded cell, and keeps account of what that would have taken.

    A point that was recorded less often than it is asked for repeats its runs; all are charged.
    """

    cell: Cell
    launch: CellLaunch
    space: Space
    budget_s: float = float("inf")
    seconds: float = 0.0
    asked_s: float = 0.0  # of it in this oracle itself, which is no part of a search's computing
    after: list[float] = field(default_factory=list)  # seconds spent after each question's each point
    _runs: dict[int, int] = field(default_factory=dict)

    def __call__(self, asked: Sequence[Asked], times: int) -> list[list[float]] | None:
        began = time.perf_counter()
        answers = []
        if self.seconds >= self.budget_s:
            return None
        for one in asked:
            p = self.space.point(one)
            recorded = self.launch.seconds[p]
            done = self._runs.get(p, 0)
            runs = [recorded[(done + i) % len(recorded)] for i in range(times)] if recorded else []
            self._runs[p] = done + times
            self.seconds += sum(runs) + self.launch.overhead_s() * times
            if done == 0:  # its result is checked, untimed
                once = runs[0] if runs else self.cell.points[p].predicted_s
                self.seconds += once + self.launch.overhead_s()
            answers.append(runs)
        self.after += [self.seconds] * len(asked)
        self.asked_s += time.perf_counter() - began
        return answers


@dataclass(frozen=True)
class Searched:
    """One search of one cell in one launch."""

    best: int  # index into Cell.points
    seconds: float  # of measuring
    computing_s: float
    points: int  # measured
    runs: int
    curve: list[tuple[float, int]]  # seconds after which this point was the best one known
    ended: str


def paper_search(name: str, repeats: int, **options: Any) -> Searcher:
    """linear, mgd or smgd."""

    def search(size: int, forms: Forms, oracle: Oracle) -> dict[str, Any]:
        return dict(json.loads(_core.tune_by(name, size, forms, oracle, repeats, **options)))

    return search


def guided_search(repeats: int, guided: _core.Guided | None = None, **options: Any) -> Searcher:
    """The model-guided one; what `guided` learns in one cell it knows in the next."""
    guided = guided or _core.Guided()

    def search(size: int, forms: Forms, oracle: Oracle) -> dict[str, Any]:
        return dict(json.loads(guided.tune(size, forms, oracle, repeats, **options)))

    return search


def shortlist_search(repeats: int, how_many: int = 5) -> Searcher:
    """The points that are predicted best and no others: what a planner does that trusts its predictions."""

    def search(size: int, forms: Forms, oracle: Oracle) -> dict[str, Any]:
        listed = [(point[1], (f, p)) for f, (_, points) in enumerate(forms) for p, point in enumerate(points)]
        medians: dict[Asked, float] = {}
        steps: list[dict[str, Any]] = []
        for _, asked in sorted(listed)[:how_many]:
            answer = oracle([asked], repeats)
            if answer is None:
                break
            if answer[0]:
                medians[asked] = stats.median(answer[0])
            best = min(medians, key=lambda one: medians[one]) if medians else None
            steps.append({"asked": asked, "runs": repeats, "best": best})
        return {"best": steps[-1]["best"], "steps": steps, "ended": "all measured"}

    return search


def search_cell(cell: Cell, launch: int, searcher: Searcher, budget_s: float = float("inf")) -> Searched:
    """Searches one launch's times."""
    space = Space.of(cell)
    oracle = Bench(cell, cell.launch(launch), space, budget_s)
    began = time.perf_counter()
    answer = searcher(space.bytes, space.forms, oracle)
    computing_s = time.perf_counter() - began - oracle.asked_s
    curve: list[tuple[float, int]] = []
    for seconds, step in zip(oracle.after, answer["steps"], strict=True):
        best = step["best"]
        if best is not None and (not curve or curve[-1][1] != space.point(best)):
            curve.append((seconds, space.point(best)))
    return Searched(
        space.point(answer["best"]), oracle.seconds, computing_s,
        len({tuple(step["asked"]) for step in answer["steps"]}), sum(step["runs"] for step in answer["steps"]),
        curve, answer["ended"],
    )  # fmt: skip


def regret(cell: Cell, point: int, searched_in: int) -> float:
    """What the point takes longer than the oracle's choice, as a share, in launches that the search has not seen.

    The oracle, the best of all points, is chosen on one of these and both are scored on another, so that luck in a
    launch gains it nothing; the mean over all such pairs of launches.
    """
    held_out = [launch for launch in cell.launches if launch.number != searched_in]
    shares = []
    for choosing, scoring in itertools.permutations(held_out, 2):
        known = [p for p in range(len(cell.points)) if choosing.seconds[p] and scoring.seconds[p]]
        best = min(known, key=lambda p: stats.median(choosing.seconds[p]))
        if scoring.seconds[point]:
            shares.append(stats.median(scoring.seconds[point]) / stats.median(scoring.seconds[best]) - 1)
    if not shares:
        raise ValueError(f"{cell.problem}: no two launches besides {searched_in} to score on")
    return float(np.mean(shares))


def seconds_to(curve: Sequence[tuple[float, float]], target: float) -> float | None:
    """Of a curve (seconds, regret): from when on the regret stays at or below the target; None if it does not."""
    reached: float | None = None
    for seconds, value in curve:
        if value > target:
            reached = None
        elif reached is None:
            reached = seconds
    return reached


def left_out_s(cell: Cell, repeats: int, overhead_s: float) -> float:
    """What a linear search would spend on the points that were not recorded, as predicted."""
    return float(
        sum(
            (one["predicted_s"] + overhead_s) * (repeats + 1)
            for one in cell.left_out
            if one["predicted_s"] is not None
        )
    )
