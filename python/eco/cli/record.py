"""`eco record`: time every form and segment of some operations on an emulated network, for the tuner's benchmark.

    eco record bench/grids/three-subnets-openmpi.json.xz --lab three-subnets --ops broadcast,scatter --budget 400

Run it again until it says that the file is complete; docs/tuning.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eco.cli.options import LabLibrary, LaunchTimeout, MostTimes, Ops, Sizes, output_argument
from eco.errors import InvalidArgument
from eco.lab import load
from eco.record import RecordOptions, describe, record_lab
from eco.report.progress import make_console
from eco.report.records import parse_ops, parse_size, parse_sizes


def record(
    file: Annotated[Path, output_argument("the grid; what it holds already is not measured again")],
    lab: Annotated[str, typer.Option(help="an emulated network: a TOML file or a shipped name")],
    library: LabLibrary = "openmpi",
    placement: Annotated[str, typer.Option(help="block, round-robin, shuffled:SEED")] = "block",
    ops: Ops = "broadcast,scatter,reduce,allreduce,allgather,alltoall",
    sizes: Sizes = "8,1KiB,16KiB,128KiB,1MiB",
    launches: Annotated[int, typer.Option(help="starts of the ranks; searches are scored on others")] = 3,
    most_times: MostTimes = 20.0,
    most_seconds: Annotated[float, typer.Option(help="and what is predicted to take longer")] = 4.0,
    least_segment: Annotated[str, typer.Option(help="the smallest segment")] = "8",
    budget: Annotated[float, typer.Option(help="begin nothing after so many seconds")] = 600.0,
    timeout: LaunchTimeout = 900.0,
) -> None:
    """Record every form and segment of some operations, in pieces, for the tuner's benchmark."""
    console = make_console()
    if budget <= 0:
        raise InvalidArgument(f"--budget {budget:g}: nothing would be begun; give seconds, more than 0")
    options = RecordOptions(
        parse_ops(ops),
        parse_sizes(sizes),
        launches=launches,
        most_times=most_times,
        most_s=most_seconds,
        least_segment=parse_size(least_segment),
        timeout_s=timeout,
    )
    grid, left = record_lab(load(lab), library, placement, file, options, budget, console)
    console.print(describe(grid, left), highlight=False)
