"""`eco show`: a network as a tree of subnets and a matrix of pair times.

eco show network.json
eco show --remembered                       # what is remembered on this machine
eco show network.json --html network.html   # the matrix at every size, in a browser
eco show network.json --figure2             # what Figure 2 of the ECO paper says of the same pairs
eco show network.json --plogp               # L, os(m), or(m), g(m) of every class of pairs
eco show network.json --plogp --picture plogp.html    # the same as curves (or .svg)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eco import network as networks
from eco import paths
from eco.cli.options import output_file, output_picture
from eco.errors import EcoError, InvalidArgument
from eco.network import Network
from eco.report import network_view, plogp_view


def remembered() -> tuple[list[Path], list[str]]:
    """Files of remembered networks, newest first, and why others there can't be used."""
    good: list[Path] = []
    bad: list[str] = []
    for path in paths.remembered_networks():
        try:
            networks.load(path)
            good.append(path)
        except EcoError as error:
            bad.append(str(error))
    return good, bad


def show_networks(loaded: list[Network], as_json: bool, html: Path | None, console: Console) -> None:
    """What the command does with the networks it found."""
    if html is not None:
        if len(loaded) != 1:
            raise InvalidArgument(f"--html shows one network, and {len(loaded)} were found; name its file")
        network_view.write_html(loaded[0], html)
        console.print(f"written: {html}")
    elif as_json:
        found = [network.to_dict() for network in loaded]
        print(json.dumps(found[0] if len(found) == 1 else found, indent=1))
    else:
        for network in loaded:
            console.print(network_view.picture(network))


def show_plogp(network: Network, picture: Path | None, console: Console) -> None:
    """What --plogp does; throws where the network has none."""
    if not network.plogp and not network.rail_plogp:
        raise InvalidArgument(
            "this network was measured without pLogP; measure with: eco characterize --plogp -- mpirun -n N"
        )
    console.print(plogp_view.tables(network))
    if picture is not None:
        plogp_view.write_picture(network, picture)
        console.print(f"written: {picture}")


def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="needed: a network file, as eco characterize writes it, or --remembered",
            metavar="FILE | --remembered",
        ),
    ] = None,
    remembered_: Annotated[
        bool, typer.Option("--remembered", help="instead of a file: the networks remembered on this machine")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="for a program to read")] = False,
    html: Annotated[Path | None, output_file("write an interactive page")] = None,
    plogp: Annotated[
        bool, typer.Option("--plogp", help="the pLogP curves of every class of pairs, of a network file")
    ] = False,
    figure2: Annotated[
        bool,
        typer.Option("--figure2", help="the subnets that Figure 2 of the ECO paper makes of the same pairs"),
    ] = False,
    picture: Annotated[Path | None, output_picture("with --plogp: draw them, as .html or .svg")] = None,
) -> None:
    """Show a network: its subnets, what they share, and the time between every pair of hosts."""
    if (file is None) != remembered_:
        raise InvalidArgument(
            "give either a network file, like: eco show network.json, or --remembered, for those of this machine"
        )
    if picture is not None and not plogp:
        raise InvalidArgument("--picture draws pLogP curves; give --plogp with it")
    if plogp and (file is None or as_json or html is not None):
        raise InvalidArgument("--plogp goes with a network file, and neither with --json nor with --html")
    # Wide enough for a matrix also where the output is a file.
    console = Console(width=None if Console().is_terminal else 140)
    if figure2:
        if file is None or as_json or html is not None or plogp:
            raise InvalidArgument("--figure2 goes with a network file, and with no other option")
        console.print(network_view.figure2(networks.load(file)))
        return
    if file is not None and plogp:
        show_plogp(networks.load(file), picture, console)
        return
    if file is not None:
        show_networks([networks.load(file)], as_json, html, console)
        return
    good, bad = remembered()
    for reason in bad:
        Console(stderr=True).print(f"[yellow]not usable:[/] {reason}", soft_wrap=True)
    if not good:
        raise EcoError(
            f"no network is remembered in {paths.remembering()}; "
            f"measure one with: eco characterize -- mpirun -n N{paths.IN_THE_LAB}"
        )
    show_networks([networks.load(path) for path in good], as_json, html, console)
