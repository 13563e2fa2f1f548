"""`eco tune`: find the plan for the ranks of a launcher, offline.

    eco tune -- mpirun -n 8                             all operations
    eco tune --ops broadcast,allgather -- mpirun -n 8   what a program uses, in less time
    eco tune --budget 60 -- mpirun -n 8                 a minute's worth; again, and it goes on

A job measures within a budget of seconds and uses what it had time for. This takes the time it needs, for the same
ranks on the same hosts, and remembers network and plan for every later job placed like this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from eco import jobs
from eco.cli.options import JobTimeout, LauncherPrefix, Library
from eco.report.progress import make_console
from eco.report.records import parse_ops, parse_sizes
from eco.tune import tune_place


def tune_words(
    words: Sequence[str],
    library: str | None,
    ops: str,
    sizes: str | None,
    timeout_s: float | None,
    console: Console,
    budget_s: float | None = None,
) -> float:
    """What the command does, without a shell; seconds that it took."""
    place = jobs.launcher_place(words, library, "eco tune")
    grid_words = ["--ops", ",".join(parse_ops(ops))]
    if sizes:
        grid_words += ["--sizes", ",".join(map(str, parse_sizes(sizes)))]
    return tune_place(place, grid_words, timeout_s, console, budget_s)


def tune(
    command: LauncherPrefix,
    library: Library = None,
    ops: Annotated[str, typer.Option(help="operations to plan for, or all")] = "all",
    sizes: Annotated[
        str | None, typer.Option(help="bytes to plan for, like 8,16KiB,1MiB (ten from 8 B to 4 MiB)")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="seconds in all; what they do not suffice for is left to the next time", min=1),
    ] = None,
    timeout: JobTimeout = None,
) -> None:
    """Find the plan for a launcher's ranks offline, taking the time it needs, and remember it."""
    tune_words(command, library, ops, sizes, timeout, make_console(), budget)
