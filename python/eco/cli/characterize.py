"""`eco characterize`: measure the network between the hosts of a launcher.

    eco characterize -o network.json -- mpirun -n 8
    eco characterize --plogp -o network.json -- mpirun -n 8     # the curves L, os, or, g of every class too

One rank per host measures, over the point-to-point messages that programs will use; the result is remembered,
and written where -o says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from eco import jobs, launch
from eco.errors import EcoError, InvalidArgument
from eco.report.progress import make_console, rank_progress
from eco.report.records import read_json

NETWORK_SCHEMA = ("eco.network", 1)


def characterize_place(
    place: jobs.Place,
    output: Path | None,
    budget_s: float | None,
    timeout_s: float | None,
    watch: Callable[[str], None] | None,
    plogp: bool = False,
) -> dict[str, Any]:
    """Runs eco-rank characterize; the network as read back. A failed run leaves an older output as it was."""
    if output is not None and not output.absolute().parent.is_dir():
        raise InvalidArgument(f"{output}: the folder {output.absolute().parent} does not exist")
    # Beside the output, so that the ranks' host sees it wherever it will see the output, and it can be
    # renamed.
    with jobs.scratch("characterize", output.absolute().parent if output else None) as folder:
        fresh = folder / "network.json"
        words = [place.rank_program(), "characterize", "--out", str(fresh), "--progress"]
        if budget_s is not None:
            words += ["--budget", f"{budget_s:g}"]
        if plogp:
            words.append("--plogp")
        ended = place.start(place.stock(words), timeout_s, watch)
        jobs.check(ended, "characterization", "nothing was remembered, and no file was written or changed")
        if not fresh.exists():
            raise EcoError(
                f"characterization ended well but {fresh.name} is not here: rank 0 ran on a host "
                "with another file system; choose -o on a shared one"
            )
        network = read_json(fresh, *NETWORK_SCHEMA)
        if output is not None:
            fresh.replace(output)
    return network


def describe(network: dict[str, Any]) -> str:
    """One line; `eco show` shows the rest."""
    hosts, subnets = network["hosts"], network["subnets"]
    sizes = "+".join(str(len(subnet["hosts"])) for subnet in subnets)
    text = f"{len(hosts)} hosts in {len(subnets)} subnet{'s' if len(subnets) > 1 else ''} ({sizes})"
    measured = len(network.get("plogp", ()))
    return f"{text}, pLogP in {measured} direction{'s' if measured > 1 else ''}" if measured else text


def characterize_words(
    words: Sequence[str],
    output: Path | None,
    library: str | None,
    budget_s: float | None,
    timeout_s: float | None,
    console: Console,
    plogp: bool = False,
) -> dict[str, Any]:
    """What the command does, without a shell."""
    line = launch.parse_bare_prefix(words, "eco characterize")
    place = jobs.LauncherPlace(line, library)
    with rank_progress(console) as progress:
        return characterize_place(place, output, budget_s, timeout_s, progress("measuring"), plogp)


def characterize(
    command: Annotated[
        list[str], typer.Argument(help="launcher and options, after --", metavar="-- LAUNCHER ...")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="write the network here too")] = None,
    library: Annotated[str | None, typer.Option(help="with srun: openmpi, mpich or mpi-abi")] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="seconds for measuring (as long as it takes); with --plogp as many again"),
    ] = None,
    plogp: Annotated[
        bool, typer.Option("--plogp", help="measure L, os, or and g of every class of pairs too (minutes)")
    ] = False,
    timeout: Annotated[float | None, typer.Option(help="end the job after this many seconds")] = None,
) -> None:
    """Measure the network between a launcher's hosts, find its subnets, and remember both.

    One rank per host measures; programs on these hosts use the result from then on.
    """
    if budget is not None and budget <= 0:
        raise InvalidArgument(f"--budget {budget:g}: expected seconds above 0")
    console = make_console()
    network = characterize_words(command, output, library, budget, timeout, console, plogp)
    where = f"written to {output} and remembered" if output else "remembered"
    curves = " --plogp" if plogp else ""
    shown = f"; see it with: eco show{curves} {output}" if output else ""
    console.print(f"{describe(network)}, {where}{shown}", highlight=False)
