"""`eco fuzz`: random programs of collectives, without ECO and with it, compared byte by byte.

    eco fuzz --calls 3000                                     both libraries on this host
    eco fuzz --library mpich --ranks 2-8 --seed 7 --minutes 10
    eco fuzz --lab three-subnets --calls 500                  on an emulated network
    eco fuzz --replay fuzz-mpich-7-3-small.json               what it found, once more

Plans are by dice, so that calls meet every algorithm and every edge of a table. What fails is made small and stored.
Exit code 1 where ECO changed anything.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from eco import jobs, paths
from eco.characterize import characterize_place
from eco.cli.options import LabOrLauncher, output_folder
from eco.cli.verify import parse_ranks
from eco.errors import EcoError, InvalidArgument
from eco.fuzz import runs
from eco.fuzz.campaign import Campaign, Options, Outcome, network_of_one_host
from eco.fuzz.recipes import Layout
from eco.fuzz.runs import Case, InLab, OneHost, Place
from eco.lab import Lab, load
from eco.report.progress import make_console
from eco.report.records import seconds_text

OVER = ("tcp", "memory")


def this_host(place: OneHost, timeout_s: float) -> dict[str, Any]:
    """Name and address of this host, as ranks on it see them."""
    with jobs.scratch("fuzz") as folder:
        file = (folder / "network.json").absolute()
        words = [
            *jobs.eco_exec({**place.library_settings, "ECO": "off"}, bare=True),
            str(paths.native_file(f"eco-rank-{place.library}")),
            "characterize", "--out", str(file), "--budget", "0.1",
        ]  # fmt: skip
        jobs.check(place.start(2, [0, 0], words, timeout_s), "asking for this host's name", "nothing was run")
        host: dict[str, Any] = json.loads(file.read_text())["hosts"][0]
        return host


def on_one_host(library: str, over: str, options: Options, console: Console) -> Outcome:
    place = OneHost(library, over)
    identity = this_host(place, options.timeout_s)
    return Campaign(place, options, lambda dice, ranks: network_of_one_host(dice, ranks, identity),
                    lambda text: console.print(text, highlight=False, markup=False)).run()  # fmt: skip


def in_the_lab(name: str, library: str, options: Options, console: Console) -> Outcome:
    with Lab(load(name), library=library) as lab, tempfile.TemporaryDirectory() as folder:
        most, places = max(options.ranks), len(lab.hosts_of_ranks)
        if most > places:
            raise InvalidArgument(f"--ranks {most}: {name} has places for {places} ranks")
        file = Path(folder) / "network.json"
        network = characterize_place(jobs.LabPlace(lab), file, None, 300, None, remembered="used")
        known = [host["name"] for host in network["hosts"]]
        hosts = [known.index(host) for host in lab.hosts_of_ranks]
        return Campaign(InLab(lab, name), options,
                        lambda dice, ranks: Layout(json.dumps(network), tuple(hosts[:ranks])),
                        lambda text: console.print(text, highlight=False, markup=False)).run()  # fmt: skip


def show(library: str, where: str, outcome: Outcome, console: Console) -> None:
    console.print(
        f"{library}, {where}: {outcome.calls} calls in {outcome.programs} program(s), {outcome.served} served by "
        f"{len(outcome.algorithms)} algorithms; {outcome.launches} launches, {seconds_text(outcome.seconds)}; "
        + (f"{len(outcome.faults)} FAULTS" if outcome.faults else "no difference"),
        highlight=False,
    )
    if outcome.armless:
        console.print(f"  in {outcome.armless} launches nothing was served", highlight=False)
    for text in outcome.stock_failures:
        console.print(f"  the library alone does not run {text}", highlight=False, markup=False)
    for text in outcome.unsteady:
        console.print(f"  the library alone differs from itself in {text}", highlight=False, markup=False)
    for found in outcome.faults:
        console.print(f"  {found.fault.kind}: {found.fault.text}\n  eco fuzz --replay {found.file}",
                      highlight=False, markup=False, style="red")  # fmt: skip


def first_difference(case: Case, place: Place, step: int, timeout_s: float) -> list[str]:
    """Of each rank: which byte of the call's memory differs first. Guards and gaps count."""
    with jobs.scratch("fuzz") as folder:
        files: list[list[bytes]] = []
        for served in (False, True):
            kept = folder / str(served)
            kept.mkdir()
            runs.run(case, place, served, timeout_s, step, kept)
            files.append([file.read_bytes() if (file := kept / f"bytes-{rank}").exists() else b""
                          for rank in range(case.ranks)])  # fmt: skip
    texts = []
    for rank, (stock, served_bytes) in enumerate(zip(*files, strict=True)):
        at = [i for i, (a, b) in enumerate(zip(stock, served_bytes, strict=False)) if a != b]
        if at:
            i = at[0]
            texts.append(f"rank {rank}: byte {i} of {len(stock)} is {served_bytes[i]:02x}, without ECO {stock[i]:02x}; "
                         f"{len(at)} differ")  # fmt: skip
    return texts


def replay(file: Path, timeout_s: float, console: Console) -> int:
    """Both ways once more; 1 if they still differ."""
    case = runs.read_case(file)
    if case.where in OVER:
        return replay_on(case, OneHost(case.library, case.where), timeout_s, console)
    with Lab(load(case.where), library=case.library) as lab:
        return replay_on(case, InLab(lab, case.where), timeout_s, console)


def replay_on(case: Case, place: Place, timeout_s: float, console: Console) -> int:
    for step in case.program:
        console.print(step.text(), highlight=False, markup=False)
    stock = runs.run(case, place, False, timeout_s)
    if not stock.is_good:
        raise EcoError(
            f"the library alone does not run it: {runs.who_is_where(case, stock)}\n{stock.last_words}"
        )
    fault = runs.compare(case, stock, runs.run(case, place, True, timeout_s))
    if fault is None:
        console.print("no difference", highlight=False)
        return 0
    console.print(f"{fault.kind}: {fault.text}", highlight=False, markup=False, style="red")
    if fault.kind == "differs":
        for text in first_difference(case, place, fault.step, timeout_s):
            console.print(text, highlight=False)
    return 1


def libraries_of(library: str) -> Sequence[str]:
    known = paths.LIBRARIES
    if library == "all":
        return known
    if library not in known:
        raise InvalidArgument(f"--library {library}: choose {', '.join(known)} or all")
    return (library,)


def fuzz(
    calls: Annotated[
        int, typer.Option(help="how many are made under ECO and compared, all together", min=1)
    ] = 3000,
    seed: Annotated[int, typer.Option(help="another one makes other programs", min=0)] = 1,
    ranks: Annotated[str, typer.Option(help="how many, 2 at least, like 2-5,8", metavar="LIST")] = "2-5",
    library: Annotated[str, typer.Option(help="openmpi, mpich or all")] = "all",
    over: Annotated[
        str | None, typer.Option(help="on one host: tcp, its loopback (default), or memory")
    ] = None,
    lab: LabOrLauncher = None,
    minutes: Annotated[
        float, typer.Option(help="end after so long even if calls are left; 0: never", min=0)
    ] = 0,
    most_bytes: Annotated[int, typer.Option(help="largest size that plans have an edge at", min=8)] = 1 << 17,
    timeout: Annotated[float, typer.Option(help="seconds after which a launch counts as hanging")] = 120.0,
    faults: Annotated[int, typer.Option(help="end after so many of them", min=1)] = 3,
    folder: Annotated[Path, output_folder("where failing cases are stored")] = Path(),
    replay_file: Annotated[
        Path | None, typer.Option("--replay", help="run a stored case once more", metavar="FILE")
    ] = None,
) -> None:
    """Run random programs of collectives with and without ECO, and compare what they leave in memory."""
    console = make_console()
    if replay_file is not None:
        raise typer.Exit(replay(replay_file, timeout, console))
    if over and lab:
        raise InvalidArgument(f"--over {over}: the lab has its own network; give --lab or --over")
    over = over or OVER[0]
    if over not in OVER:
        raise InvalidArgument(f"--over {over}: expected {' or '.join(OVER)}")
    chosen = libraries_of(library)
    wanted = tuple(parse_ranks(ranks))
    if min(wanted) < 2:
        raise InvalidArgument(f"--ranks {ranks}: a collective takes two at least, like 2-5")
    found = 0
    for each in chosen:
        options = Options(-(-calls // len(chosen)), seed, wanted, minutes / len(chosen), most_bytes=most_bytes,
                          timeout_s=timeout, most_faults=faults, folder=folder)  # fmt: skip
        outcome = (
            in_the_lab(lab, each, options, console) if lab else on_one_host(each, over, options, console)
        )  # fmt: skip
        show(each, lab or f"one host over {over}", outcome, console)
        found += len(outcome.faults)
    if found:
        raise typer.Exit(1)
