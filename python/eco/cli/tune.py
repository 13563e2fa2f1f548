"""`eco tune`: find the plan for the ranks of a launcher, offline.

    eco tune -- mpirun -n 8                             all operations
    eco tune --ops broadcast,allgather -- mpirun -n 8   what a program uses, in less time
    eco tune --profile profile.json -- mpirun -n 8      the same as `eco profile --json` saw it, by the time it takes
    eco tune --budget 60 -- mpirun -n 8                 a minute's worth; again, and it goes on
    eco tune --effort estimate --out plan.json -- ...   what the predictor would choose, in seconds

A job measures within a budget of seconds and uses what it had time for. This takes the time it needs, for the same
ranks on the same hosts, and remembers network and plan for every later job placed like this one. Whatever ends it, what
was measured is kept, and the same command goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eco import jobs
from eco import profile as profiles
from eco.cli.options import JobTimeout, LauncherPrefix, Library, output_file
from eco.errors import InvalidArgument
from eco.needs import needs_of, seconds_elsewhere
from eco.report.progress import make_console
from eco.report.records import parse_ops, parse_sizes, seconds_text, size_text
from eco.tune import EFFORTS, Part, TuneOptions, tune_place


class Effort(StrEnum):
    """FFTW's ladder."""

    ESTIMATE, MEASURE, EXHAUSTIVE = EFFORTS


def tune_words(
    words: Sequence[str],
    library: str | None,
    ops: str,
    sizes: str | None,
    console: Console,
    options: TuneOptions,
) -> float:
    """What the command does, without a shell; seconds that it took."""
    place = jobs.launcher_place(words, library, "eco tune")
    grid_words = ["--ops", ",".join(parse_ops(ops))]
    if sizes:
        grid_words += ["--sizes", ",".join(map(str, parse_sizes(sizes)))]
    return tune_place(place, [Part(grid_words)], console, options)


def tune_profile(
    words: Sequence[str], library: str | None, profile: Path, console: Console, options: TuneOptions
) -> float:
    """What `--profile` does, without a shell; seconds that it took."""
    found = profiles.read_written(profile)
    needs = needs_of(found.rows, found.ranks)
    for ranks, seconds in seconds_elsewhere(found.rows, found.ranks).items():
        console.print(f"communicators of {ranks} ranks: {seconds_text(seconds / found.ranks)} of the mean rank, "
                      "left to the job, which plans within its budget",
                      highlight=False)  # fmt: skip
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
    return tune_place(place, parts, console, options)


def tune(
    command: LauncherPrefix,
    library: Library = None,
    ops: Annotated[str, typer.Option(help="operations to plan for, or all")] = "all",
    sizes: Annotated[
        str | None, typer.Option(help="bytes to plan for, like 8,16KiB,1MiB (ten from 8 B to 4 MiB)")
    ] = None,
    effort: Annotated[
        Effort,
        typer.Option(
            help="estimate: by prediction, nothing is measured or remembered, --out has it; measure: search and "
            "measure; exhaustive: measure every recipe with every segment, which takes hours"
        ),
    ] = Effort.MEASURE,
    anew: Annotated[
        bool, typer.Option("--anew", help="also what is remembered with as much effort already")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(help="seconds in all; what they do not suffice for is left to the next time", min=1),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(help="what this profile says takes the time (eco profile --json)", metavar="FILE"),
    ] = None,
    out: Annotated[Path | None, output_file("write the plan there too, for ECO_PLAN or eco explain")] = None,
    timeout: JobTimeout = None,
) -> None:
    """Find the plan for a launcher's ranks offline, taking the time it needs, and remember it."""
    options = TuneOptions(effort.value, anew, budget, timeout, out)
    if effort is Effort.ESTIMATE and not out:
        raise InvalidArgument("--effort estimate remembers nothing: say with --out where the plan is wanted")
    if profile:
        if ops != "all" or sizes:
            raise InvalidArgument(
                "--profile says which operations and sizes; give no --ops or --sizes with it"
            )
        if effort is Effort.ESTIMATE:
            raise InvalidArgument("--profile has each operation tuned by itself; an estimate is one file")
        tune_profile(command, library, profile, make_console(), options)
        return
    tune_words(command, library, ops, sizes, make_console(), options)
