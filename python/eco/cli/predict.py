"""`eco predict`: what recipes would take, without running them.

    eco predict --op allreduce --size 1MiB --network network.json             the best candidates, cost by term
    eco predict --op allgather --size 1MiB --search 500                       and patterns that nobody wrote down
    eco predict --op broadcast --size 64KiB --recipe "broadcast/subnets segment=8624" --gantt chart.html
    eco predict --op broadcast --map map.html                                 the choice by size and number of ranks

`eco explain` asks the same question and says why the others lost; here are numbers and pictures. `eco trace` runs a
recipe and draws what happened under what was predicted.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from eco import _core
from eco.cli.explain import Candidate, Group, candidates, latest_network, make_group
from eco.cli.options import NetworkFile, Placement, Ranks, Root, output_file, output_picture
from eco.collectives import check_known
from eco.errors import EcoError, InvalidArgument
from eco.report.decision_map import ENDINGS as MAP_ENDINGS
from eco.report.decision_map import Choice
from eco.report.gantt import Interval, Timeline
from eco.report.progress import busy, make_console
from eco.report.records import parse_size, seconds_text, size_text, write_json

SCHEMA = "eco.predict"
VERSION = 1

#: Of a decision map: from one packet's part to what an uplink carries in a second.
MAP_SIZES = (8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20)
#: Columns of a terminal below which a recipe has no room beside its numbers.
NARROW = 110


def found_by_search(
    group: Group, collective: str, size: int, root: int, steps: int, seed: int = 1
) -> list[Candidate]:
    """Recipes beyond the candidates that are predicted to beat all of them."""
    text = _core.search(group.network, list(group.host_of_rank), collective, size, root, steps, seed)
    return [Candidate(**record) for record in json.loads(text)]


def predicted_timeline(group: Group, recipe: str, collective: str, size: int, root: int) -> Timeline:
    """What a recipe does when, on every resource."""
    text = _core.timeline(group.network, list(group.host_of_rank), recipe, collective, size, root)
    record = json.loads(text)
    return Timeline(
        title=f"{recipe}, {size_text(size)} over {len(group.host_of_rank)} ranks, predicted",
        seconds=record["seconds"],
        resources=tuple(resource["name"] for resource in record["resources"]),
        intervals=tuple(Interval(**interval) for interval in record["intervals"]),
    )


def one_recipe(group: Group, recipe: str, collective: str, size: int, root: int) -> Candidate:
    """A recipe by hand, in the form of the candidates. Raises InvalidArgument where it does not fit."""
    text = _core.predict_recipe(group.network, list(group.host_of_rank), recipe, collective, size, root)
    return Candidate(**json.loads(text))


def counts_of_ranks(n_ranks: int) -> list[int]:
    """Powers of two below all ranks, and all."""
    counts = [1 << k for k in range(1, n_ranks.bit_length()) if 1 << k < n_ranks]
    return [*counts, n_ranks]


def choices(group: Group, collective: str, root: int, sizes: tuple[int, ...] = MAP_SIZES) -> list[Choice]:
    """The cheapest recipe for each size and for the first 2, 4, 8, ... ranks of the group."""
    found: list[Choice] = []
    if collective == "barrier":
        sizes = (0,)
    for count in counts_of_ranks(len(group.host_of_rank)):
        part = replace(group, host_of_rank=group.host_of_rank[:count])
        for size in sizes:
            best = candidates(part, collective, size, min(root, count - 1), prune=True)[0]
            if best.predicted_s is not None:
                found.append(Choice(size, count, best.recipe, best.predicted_s))
    return found


def table(shown: list[Candidate], title: str, width: int) -> Table:
    """Predicted seconds by term, cheapest first. Where the terminal is narrow, the recipes follow below the numbers."""
    narrow = width < NARROW
    out = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    if narrow:
        out.add_column("", justify="right", no_wrap=True)
    for name in ("predicted", "transfer", "latency", "overhead", "combine"):
        out.add_column(name, justify="right", no_wrap=True)
    out.add_column("busiest", no_wrap=True)
    if not narrow:
        out.add_column("recipe", overflow="fold")
    recipes: list[str] = []
    for number, candidate in enumerate(shown, start=1):
        terms = (candidate.transfer_s, candidate.latency_s, candidate.overhead_s, candidate.combine_s)
        recipe = (
            candidate.recipe
            + (" (extrapolated from fewer segments)" if candidate.extrapolated else "")
            + (" (native parts guessed)" if candidate.guesses_native else "")
        )
        recipes.append(f"{number} {recipe}")
        out.add_row(
            *([str(number)] if narrow else []),
            seconds_text(candidate.predicted_s or 0.0),
            *(seconds_text(term) for term in terms),
            f"{candidate.busiest} {seconds_text(candidate.busiest_s)}" if candidate.busiest else "-",
            *([] if narrow else [recipe]),
        )
    if narrow:
        out.caption, out.caption_justify = "\n".join(recipes), "left"
    return out


def predict(
    op: Annotated[str, typer.Option(help="which operation, like allgather")] = "broadcast",
    size: Annotated[str, typer.Option(help="like 16KiB or 1MiB")] = "1MiB",
    network: NetworkFile = None,
    placement: Placement = "block",
    ranks: Ranks = None,
    root: Root = 0,
    recipe: Annotated[str | None, typer.Option(help="predict this one instead of all candidates")] = None,
    search: Annotated[
        int, typer.Option(help="also search beyond the candidates, with so many predictions", min=0)
    ] = 0,
    seed: Annotated[int, typer.Option(help="of the search", min=0)] = 1,
    top: Annotated[int, typer.Option(help="how many of the cheapest to show", min=1)] = 10,
    json_file: Annotated[
        Path | None,
        output_file("write all candidates, for a program to read", "--json"),
    ] = None,
    gantt_file: Annotated[
        Path | None,
        output_picture("draw what the cheapest does when: .html or .svg", "--gantt"),
    ] = None,
    map_file: Annotated[
        Path | None,
        output_picture(
            "draw the choice for each size and number of ranks: .html", "--map", endings=MAP_ENDINGS
        ),
    ] = None,
) -> None:
    """Say what recipes would take on a network, by term, and draw it."""
    check_known(op)
    n_bytes = 0 if op == "barrier" else parse_size(size)
    group = make_group(network or latest_network(), placement, ranks)
    if n_bytes == 0 and op != "barrier":
        raise InvalidArgument(f"--size {size}: of no bytes nothing is sent, so there is nothing to predict")
    if recipe:
        able = [one_recipe(group, recipe, op, n_bytes, root)]
    else:
        with busy(f"predicting every {op} for {len(group.host_of_rank)} ranks"):
            found = found_by_search(group, op, n_bytes, root, search, seed) if search else []
            able = found + [c for c in candidates(group, op, n_bytes, root) if c.predicted_s is not None]
    if not able:
        raise EcoError(f"no algorithm serves {op} of {size_text(n_bytes)} here; eco explain says why")
    n_ranks = len(group.host_of_rank)
    what = f"{op} of {size_text(n_bytes)}" if n_bytes else op
    console = make_console()
    console.print(table(able[:top], f"{what} over {n_ranks} ranks, {placement}", console.width))
    if not recipe:
        rest = f"{max(0, len(able) - top)} slower ones not shown"
        console.print(f"{rest}; {len(found)} found by search" if search else rest, highlight=False)
    if json_file:
        document = {
            "schema": SCHEMA,
            "version": VERSION,
            "collective": op,
            "bytes": n_bytes,
            "root": root,
            "network": _core.network_fingerprint(group.network),
            "host_of_rank": list(group.host_of_rank),
            "candidates": [candidate.to_dict() for candidate in able],
        }
        write_json(json_file, document)
        console.print(f"written: {json_file}", highlight=False)
    if gantt_file:
        from eco.report import gantt  # plotly takes its time

        gantt.write(predicted_timeline(group, able[0].recipe, op, n_bytes, root), gantt_file)
        console.print(f"written: {gantt_file}", highlight=False)
    if map_file:
        title = f"{op}, {placement}: cheapest predicted of ECO's patterns"
        with busy("predicting for each size and number of ranks"):
            chosen = choices(group, op, root)
        from eco.report import decision_map  # plotly takes its time

        decision_map.write(chosen, title, map_file)
        console.print(f"written: {map_file}", highlight=False)
