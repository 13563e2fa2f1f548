"""`eco map`: where a program's ranks go on a network, for programs that do not ask MPI to reorder them.

    eco map --grid 4x5 --network network.json --rankfile ranks        Open MPI: mpirun --map-by rankfile:file=ranks
    eco map --torus 2x4 --lab three-subnets --machinefile hosts       MPICH: mpiexec -f hosts
    eco map --graph messages.txt --bytes 16KiB

Programs that make their topologies by MPI_Cart_create and friends with leave to reorder need none of this: `eco run`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from eco import jobs, topology
from eco import network as networks
from eco.characterize import characterize_place
from eco.cli.explain import Group, latest_network, make_group, place
from eco.cli.options import LabOrLauncher, NetworkFile, Placement, Ranks, output_file, words_of
from eco.errors import InvalidArgument
from eco.lab import Lab, load
from eco.report.progress import busy, make_console, rank_progress
from eco.report.records import parse_size, seconds_text, size_text, write_json, write_text
from eco.topology import Choice, Graph, Grid

SCHEMA = "eco.map"
VERSION = 1


def wanted(
    grid: str | None, torus: str | None, ring: bool, hypercube: bool, graph: Path | None, n_ranks: int
) -> Grid | Graph:
    """The one topology that was asked for."""
    asked = [name for name, value in (("--grid", grid), ("--torus", torus), ("--ring", ring),
                                      ("--hypercube", hypercube), ("--graph", graph)) if value]  # fmt: skip
    if len(asked) != 1:
        said = " and ".join(asked) or "none of them"
        raise InvalidArgument(
            f"one of --grid, --torus, --ring, --hypercube and --graph is needed; got {said}"
        )
    if grid:
        return topology.grid(grid, periodic=False)
    if torus:
        return topology.grid(torus, periodic=True, option="--torus")
    if ring:
        return Grid((n_ranks,), periodic=True)
    return topology.hypercube(n_ranks) if graph is None else topology.read_graph(graph)


def group_in_lab(name: str, placement: str, n_ranks: int | None) -> tuple[Group, list[str]]:
    """The lab's network, measured now, with hosts in the order in which `block` places ranks; and its hosts' names."""
    console = make_console()
    with (
        Lab(load(name)) as lab,
        jobs.scratch("map") as folder,
        rank_progress(console) as progress,
    ):
        file = folder / "network.json"
        characterize_place(jobs.LabPlace(lab), file, None, None, progress("measuring"), remembered="left")
        group = make_group(file, placement, n_ranks)
        return group, [host.name for host in networks.load(file).hosts]


def table(choice: Choice) -> Table:
    """Every candidate's predicted time of one step, the chosen one marked."""
    out = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    out.add_column("ranks placed by", no_wrap=True)
    for size in choice.sizes:
        out.add_column(f"{size_text(size)} messages", justify="right", no_wrap=True)
    for number, candidate in enumerate(choice.candidates):
        mark = " *" if number == choice.chosen else ""
        out.add_row(candidate.strategy + mark, *(seconds_text(s) for s in candidate.predicted_s))
    return out


def map(  # the command's name
    grid: Annotated[str | None, typer.Option(help="nodes of each dimension, like 4x5", metavar="AxB")] = None,
    torus: Annotated[
        str | None, typer.Option(help="the same, each dimension closed to a ring", metavar="AxB")
    ] = None,
    ring: Annotated[bool, typer.Option("--ring", help="all ranks in a ring")] = False,
    hypercube: Annotated[bool, typer.Option("--hypercube", help="all ranks in a hypercube")] = False,
    graph: Annotated[
        Path | None,
        typer.Option(help="a line for each message: FROM TO, or FROM TO WEIGHT", metavar="FILE"),
    ] = None,
    network: NetworkFile = None,
    lab: LabOrLauncher = None,
    placement: Placement = "block",
    ranks: Ranks = None,
    sizes: Annotated[
        str, typer.Option("--bytes", help="of a message, one size or a list; else a short and a long one")
    ] = "",
    rankfile: Annotated[Path | None, output_file("for Open MPI's mpirun --map-by rankfile:file=FILE")] = None,
    machinefile: Annotated[Path | None, output_file("for MPICH's mpiexec -f FILE")] = None,
    json_file: Annotated[Path | None, output_file("the choice, for a program to read", "--json")] = None,
) -> None:
    """Say which rank of a program goes to which host, and write it for the launcher."""
    if lab and network:
        raise InvalidArgument("--lab and --network: the lab's network is measured; give one of them")
    # What is wrong in the question is said before anything is measured.
    n_bytes = [parse_size(word) for word in words_of(sizes)]
    if any(size == 0 for size in n_bytes):
        raise InvalidArgument("--bytes 0: messages of no bytes; give 1 or more")
    n_hosts = len(load(lab).hosts) if lab else len(networks.load(network or latest_network()).hosts)
    n_ranks = ranks or n_hosts
    asked = wanted(grid, torus, ring, hypercube, graph, n_ranks)
    if asked.n_nodes > n_ranks:
        raise InvalidArgument(f"{asked.title()} on {n_ranks} ranks; give --ranks {asked.n_nodes} or more")
    place(placement, n_hosts, n_ranks)
    if lab:
        group, names = group_in_lab(lab, placement, ranks)
    else:
        file = network or latest_network()
        group, names = make_group(file, placement, ranks), [host.name for host in networks.load(file).hosts]
    with busy(f"mapping {asked.title()}"):
        choice = topology.choose(group.network, group.host_of_rank, asked, n_bytes)
    hosts = [names[group.host_of_rank[rank]] for rank in choice.best.rank_of_node]
    console = make_console()
    console.print(f"{asked.title()} on {len(hosts)} ranks, {placement}: one step, predicted; * is chosen",
                  highlight=False, markup=False)  # fmt: skip
    console.print(table(choice))
    if choice.chosen == 0:
        console.print("the ranks stay where they are: no other order is clearly faster", highlight=False)
    if rankfile:
        write_text(rankfile, topology.openmpi_rankfile(hosts))
        console.print(f"written: {rankfile}; mpirun --map-by rankfile:file={rankfile}", highlight=False)
    if machinefile:
        write_text(machinefile, topology.hydra_machinefile(hosts))
        console.print(f"written: {machinefile}; mpiexec -f {machinefile}", highlight=False)
    if json_file:
        best, before = choice.best, choice.unordered
        write_json(json_file, {
            "schema": SCHEMA, "version": VERSION, "topology": asked.title(), "sizes": list(choice.sizes),
            "strategy": best.strategy, "predicted_s": list(best.predicted_s),
            "identity_predicted_s": list(before.predicted_s), "host_of_rank": hosts,
            "rank_of_node": list(best.rank_of_node),
        })  # fmt: skip
        console.print(f"written: {json_file}", highlight=False)
