"""`eco bench`: stock against ECO per operation, in interleaved launches.

    eco bench -- mpirun -n 8                                             on the hosts of a launcher
    eco bench --lab three-subnets --library openmpi,mpich --placement block,shuffled:1 --json results.json

docs/benchmarking.md states the estimator, what counts as slower, and what the bound is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eco.bench import Outcome, bench_lab, bench_launcher
from eco.cli.options import (
    LAB_LIBRARIES,
    LabOrLauncher,
    LabPlacements,
    LauncherPrefixOrLab,
    LaunchTimeout,
    Ops,
    Sizes,
    output_file,
    output_picture,
    words_of,
)
from eco.errors import EcoError, InvalidArgument
from eco.lab import load
from eco.pairs import BenchOptions
from eco.report import table
from eco.report.progress import make_console
from eco.report.records import DEFAULT_SIZES, parse_ops, parse_sizes


def finish(outcome: Outcome, json_file: Path | None, picture_file: Path | None, console: Console) -> int:
    """Writes and shows what was measured; the exit code."""
    if not outcome.results.records:
        raise EcoError("nothing was measured to the end, so nothing is written")
    if json_file:
        outcome.results.write(json_file)
    if picture_file:
        from eco.report import picture  # plotly takes its time, which other calls need not wait for

        write = picture.write_svg if picture_file.suffix == ".svg" else picture.write_html
        write(outcome.results, picture_file)
    table.show(outcome.results, console)
    for text in outcome.slower:
        console.print(f"measurably slower: {text}", highlight=False, style="red")
    for text in outcome.violations:
        console.print(f"below the bound, so the measurement is wrong: {text}", highlight=False, style="red")
    if outcome.ended_early:
        console.print(f"not everything was measured: {outcome.ended_early}", highlight=False, style="red")
    return outcome.exit_code


def bench(
    command: LauncherPrefixOrLab = None,
    lab: LabOrLauncher = None,
    library: Annotated[
        str | None,
        typer.Option(help=f"in the lab: {LAB_LIBRARIES}; a list (openmpi,mpich); with srun: which it starts"),
    ] = None,
    placement: LabPlacements = "block",
    ops: Ops = "broadcast,allreduce",
    sizes: Sizes = DEFAULT_SIZES,
    launches: Annotated[int, typer.Option(help="pairs of launches")] = 3,
    ranks: Annotated[int | None, typer.Option(help="in the lab: how many ranks (all)")] = None,
    min_reps: Annotated[int, typer.Option(help="timed calls of a cell in a launch, at least")] = 5,
    max_seconds: Annotated[
        float, typer.Option(help="seconds for a cell in a launch, beyond --min-reps")
    ] = 1.0,
    json: Annotated[Path | None, output_file("write records and samples")] = None,
    picture: Annotated[Path | None, output_picture("write F.html or F.svg")] = None,
    no_tune: Annotated[
        bool, typer.Option("--no-tune", help="let the launches find or measure the network")
    ] = False,
    suspects: Annotated[
        bool,
        typer.Option("--suspects", help="start cells that look slower again, 12 times; exit 1 if they are"),
    ] = False,
    timeout: LaunchTimeout = 600.0,
) -> None:
    """Time stock against ECO per operation, in interleaved launches.

    Exits with 1 where a time is below the bound of the emulated network, where the run ended early (what was
    measured is kept), or, with --suspects (6 launches at least), where ECO is slower.
    """
    console = make_console()
    options = BenchOptions(
        parse_ops(ops),
        parse_sizes(sizes),
        launches=launches,
        min_reps=min_reps,
        max_seconds=max_seconds,
        tune=not no_tune,
        timeout_s=timeout,
    )
    if bool(lab) == bool(command):
        raise InvalidArgument(
            "give either --lab F.toml, or a launcher after --, like: eco bench -- mpirun -n 8"
        )
    if lab:
        outcome = bench_lab(
            load(lab),
            words_of(library or "openmpi,mpich"),
            words_of(placement),
            options,
            suspects,
            console,
            ranks,
        )
    else:
        outcome = bench_launcher(command or [], library, options, suspects, console)
    raise typer.Exit(finish(outcome, json, picture, console))
