"""`eco characterize`: measure the network between the hosts of a launcher.

    eco characterize -o network.json -- mpirun -n 8
    eco characterize --plogp -o network.json -- mpirun -n 8     # the curves L, os, or, g of every class too

One rank per host measures, over the point-to-point messages that programs will use; the result is remembered,
and written where -o says.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from eco import jobs
from eco.characterize import characterize_place, describe
from eco.cli.options import JobTimeout, LauncherPrefix, Library, output_file
from eco.errors import InvalidArgument
from eco.report.progress import make_console, rank_progress

#: How eco-rank's line begins where it could not write what it measured into the cache.
LOST = "eco-rank: not remembered: "
#: ... and where plans were made for the network as it was.
OUTDATED = "eco-rank: outdated: "


def characterize_words(
    words: Sequence[str],
    output: Path | None,
    library: str | None,
    budget_s: float | None,
    timeout_s: float | None,
    console: Console,
    plogp: bool = False,
) -> tuple[dict[str, Any], str]:
    """What the command does, without a shell: the network, and whether it is remembered."""
    place = jobs.launcher_place(words, library, "eco characterize")
    kept = "remembered"
    with rank_progress(console) as progress:
        shown = progress("measuring")

        def watch(line: str) -> None:
            nonlocal kept
            if line.startswith(LOST):
                kept = line.removeprefix("eco-rank: ")
            if line.startswith(OUTDATED):
                kept += "; " + line.removeprefix(OUTDATED)
            shown(line)

        network = characterize_place(place, output, budget_s, timeout_s, watch, plogp, rail_plogp=plogp)
    return network, kept


def characterize(
    command: LauncherPrefix,
    output: Annotated[Path | None, output_file("write the network here too", "-o", "--output")] = None,
    library: Library = None,
    budget: Annotated[
        float | None,
        typer.Option(
            help="seconds for measuring (as long as it takes); with --plogp as many again, and again for rails"
        ),
    ] = None,
    plogp: Annotated[
        bool,
        typer.Option(
            "--plogp",
            help="measure L, os, or and g of every class of pairs, and of every rail, too (minutes)",
        ),
    ] = False,
    timeout: JobTimeout = None,
) -> None:
    """Measure the network between a launcher's hosts, find its subnets, and remember both.

    One rank per host measures; programs on these hosts use the result from then on.
    """
    if budget is not None and budget <= 0:
        raise InvalidArgument(f"--budget {budget:g}: expected seconds above 0")
    console = make_console()
    network, kept = characterize_words(command, output, library, budget, timeout, console, plogp)
    where = f"written to {output}, {kept}" if output else kept
    curves = " --plogp" if plogp else ""
    shown = f"; see it with: eco show{curves} {output}" if output else ""
    console.print(f"{describe(network)}, {where}{shown}", highlight=False)
