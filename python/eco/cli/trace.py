"""`eco trace`: what every rank does when, predicted and traced, one above the other.

    eco trace --lab three-subnets --op broadcast --size 1MiB --picture trace.html
    eco trace --network network.json --op allreduce --recipe "allreduce/ring segment=8192" -- mpirun -n 8

A recipe runs some times on the ranks; of the run in the middle each send, receive, combine and copy is shown beside its
prediction, with a table of the ranks whose end was predicted worst.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eco import jobs
from eco.characterize import Remembered, characterize_place, describe
from eco.cli.options import (
    LabOrLauncher,
    LabOrSrunLibrary,
    LauncherPrefixOrLab,
    Root,
    output_file,
    output_picture,
)
from eco.collectives import check_known
from eco.errors import InvalidArgument
from eco.lab import Lab, load
from eco.report import trace_bars, trace_view
from eco.report.progress import make_console, rank_progress
from eco.report.records import parse_size, seconds_text
from eco.trace import TracedRun, TraceOptions, trace_place


@contextlib.contextmanager
def place_of(
    lab: str | None, command: Sequence[str] | None, library: str | None, placement: str, ranks: int | None
) -> Iterator[jobs.Place]:
    """The lab, brought up, or the ranks of a launcher."""
    if bool(lab) == bool(command):
        raise InvalidArgument(
            "give either --lab F.toml, or a launcher after --, like: eco trace -- mpirun -n 8"
        )
    if lab:
        with Lab(load(lab), library=library or "openmpi", placement=placement, n_ranks=ranks) as network:
            yield jobs.LabPlace(network)
        return
    yield jobs.launcher_place(list(command or ()), library, "eco trace")


def show(run: TracedRun, console: Console) -> None:
    """The table, and the call as a whole."""
    console.print(trace_view.table(run))
    share = run.predicted_s / run.traced_s - 1 if run.traced_s > 0 else 0.0
    console.print(
        f"predicted {seconds_text(run.predicted_s)}, traced {seconds_text(run.traced_s)}, "
        f"{trace_bars.which_run(run)}: {100 * share:+.1f} %; {run.library}",
        highlight=False,
    )


def trace(
    command: LauncherPrefixOrLab = None,
    lab: LabOrLauncher = None,
    op: Annotated[str, typer.Option(help="which operation, like allgather")] = "broadcast",
    size: Annotated[str, typer.Option(help="like 16KiB or 1MiB")] = "1MiB",
    recipe: Annotated[
        str | None, typer.Option(help="run this one; else the one predicted to be fastest")
    ] = None,
    root: Root = 0,
    library: LabOrSrunLibrary = None,
    placement: Annotated[str, typer.Option(help="in the lab: block, round-robin, shuffled:SEED")] = "block",
    ranks: Annotated[int | None, typer.Option(help="in the lab: how many ranks (all)", min=1)] = None,
    network: Annotated[
        Path | None,
        typer.Option(
            help="a network file of these hosts; else the one that is remembered of them, else it is measured",
            metavar="FILE",
        ),
    ] = None,
    plogp: Annotated[
        bool, typer.Option("--plogp", help="measure the network, and pLogP for the eager limit (minutes)")
    ] = False,
    runs: Annotated[
        int, typer.Option(help="how often it runs; the one in the middle is shown", min=1, max=1000)
    ] = 9,
    picture: Annotated[
        Path | None, output_picture("write both charts, as .html with the table or as .svg")
    ] = None,
    json: Annotated[Path | None, output_file("write every operation, for a program to read")] = None,
    timeout: Annotated[float, typer.Option(help="seconds that one launch may take")] = 300.0,
) -> None:
    """Run a recipe and say, or with --picture draw, what every rank does when, as predicted and as it happened."""
    check_known(op)
    options = TraceOptions(op, parse_size(size), root, recipe, runs, timeout)
    console = make_console()
    with (
        place_of(lab, command, library, placement, ranks) as place,
        jobs.scratch("network") as folder,
        rank_progress(console) as progress,
    ):
        file = network or folder / "network.json"
        if network is None:
            watch = progress("measuring the network")
            remembered: Remembered = "left" if plogp else "used"
            known = characterize_place(place, file, None, timeout, watch, plogp, remembered)
            console.print(f"{describe(known)}, measured {known['measured_at']}", highlight=False)
        run = trace_place(place, file, options)
    if picture:
        trace_view.write(run, picture)
        console.print(f"written: {picture}", highlight=False)
    if json:
        run.write(json)
        console.print(f"written: {json}", highlight=False)
    show(run, console)
    if not picture:
        console.print("--picture trace.html draws every operation", highlight=False)
