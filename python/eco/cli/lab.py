"""`eco lab`: emulated networks.

eco lab list                                        the shipped networks
eco lab show three-subnets                          hosts, segments, rates, bounds
eco lab run three-subnets --library mpich -- mpirun -n 8 ./app
eco lab check three-subnets                         does this machine carry it?
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from eco.cli.options import LAB_LIBRARIES, output_file
from eco.errors import EcoError
from eco.lab import Lab, load
from eco.lab.check import check
from eco.lab.description import Description
from eco.lab.drawing import bounds_table, tree
from eco.lab.lab import MEDIUM
from eco.lab.reading import shipped
from eco.report.records import write_json

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    add_completion=False,
    help="Emulated heterogeneous networks on this machine: no root needed, nothing left behind.",
)

NetworkArgument = Annotated[
    str, typer.Argument(help="a TOML file, or the name of a shipped network", metavar="F.toml")
]


@app.command("run", context_settings={"ignore_unknown_options": False})
def run_command(
    network: NetworkArgument,
    command: Annotated[
        list[str], typer.Argument(help="what to run on the first rank's host", metavar="-- CMD...")
    ],
    library: Annotated[
        str, typer.Option(help=f"whose mpirun is first on PATH: one of {LAB_LIBRARIES}")
    ] = "openmpi",
    placement: Annotated[
        str, typer.Option(help="block, round-robin, shuffled:SEED, or a file of host names")
    ] = "block",
    ranks: Annotated[int | None, typer.Option(help="how many ranks there are places for")] = None,
    timeout: Annotated[float | None, typer.Option(help="seconds after which all is killed", min=0)] = None,
) -> None:
    """Run a command in an emulated network, where plain `mpirun` works across the hosts."""
    raise typer.Exit(run(load(network), command, library, placement, ranks, timeout))


def run(
    description: Description,
    command: list[str],
    library: str = "openmpi",
    placement: str = "block",
    ranks: int | None = None,
    timeout: float | None = None,
) -> int:
    """The command's exit status, having run it in the network."""
    with Lab(description, library=library, placement=placement, n_ranks=ranks) as lab:
        print(
            f"eco lab: {description.name}, {len(description.hosts)} hosts, up in {lab.seconds_to_build:.2f} s; "
            f"{library}, placement {placement}; medium: {MEDIUM}",
            file=sys.stderr,
        )
        return lab.run(command, timeout=timeout).returncode


@app.command("check")
def check_command(
    network: NetworkArgument,
    json_file: Annotated[Path | None, output_file("write the measurements here", "--json")] = None,
    seconds: Annotated[float, typer.Option(help="how long each flow runs")] = 1.0,
) -> None:
    """Measure rates, delays and load against the description; exit status 1 if this machine cannot keep up."""
    report = check(load(network), seconds)
    if json_file is not None:
        write_json(json_file, report.to_dict())
    table = Table(title=f"{report.network}: medium {report.medium}", title_justify="left")
    table.add_column("measured")
    for column in ("described", "here", ""):
        table.add_column(column, justify="right")
    table.add_column("verdict")
    for row in report.rows:
        verdict = "[green]ok" if row.passed else f"[red]{row.remark or 'too much'}"
        table.add_row(row.what, f"{row.expected:.4g}", f"{row.measured:.4g}", row.unit, verdict)
    console = Console()
    console.print(table)
    if not report.passed:
        console.print(
            "[red]This machine does not carry the network as described:[/] times measured here are partly "
            "the machine's. Try it when nothing else runs, or lower the rates."
        )
        raise typer.Exit(1)
    console.print(f"Carried. Up in {report.seconds_to_build:.2f} s.")


@app.command("list")
def list_command() -> None:
    """Name the shipped networks."""
    table = Table(box=None)
    table.add_column("network")
    table.add_column("what it is")
    table.add_column("file", overflow="fold")
    for path in shipped():
        description = load(path)
        table.add_row(description.name, description.about, _short(path))
    Console().print(table)


@app.command("show")
def show_command(network: NetworkArgument) -> None:
    """Draw a network: hosts, segments, rates, and the bounds that follow."""
    description = load(network)
    console = Console()
    console.print(tree(description))
    console.print(bounds_table(description))
    console.print(f"medium: {MEDIUM}")


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def main() -> None:
    """For `python -m eco.cli.lab`; the command `eco lab` comes from eco.cli.main."""
    try:
        app()
    except EcoError as error:
        print(f"eco lab: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    main()
