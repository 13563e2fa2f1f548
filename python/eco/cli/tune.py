"""`eco tune`: find the plan for the ranks of a launcher, offline.

    eco tune -- mpirun -n 8                             all operations
    eco tune --ops broadcast,allgather -- mpirun -n 8   what a program uses, in less time

A job measures within a budget of seconds and uses what it had time for. This takes the time it needs, for the same
ranks on the same hosts, and remembers network and plan for every later job placed like this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from eco import jobs, launch
from eco.bench import tune as tune_place
from eco.report.progress import make_console
from eco.report.records import parse_ops, parse_sizes


def tune_words(
    words: Sequence[str],
    library: str | None,
    ops: str,
    sizes: str | None,
    timeout_s: float | None,
    console: Console,
) -> float:
    """What the command does, without a shell; seconds that it took."""
    line = launch.parse_bare_prefix(words, "eco tune")
    grid_words = ["--ops", ",".join(parse_ops(ops))]
    if sizes:
        grid_words += ["--sizes", ",".join(map(str, parse_sizes(sizes)))]
    return tune_place(jobs.LauncherPlace(line, library), grid_words, timeout_s, console)


def tune(
    command: Annotated[
        list[str], typer.Argument(help="launcher and options, after --", metavar="-- LAUNCHER ...")
    ],
    library: Annotated[str | None, typer.Option(help="with srun: openmpi, mpich or mpi-abi")] = None,
    ops: Annotated[str, typer.Option(help="operations to plan for, or all")] = "all",
    sizes: Annotated[
        str | None, typer.Option(help="bytes to plan for, like 8,16KiB,1MiB (ten from 8 B to 4 MiB)")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="end the job after this many seconds")] = None,
) -> None:
    """Find the plan for a launcher's ranks offline, taking the time it needs, and remember it."""
    tune_words(command, library, ops, sizes, timeout, make_console())
