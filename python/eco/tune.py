"""Plans made offline, by eco-rank tune on the ranks of a place.

tune_place(place, [Part(["--ops", "broadcast"])], None, console)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from eco import jobs
from eco.report.progress import rank_progress
from eco.report.records import seconds_text

#: A plan gets at least so much, whatever measuring the network took: less measures nothing.
LEAST_S = 1.0


@dataclass(frozen=True)
class Part:
    """What one job of eco-rank plans, and its share of a budget."""

    words: Sequence[str]  # --ops and --sizes
    weight: float = 1.0


def tune_place(
    place: jobs.Place, parts: Sequence[Part], timeout_s: float | None, console: Console,
    budget_s: float | None = None,
) -> float:  # fmt: skip
    """Network and plan of this placement into the cache, so that no job measures; seconds that it took.

    With a budget each part gets its share of what is left of it then: what is remembered is kept, what it does not
    suffice for is left to the next time.

    The network is a job of its own: measuring it fills its queues, and TCP connections that lost packets then time
    candidates as no program will find them.
    """
    started = time.monotonic()
    what = f"tuning {place.library}, {place.placement}"
    left = sum(part.weight for part in parts)
    with jobs.scratch("tune") as folder, rank_progress(console) as progress:
        watch = progress(what)

        def run(task: Sequence[str]) -> None:
            ended = place.start(
                place.stock([place.rank_program(), "tune", *task, "--progress"]), timeout_s, watch
            )
            jobs.check(ended, what, "programs go on without a plan, or with the one they have")

        run(["--network-only"])
        for part in parts:
            task = [*part.words, "--out", str(folder / "plan.json")]
            if budget_s is not None:
                rest_s = budget_s - (time.monotonic() - started)
                task += ["--budget", f"{max(LEAST_S, rest_s * part.weight / left):g}"]
            left -= part.weight
            run(task)
    seconds = time.monotonic() - started
    console.print(f"{what} took {seconds_text(seconds)}: network and plan are remembered", highlight=False)
    return seconds
