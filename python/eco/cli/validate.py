"""`eco validate`: predicted against measured, for every algorithm and size.

    eco validate --lab three-subnets --library openmpi --json validate.json --picture validate.html

The network is measured first (or taken from --network), then each algorithm is predicted with its best parameters, and
timed in several launches beside the native collective.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from eco.cli.options import (
    LabLibraries,
    LabPlacements,
    LaunchTimeout,
    MostTimes,
    Ops,
    Sizes,
    output_file,
    words_of,
)
from eco.errors import EcoError
from eco.lab import load
from eco.report.progress import make_console
from eco.report.records import parse_ops, parse_sizes, seconds_text, size_text
from eco.validate import Outcome, ValidateOptions, cells_of, gain, regret, validate_lab

DEFAULT_OPS = "broadcast,scatter,alltoall,allreduce,allgather"
DEFAULT_SIZES = "1KiB,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB"


def show(outcome: Outcome, console: Console) -> None:
    """One line per cell, then the scores."""
    table = Table("operation", "size", "predicted best", "predicted", "measured", "native", "regret")
    for cell in cells_of(outcome.records):
        predicted = [record for record in cell if record.simulate_s is not None]
        if not predicted:
            continue
        choice = min(predicted, key=lambda record: record.simulate_s or 0.0)
        native = next(record for record in cell if record.simulate_s is None)
        lost = regret(cell, "simulate") or 0.0
        table.add_row(
            choice.collective,
            size_text(choice.bytes),
            choice.algorithm,
            seconds_text(choice.simulate_s or 0.0),
            seconds_text(choice.to_dict()["measured_median_s"]),
            seconds_text(native.to_dict()["measured_median_s"]),
            f"{100 * lost:.1f} %",
        )
    console.print(table)
    for cell in cells_of(outcome.records):
        if won := gain(cell):
            console.print(
                f"found for {won.cell[3]} of {size_text(won.cell[4])}: predicted {100 * won.predicted:.1f} % less "
                f"than the best algorithm, measured {100 * won.measured:.1f} % less: {won.recipe}",
                highlight=False,
            )
    for model, scores in outcome.scores().items():
        console.print(
            f"{model}: median error {100 * scores.median_abs_error:.1f} %, 90th percentile "
            f"{100 * scores.p90_abs_error:.1f} % over {scores.records} predictions; mean regret "
            f"{100 * scores.mean_regret:.1f} %, worst {100 * scores.max_regret:.1f} % over {scores.cells} cells",
            highlight=False,
        )


def validate(
    lab: Annotated[str, typer.Option(help="an emulated network: a TOML file or a shipped name")],
    library: LabLibraries = "openmpi",
    placement: LabPlacements = "block",
    ops: Ops = DEFAULT_OPS,
    sizes: Sizes = DEFAULT_SIZES,
    launches: Annotated[int, typer.Option(help="launches; the oracle is chosen on half of them")] = 4,
    max_seconds: Annotated[
        float, typer.Option(help="seconds for a cell in a launch, beyond one round")
    ] = 1.0,
    search: Annotated[
        int, typer.Option(help="also search for patterns, with so many predictions a cell", min=0)
    ] = 0,
    most_times: MostTimes = 4.0,
    most_seconds: Annotated[
        float, typer.Option(help="leave out what is predicted to take longer, in seconds")
    ] = 8.0,
    network: Annotated[
        Path | None, typer.Option(help="a network file of these hosts, instead of measuring", metavar="FILE")
    ] = None,
    json: Annotated[Path | None, output_file("write records and scores")] = None,
    picture: Annotated[Path | None, output_file("write predicted and measured curves, as HTML")] = None,
    timeout: LaunchTimeout = 900.0,
) -> None:
    """Hold the predictor against measurements: errors, and what its choices cost."""
    console = make_console()
    options = ValidateOptions(
        parse_ops(ops),
        parse_sizes(sizes),
        launches=launches,
        max_seconds=max_seconds,
        search=search,
        most_times=most_times,
        most_predicted_s=most_seconds,
        timeout_s=timeout,
    )
    outcome = validate_lab(load(lab), words_of(library), words_of(placement), network, options, console)
    if not outcome.records:
        raise EcoError("nothing was measured, so nothing is written")
    if json:
        outcome.write(json)
    if picture:
        from eco.report import curves  # plotly takes its time

        curves.write_html(outcome.records, picture)
    show(outcome, console)
