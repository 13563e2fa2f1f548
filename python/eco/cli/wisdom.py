"""`eco wisdom`: what was tuned, as files to keep, merge and take elsewhere.

    eco wisdom show                        what is remembered on this machine; or a file
    eco wisdom collect -o all.json         all of it, as one file
    eco wisdom merge a.json b.json -o c.json
    eco wisdom add c.json                  into what is remembered

A job uses a plan as it is only for its own network, library, placement and version of ECO. Another one's recipes are
where its planning starts: candidates that are proved and measured before they serve, and said to be borrowed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from eco import paths, wisdom
from eco.cli.options import output_file
from eco.errors import EcoError
from eco.report.progress import make_console
from eco.wisdom import Conflict, Plan

app = typer.Typer(
    name="wisdom", no_args_is_help=True, add_completion=False, help="Keep, merge and carry what was tuned."
)

Output = Annotated[Path, output_file("the file to write", "--out", "-o")]


def _tell(conflicts: list[Conflict]) -> None:
    for conflict in conflicts:
        typer.echo(f"conflict: {conflict.text()}", err=True)


def _remembered() -> list[Plan]:
    found, bad = wisdom.collect(paths.cache_dir())
    for reason in bad:
        typer.echo(f"eco: left out: {reason}", err=True)
    return found


@app.command()
def show(
    file: Annotated[
        Path | None, typer.Argument(help="a file of wisdom or a plan; else what is remembered")
    ] = None,
) -> None:
    """Plans, and how many of their sizes were measured and are served by ECO."""
    found = wisdom.read(file) if file else _remembered()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("network", "library", "made by", "ranks", "operations", "measured", "served", "open"):
        table.add_column(name, justify="left" if name in ("network", "library", "made by") else "right")
    for plan in found:
        rows = [row for entry in plan["entries"] for row in entry["rows"]]
        measured = [row for row in rows if wisdom.is_measured(row)]
        numbers = (
            len(plan["host_of_rank"]),
            len({entry["collective"] for entry in plan["entries"]}),
            len(measured),
            sum(row["recipe"] is not None for row in measured),
            sum(bool(row.get("open")) for row in rows),
        )
        table.add_row(
            plan["network"] or "-", plan["library"] or "-", plan.get("made_by", "-"), *map(str, numbers)
        )
    make_console().print(table if found else "no plan")


@app.command()
def collect(out: Output) -> None:
    """Everything that is remembered on this machine, in one file."""
    found = _remembered()
    if not found:
        raise EcoError(f"no plan is remembered in {paths.cache_dir()}; eco tune makes one")
    wisdom.write(out, found)
    typer.echo(f"{len(found)} plans in {out}")


@app.command()
def merge(
    files: Annotated[list[Path], typer.Argument(help="files of wisdom, or plans; what comes first stays")],
    out: Output,
) -> None:
    """Several files as one: better evidence wins; where two disagree on the same, that is told."""
    merged, conflicts = wisdom.merge((str(file), wisdom.read(file)) for file in files)
    _tell(conflicts)
    wisdom.write(out, merged)
    typer.echo(f"{len(merged)} plans in {out}, {len(conflicts)} conflicts")


@app.command()
def add(file: Annotated[Path, typer.Argument(help="a file of wisdom, or a plan of eco tune --out")]) -> None:
    """Into what is remembered, where jobs find it."""
    added, conflicts, left_out = wisdom.add(paths.cache_dir(), str(file), wisdom.read(file))
    _tell(conflicts)
    for reason in left_out:
        typer.echo(f"eco: left out: {reason}", err=True)
    typer.echo(f"{added} plans added to {paths.cache_dir()}, {len(conflicts)} conflicts")
