"""Plans made offline, by eco-rank tune on the ranks of a place."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console

from eco import jobs
from eco.needs import Need
from eco.report.progress import rank_progress
from eco.report.records import seconds_text

#: A plan gets at least so much, whatever measuring the network took: less measures nothing.
LEAST_S = 1.0


def tune_needs(
    place: jobs.Place,
    needs: Sequence[Need],
    timeout_s: float | None,
    console: Console,
    budget_s: float | None = None,
) -> float:
    """tune_place() for each operation that a program needs, the heaviest first, each with its share of a budget."""
    began, left = time.monotonic(), sum(need.seconds for need in needs)
    for need in needs:
        rest_s = None if budget_s is None else budget_s - (time.monotonic() - began)
        share_s = None if rest_s is None else max(LEAST_S, rest_s * need.seconds / left)
        left -= need.seconds
        tune_place(place, need.grid.words(), timeout_s, console, share_s)
    return time.monotonic() - began


def tune_place(
    place: jobs.Place, grid_words: Sequence[str], timeout_s: float | None, console: Console,
    budget_s: float | None = None,
) -> float:  # fmt: skip
    """Network and plan of this placement into the cache, so that no job measures; seconds that it took.

    With a budget the plan gets what the network leaves of it: what is remembered is kept, what it does not suffice for
    is left to the next time.

    Two jobs: measuring a network fills its queues, and TCP connections that lost packets then time candidates
    as no program will find them.
    """
    started = time.monotonic()
    with jobs.scratch("tune") as folder, rank_progress(console) as progress:
        what = f"tuning {place.library}, {place.placement}"
        watch = progress(what)
        for task in (["--network-only"], [*grid_words, "--out", str(folder / "plan.json")]):
            words = [place.rank_program(), "tune", *task, "--progress"]
            if budget_s is not None and task[0] != "--network-only":
                words += ["--budget", f"{max(LEAST_S, budget_s - (time.monotonic() - started)):g}"]
            ended = place.start(place.stock(words), timeout_s, watch)
            jobs.check(ended, what, "programs go on without a plan, or with the one they have")
    seconds = time.monotonic() - started
    console.print(f"{what} took {seconds_text(seconds)}: network and plan are remembered", highlight=False)
    return seconds
