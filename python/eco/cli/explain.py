"""`eco explain`: which recipe serves a collective on a network, and why the others lost.

    eco explain --op broadcast --size 1MiB                                   on the network remembered last
    eco explain --network network.json --op allreduce --size 16KiB --placement round-robin
    eco explain --network network.json --op broadcast --size 16kB --dot tree.dot --text

Where a plan for the same network and placement is remembered, it says what the plan chose, with measured times. Else
the numbers are predictions, and the library's own collective is a guess.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from eco import _core, paths
from eco import network as networks
from eco.cli.options import NetworkFile, Placement, Ranks, Root, output_file
from eco.collectives import check_known
from eco.errors import EcoError, InvalidArgument
from eco.report.progress import busy
from eco.report.records import parse_size, read_text, write_text


@dataclass(frozen=True)
class Group:
    """A network file's text, and which of its hosts each rank is on."""

    network: str
    host_of_rank: tuple[int, ...]


@dataclass(frozen=True)
class Candidate:
    """One recipe and what it is predicted to take; `predicted_s` is None where it can't serve."""

    recipe: str
    predicted_s: float | None
    transfer_s: float
    latency_s: float
    overhead_s: float
    combine_s: float
    busiest: str
    busiest_s: float
    messages: float
    extrapolated: bool  # from schedules of fewer segments
    given_up: bool  # `predicted_s` is a lower limit
    guesses_native: bool  # of what the library does inside islands
    why_not: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def place(placement: str, n_hosts: int, n_ranks: int) -> tuple[int, ...]:
    """Host of each rank: block, round-robin, shuffled:SEED (the block placement in another order), or 0,0,1,...

    Fewer ranks than hosts are on the first places of that order, as in the lab.
    """
    kind, _, seed = placement.partition(":")
    places = max(n_hosts, n_ranks)
    block = [i * n_hosts // places for i in range(places)]
    if placement == "block":
        return tuple(block[:n_ranks])
    if placement == "round-robin":
        return tuple(rank % n_hosts for rank in range(n_ranks))
    if kind == "shuffled" and seed.isdecimal():
        random.Random(int(seed)).shuffle(block)
        return tuple(block[:n_ranks])
    try:
        hosts = tuple(int(word) for word in placement.split(","))
    except ValueError:
        raise InvalidArgument(
            f"placement {placement!r}: none of block, round-robin, shuffled:SEED, "
            "or a host number for each rank (0,0,1)"
        ) from None
    if any(not 0 <= host < n_hosts for host in hosts):
        raise InvalidArgument(f"placement {placement!r}: the network has hosts 0 to {n_hosts - 1}")
    return hosts


def latest_network() -> Path:
    """The network remembered last."""
    files = paths.remembered_networks()
    if not files:
        raise EcoError(
            f"no network is remembered in {paths.remembering()}; give --network FILE, or measure: "
            f"eco characterize -- mpirun -n N{paths.IN_THE_LAB}"
        )
    return files[0]


def make_group(network: Path, placement: str, n_ranks: int | None) -> Group:
    """A rank for each host, or so many. Raises CorruptFile for a bad network file, InvalidArgument for one rank."""
    checked = networks.load(network)
    n_hosts = len(checked.hosts)
    hosts = place(placement, n_hosts, n_ranks or n_hosts)
    if len(hosts) < 2:
        has = f"{n_hosts} hosts" if n_hosts > 1 else "one host"
        raise InvalidArgument(
            f"one rank sends nothing ({network} has {has}); try --ranks 8, or another network by --network FILE"
        )
    return Group(network.read_text(encoding="utf-8"), hosts)


def remembered_plans(folder: Path, group: Group) -> dict[str, str]:
    """Text of the remembered plans for this network and placement, by library."""
    fingerprint = _core.network_fingerprint(group.network)
    found: dict[str, str] = {}
    for file in reversed(paths.newest_first((folder / "plans").glob("*.json"))):
        try:
            text = _core.check_plan(read_text(file))
        except EcoError:
            continue  # a bad cache is forgotten; the job that uses it says so
        plan = json.loads(text)
        if plan["network"] == fingerprint and tuple(plan["host_of_rank"]) == group.host_of_rank:
            found[plan["library"]] = text
    return found


def candidates(group: Group, collective: str, size: int, root: int, prune: bool = False) -> list[Candidate]:
    """All candidates, cheapest first, those that can't serve last; with `prune` in less time, many of them given up."""
    text = _core.candidates(group.network, list(group.host_of_rank), collective, size, root, prune)
    return [Candidate(**record) for record in json.loads(text)]


def explanation(group: Group, collective: str, size: int, root: int, plans: dict[str, str]) -> str:
    """The planner's own words, once for each library with a plan; once without."""
    hosts = list(group.host_of_rank)
    if not plans:
        return _core.explain(group.network, hosts, collective, size, root)
    return "\n".join(
        f"{library}\n{_core.explain(group.network, hosts, collective, size, root, plan)}"
        for library, plan in plans.items()
    )


def _one_plan(file: Path) -> dict[str, str]:
    text = _core.check_plan(read_text(file))
    return {json.loads(text)["library"] or str(file): text}


def note_of_another(file: Path, text: str, group: Group) -> str:
    """A note where the plan is not of this group. One by hand may name no network, and was measured nowhere."""
    plan = json.loads(text)
    of_network = plan["network"] in ("", _core.network_fingerprint(group.network))
    of_placement = tuple(plan["host_of_rank"]) == group.host_of_rank
    if of_network and of_placement:
        return ""
    what = "another network" if not of_network else "another placement"
    return (
        f"note: {file} is of {what}: its times are of there, and a job here takes it only where it is named\n"
    )


def explain(
    collective: Annotated[
        str, typer.Option("--op", "--collective", help="which operation, like allgather")
    ] = "broadcast",
    size: Annotated[str, typer.Option("--size", "--bytes", help="like 16KiB or 1MiB")] = "1MiB",
    network: NetworkFile = None,
    plan: Annotated[
        Path | None, typer.Option(help="a plan file; else the remembered ones", metavar="FILE")
    ] = None,
    placement: Placement = "block",
    ranks: Ranks = None,
    root: Root = 0,
    recipe: Annotated[
        str | None, typer.Option(help="with --dot or --text: this one; else the cheapest")
    ] = None,
    dot: Annotated[Path | None, output_file("write who sends to whom, for Graphviz")] = None,
    text: Annotated[bool, typer.Option("--text", help="print every rank's first operations")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="all candidates, for a program to read")] = False,
) -> None:
    """Say which recipe serves a collective on a network, what it costs by term, and why the others lost."""
    check_known(collective)
    if recipe and not dot and not text:
        raise InvalidArgument(
            f"--recipe {recipe}: --dot draws it, --text prints it; what it would take says eco predict --recipe"
        )
    n_bytes = parse_size(size)
    folder = paths.cache_dir()
    group = make_group(network or latest_network(), placement, ranks)
    what = f"predicting every {collective} for {len(group.host_of_rank)} ranks"
    if as_json:
        with busy(what):
            found = candidates(group, collective, n_bytes, root)
        print(json.dumps([candidate.to_dict() for candidate in found], indent=1))
    else:
        plans = _one_plan(plan) if plan else remembered_plans(folder, group)
        with busy(what):
            words = explanation(group, collective, n_bytes, root, plans)
        print(words, end="")
        if plan:
            print("".join(note_of_another(plan, one, group) for one in plans.values()), end="")
    if not dot and not text:
        return
    drawn = recipe or candidates(group, collective, n_bytes, root)[0].recipe
    hosts = list(group.host_of_rank)
    if dot:
        write_text(dot, _core.schedule_dot(group.network, hosts, drawn, collective, n_bytes, root))
        print(f"written: {dot} ({drawn})")
    if text:
        print(_core.schedule_text(group.network, hosts, drawn, collective, n_bytes, root, 12), end="")
