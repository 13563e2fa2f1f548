"""`eco export`: the best of another library's own algorithms, measured here, as that library's own files.

    eco export --to openmpi --out rules -- mpirun -n 8
    eco export --to mpich --lab two-sites --placement shuffled:1 --out rules
    eco export --from rules/record.json --out elsewhere

docs/exporting.md says what is measured, what the files hold, and what they do not help.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from eco import jobs, paths
from eco.cli.options import (
    LabOrLauncher,
    LabOrSrunLibrary,
    LauncherPrefixOrLab,
    LaunchTimeout,
    Ops,
    Sizes,
    output_folder,
)
from eco.errors import InvalidArgument
from eco.export import tables
from eco.export.measure import SearchOptions, titled
from eco.export.record import Record
from eco.export.run import Task, Written, export_place, without_rules, write
from eco.lab import Lab, load
from eco.report.progress import make_console
from eco.report.records import DEFAULT_SIZES, parse_ops, parse_sizes, seconds_text


def show(written: Written, console: Console) -> None:
    """What gains, what does not, and how to use it."""
    record = written.record
    table = Table(title=f"{record.library}, {record.ranks} ranks, {record.placement} on {record.network}")
    for column in ("operation", "by", "as it is", "exported", "times as fast", "95 %", "in fresh launches"):
        table.add_column(column, overflow="fold")
    for choice in written.choices:
        for cell in choice.cells:
            found = choice.whole or cell.candidate
            table.add_row(
                titled(choice.operation, cell.bytes), found.label if found else "the library's own",
                seconds_text(cell.default_s), seconds_text(cell.exported_s), f"{cell.ratio.ratio:.2f}",
                f"{cell.ratio.low:.2f} to {cell.ratio.high:.2f}", "yes" if cell.checked else "no",
            )  # fmt: skip
    if written.choices:
        console.print(table)
    if why := without_rules(written):
        console.print(f"no rules: {why}", highlight=False)
    if not written.complete:
        console.print(
            "not everything was measured; the same command goes on where this one ended", highlight=False
        )
    if written.environment:
        console.print(f"to use it: source {written.environment}", highlight=False)
    else:
        console.print(
            "nothing is written but the record: the library's own choices are as good", highlight=False
        )


def in_lab(
    lab: str, library: str, placement: str, ranks: int | None, task: Task, console: Console
) -> Written:
    with Lab(load(lab), library=library, placement=placement, n_ranks=ranks) as up:
        return export_place(jobs.LabPlace(up), task, console)


def library_in_lab(to: str) -> str:
    """Whose launcher the lab starts."""
    return to if to in paths.LIBRARIES else "openmpi"


def export(
    command: LauncherPrefixOrLab = None,
    to: Annotated[str | None, typer.Option(help="openmpi, mpich or ucc")] = None,
    out: Annotated[Path | None, output_folder("folder of the files and the record")] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="write again from a record, measuring nothing", metavar="RECORD"),
    ] = None,
    lab: LabOrLauncher = None,
    library: LabOrSrunLibrary = None,
    placement: Annotated[str, typer.Option(help="in the lab: block, round-robin, shuffled:SEED")] = "block",
    ranks: Annotated[int | None, typer.Option(help="in the lab: how many ranks (all)")] = None,
    ops: Ops = "all",
    sizes: Sizes = DEFAULT_SIZES,
    commuting: Annotated[
        bool, typer.Option("--commuting", help="also rules that hold for operations that commute alone")
    ] = False,
    rounds: Annotated[int, typer.Option(help="of the search", min=1)] = 3,
    checks: Annotated[int, typer.Option(help="pairs of fresh launches that confirm", min=0)] = 3,
    budget: Annotated[
        float | None, typer.Option(help="stop after so many seconds; the same command then goes on")
    ] = None,
    timeout: LaunchTimeout = 600.0,
) -> None:
    """Write decisions among a library's own algorithms, measured on these ranks, as its own files.

    Exits with 0 also where nothing gains; then only the record is written.
    """
    console = make_console()
    if from_ is not None:
        if command or lab or to:
            raise InvalidArgument(
                "--from writes what a record holds: give no launcher, --lab or --to with it"
            )
        show(write(Record.read(from_), out or from_.parent, not commuting), console)
        return
    if to is None or out is None:
        raise InvalidArgument(
            f"--to ({', '.join(tables.words())}) and --out DIR are needed, or --from RECORD"
        )
    tables.check_word(to)
    if bool(lab) == bool(command):
        raise InvalidArgument(
            f"give either --lab F.toml, or a launcher after --, like: eco export --to {to} --out {out} -- mpirun -n 8"
        )
    options = SearchOptions(rounds=rounds, checks=checks, budget_s=budget, timeout_s=timeout)
    task = Task(to, out, parse_ops(ops), parse_sizes(sizes), replace(options, any_operation=not commuting))
    if lab:
        written = in_lab(lab, library or library_in_lab(to), placement, ranks, task, console)
    else:
        written = export_place(jobs.launcher_place(command or [], library, "eco export"), task, console)
    show(written, console)
