"""`eco tune`: find the plan for the ranks of a launcher, offline.

    eco tune -- mpirun -n 8                             all operations
    eco tune --ops broadcast,allgather -- mpirun -n 8   what a program uses, in less time
    eco tune --profile profile.json -- mpirun -n 8      the same as `eco profile --json` saw it, by the time it takes
    eco tune --budget 60 -- mpirun -n 8                 a minute's worth; again, and it goes on

A job measures within a budget of seconds and uses what it had time for. This takes the time it needs, for the same
ranks on the same hosts, and remembers network and plan for every later job placed like this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eco import jobs
from eco import profile as profiles
from eco.cli.options import JobTimeout, LauncherPrefix, Library
from eco.errors import InvalidArgument
from eco.needs import needs_of
from eco.report.progress import make_console
from eco.report.records import parse_ops, parse_sizes, seconds_text, size_text
from eco.tune import Part, tune_place


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
    return tune_place(place, [Part(grid_words)], timeout_s, console, budget_s)


def tune_profile(
    words: Sequence[str],
    library: str | None,
    profile: Path,
    timeout_s: float | None,
    console: Console,
    budget_s: float | None = None,
) -> float:
    """What `--profile` does, without a shell; seconds that it took."""
    found = profiles.read_written(profile)
    needs = needs_of(found.rows, found.ranks)
    if not needs:
        raise InvalidArgument(
            f"{profile}: no collective of all {found.ranks} ranks that a plan could change; "
            "eco profile --json writes what a program calls"
        )
    place = jobs.launcher_place(words, library, "eco tune")
    for need in needs:
        sizes = ", ".join(size_text(size) for _, size in need.grid.cells() if size)
        console.print(f"{need.grid.ops[0]} {sizes}: {seconds_text(need.seconds / found.ranks)} of the mean rank",
                      highlight=False)  # fmt: skip
    parts = [Part(need.grid.words(), need.seconds) for need in needs]
    return tune_place(place, parts, timeout_s, console, budget_s)


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
    profile: Annotated[
        Path | None,
        typer.Option(help="what this profile says takes the time (eco profile --json)", metavar="FILE"),
    ] = None,
    timeout: JobTimeout = None,
) -> None:
    """Find the plan for a launcher's ranks offline, taking the time it needs, and remember it."""
    if profile:
        if ops != "all" or sizes:
            raise InvalidArgument(
                "--profile says which operations and sizes; give no --ops or --sizes with it"
            )
        tune_profile(command, library, profile, timeout, make_console(), budget)
        return
    tune_words(command, library, ops, sizes, timeout, make_console(), budget)
