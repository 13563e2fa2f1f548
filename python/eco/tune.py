"""Plans made offline, by eco-rank tune on the ranks of a place.

tune_place(place, [Part(["--ops", "broadcast"])], console, TuneOptions(budget_s=60))
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from eco import jobs, plans
from eco.errors import EcoError
from eco.report.progress import rank_progress
from eco.report.records import seconds_text, write_text

#: A plan gets at least so much, whatever measuring the network took: less measures nothing.
LEAST_S = 1.0

#: FFTW's ladder, as `eco-rank tune` knows it. Jobs do a step of their own between the first two.
EFFORTS = ("estimate", "measure", "exhaustive")
ESTIMATE, MEASURE, _ = EFFORTS


class InterruptedTuning(EcoError):  # noqa: N818 - no fault of anybody's
    """It was ended early; what it has measured is kept."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number  # as a shell says it


@dataclass(frozen=True)
class Part:
    """What one job of eco-rank plans, and its share of a budget."""

    words: Sequence[str]  # --ops and --sizes
    weight: float = 1.0


@dataclass(frozen=True)
class TuneOptions:
    """How a place is tuned."""

    effort: str = MEASURE
    anew: bool = False  # also what is remembered with as much effort
    budget_s: float | None = None  # in all
    timeout_s: float | None = None  # of each job
    out: Path | None = None  # where the table is wanted too; the last part's has all that is remembered

    def words(self) -> list[str]:
        return ["--effort", self.effort, *(["--anew"] if self.anew else [])]

    def goes_on(self) -> str:
        """What is left where it ends early."""
        # eco bench tunes anew too.
        command = "eco tune without --anew" if self.anew else "the same command"
        return f"what was measured is remembered, and {command} goes on from there"


def tune_place(
    place: jobs.Place, parts: Sequence[Part], console: Console, options: TuneOptions | None = None
) -> float:
    """Network and plan of this placement into the cache, so that no job measures; seconds that it took.

    What is remembered with as much effort is kept, and everything that is measured is remembered at once: what a budget
    does not suffice for, or an interrupt or a killed job leaves, the next time goes on with. With a budget each part
    gets its share of what is left of it then. An estimate measures nothing, and is remembered nowhere.

    The network is a job of its own: measuring it fills its queues, and TCP connections that lost packets then time
    candidates as no program will find them.
    """
    how = options or TuneOptions()
    started = time.monotonic()
    what = f"tuning {place.library}, {place.placement}"
    left = sum(part.weight for part in parts)
    with jobs.scratch("tune") as folder, rank_progress(console) as progress:
        watch = progress(what)

        def run(task: Sequence[str]) -> None:
            command = place.stock([place.rank_program(), "tune", *task, "--progress"])
            ended = place.start(command, how.timeout_s, watch)
            jobs.check(ended, what, how.goes_on())

        try:
            if how.effort != ESTIMATE:
                run(["--network-only"])
            for part in parts:
                task = [*part.words, *how.words(), "--out", str(folder / "plan.json")]
                if how.budget_s is not None:
                    rest_s = how.budget_s - (time.monotonic() - started)
                    task += ["--budget", f"{max(LEAST_S, rest_s * part.weight / left):g}"]
                left -= part.weight
                run(task)
        except KeyboardInterrupt as interrupt:
            number = signal.SIGTERM if isinstance(interrupt, jobs.Terminated) else signal.SIGINT
            raise InterruptedTuning(f"{what} was interrupted: {how.goes_on()}", number) from interrupt
        plan = (folder / "plan.json").read_text()
        if how.out is not None:
            write_text(how.out, plan)
    seconds = time.monotonic() - started
    outcome = "nothing was measured" if how.effort == ESTIMATE else "network and plan are remembered"
    if how.out is not None:
        outcome += f", the plan is in {how.out}"
    cells = plans.in_words(json.loads(plan))
    console.print(
        f"{what} took {seconds_text(seconds)}: {outcome}; {cells}",
        highlight=False,
        soft_wrap=True,
    )
    return seconds
