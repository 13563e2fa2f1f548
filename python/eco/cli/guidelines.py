"""`eco guidelines`: which collectives take longer than others that do their work too.

    eco guidelines results.json                 a file of eco bench: stock and ECO
    eco guidelines plan.json                    a plan: the library's own, and what the plan serves
    eco guidelines -- mpirun -n 8               measured now, in a few launches

`eco tune` mends what it serves: where a guideline is broken it also measures the composition of the others.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from eco import guidelines as guideline_table
from eco.bench import bench_launcher
from eco.cli.options import Library, Ops, Sizes, output_file
from eco.errors import EcoError, InvalidArgument
from eco.guidelines import Series
from eco.pairs import BenchOptions
from eco.report.progress import make_console
from eco.report.records import DEFAULT_SIZES, parse_ops, parse_sizes, seconds_text, size_text, write_json

SCHEMA = ("eco.guidelines", 1)


def show(series: Series, console: Console) -> int:
    """What is broken; how many."""
    broken = guideline_table.violations(series.seconds)
    if not broken:
        console.print(f"{series.title}: all hold, as far as the calls are known", highlight=False)
        return 0
    table = Table(title=series.title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("guideline", no_wrap=True)
    for name in ("size", "takes", "may take", "times"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in broken:
        text = f"{one.operation}: {one.text}" if one.text == guideline_table.table().monotone else one.text
        interval = f" {one.ratio.low:.2f}-{one.ratio.high:.2f}" if one.ratio.launches > 1 else ""
        table.add_row(
            text,
            size_text(one.bytes),
            seconds_text(one.seconds),
            seconds_text(one.bound_s),
            f"{one.ratio.ratio:.2f}{interval}",
        )
    console.print(table)
    return len(broken)


def guidelines(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="a file of eco bench or a plan; or a launcher, after --", metavar="FILE | -- LAUNCHER ..."
        ),
    ] = None,
    library: Library = None,
    ops: Ops = "all",
    sizes: Sizes = DEFAULT_SIZES,
    launches: Annotated[int, typer.Option(help="pairs of launches, where it measures", min=1)] = 3,
    json: Annotated[Path | None, output_file("write what is broken")] = None,
) -> None:
    """Check measured times against performance guidelines: allreduce <= reduce + broadcast, and the like.

    Exits with 0 whatever is found: what a library breaks is news, not an error. With 1 where measuring ended early.
    """
    console = make_console()
    if not words:
        raise InvalidArgument(
            "give a file of eco bench or a plan, or a launcher after --, like: eco guidelines -- mpirun -n 8"
        )
    ended_early = ""
    if len(words) == 1 and Path(words[0]).is_file():
        series = guideline_table.read(Path(words[0]))
    elif len(words) == 1 and (words[0].endswith(".json") or shutil.which(words[0]) is None):
        raise InvalidArgument(
            f"{words[0]}: neither a file nor a launcher that is here; give a file of eco bench, a plan, or a launcher"
        )
    else:
        options = BenchOptions(parse_ops(ops), parse_sizes(sizes), launches=launches, tune=False)
        outcome = bench_launcher(words, library, options, False, console)
        series, ended_early = guideline_table.of_bench(outcome.results), outcome.ended_early
        if not series:
            raise EcoError(f"nothing was measured to the end: {ended_early}")
    counts = [show(one, console) for one in series]
    console.print(f"{sum(counts)} broken in {len(series)} series of calls", highlight=False)
    if json:
        schema, version = SCHEMA
        found = {one.title: [b.to_dict() for b in guideline_table.violations(one.seconds)] for one in series}
        write_json(json, {"schema": schema, "version": version, "broken": found})
    if ended_early:
        raise EcoError(f"not everything was measured: {ended_early}")
