"""`eco demo`: the main job end to end on an emulated network.

    eco demo                     # about two minutes; writes demo/

Brings up `three-subnets`, measures it, shows the subnets that were found, times stock against ECO under both libraries
and two placements, and compares a small real program. Where the kernel forbids namespaces, the same from prediction.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from eco import _core, jobs, launch, paths
from eco import network as networks
from eco.bench import Bench, lab_bounds
from eco.characterize import characterize_place, describe
from eco.cli import compare, explain
from eco.cli.bench import finish
from eco.cli.options import output_folder
from eco.cli.run import RunOptions
from eco.errors import Unsupported
from eco.lab import Lab, load
from eco.pairs import BenchOptions
from eco.report import network_view, picture
from eco.report.progress import launch_progress, make_console, rank_progress
from eco.report.records import seconds_text, size_text, write_json

NETWORK = "three-subnets"
OPS = ("broadcast", "allreduce")
#: Not 1 MiB: tuning there takes a minute for each library and placement, most of it the library's own broadcast.
SIZES = (16 * 1024, 256 * 1024)
LIBRARIES = ("openmpi", "mpich")
PLACEMENTS = ("block", "shuffled:1")


@dataclass(frozen=True)
class DemoOptions:
    """How much of it."""

    out: Path
    libraries: Sequence[str] = LIBRARIES
    placements: Sequence[str] = PLACEMENTS
    launches: int = 1
    program_pairs: int = 2

    @staticmethod
    def of(out: Path, quick: bool) -> DemoOptions:
        """The quick one shows one library, shuffled."""
        if quick:
            return DemoOptions(out, LIBRARIES[:1], PLACEMENTS[1:], program_pairs=1)
        return DemoOptions(out)


def why_no_lab() -> str | None:
    """Why no network can be emulated here; None where one comes up."""
    try:
        with Lab(load(NETWORK)):
            return None
    except Unsupported as error:
        return str(error)


def measured(options: DemoOptions, console: Console) -> int:
    """The demo on the emulated network."""
    description = load(NETWORK)
    bench_options = BenchOptions(OPS, SIZES, launches=options.launches, min_reps=2, max_seconds=1.0)
    run = Bench(bench_options, suspects=False, console=console)
    with Lab(description, library=options.libraries[0], placement=options.placements[0]) as lab:
        hosts = len(description.hosts)
        console.rule(f"{NETWORK}: {hosts} emulated hosts, up in {lab.seconds_to_build:.1f} s")
        for library in options.libraries:
            lab.use(library, options.placements[0])
            measure_network(lab, options, console)
        console.rule("what was found, from nothing but the ranks' own messages")
        console.print(network_view.tree(networks.load(options.out / "network.json")))
        console.rule("stock against ECO")
        for library in options.libraries:
            for placement in options.placements:
                lab.use(library, placement)
                run.measure(jobs.LabPlace(lab), lab_bounds(lab))
        outcome = run.outcome()
        code = finish(outcome, options.out / "results.json", options.out / "results.html", console)
        picture.write_svg(outcome.results, options.out / "results.svg")
        console.rule("a real program")
        compare_example(lab, options, console)
    return code


def measure_network(lab: Lab, options: DemoOptions, console: Console) -> None:
    """Characterizes under the library that the lab has now; the first library's file is kept."""
    out = options.out / (
        "network.json" if lab.library == options.libraries[0] else f"network-{lab.library}.json"
    )
    began = time.monotonic()
    with rank_progress(console) as progress:
        network = characterize_place(
            jobs.LabPlace(lab), out, None, 300.0, progress(f"measuring under {lab.library}")
        )
    found = describe(network)
    console.print(f"{lab.library}: {found}, measured in {time.monotonic() - began:.1f} s", highlight=False)


def compare_example(lab: Lab, options: DemoOptions, console: Console) -> None:
    """The example program stock and with ECO, on the shuffled placement of the first library."""
    lab.use(options.libraries[0], options.placements[-1])
    program = example_program(lab.library, options.out)
    if program is None:
        console.print("the examples are in ECO's source tree, which is not here: skipped")
        return
    words = ["mpirun", "-n", str(len(lab.hosts_of_ranks)), *program]
    line = launch.parse(words, launch.of_library(lab.library))

    def start(command: Sequence[str], timeout_s: float | None) -> jobs.Ended:
        ended = lab.run(command, timeout=timeout_s, capture=True)
        return jobs.Ended(ended.returncode, ended.stdout, ended.stderr)

    with launch_progress(console, 2 * options.program_pairs + 1) as step:
        settings = RunOptions(settings=jobs.LabPlace(lab).library_settings)
        result = compare.compare_line(line, options.program_pairs, settings, start, 300.0, step)
    compare.show(result, console)
    compare.write(result, options.out / "compare.json")
    (options.out / "logistic").unlink(missing_ok=True)


def predicted(options: DemoOptions, console: Console) -> int:
    """What would be measured, from the predictor on a network that was recorded elsewhere."""
    recorded = paths.networks_dir() / "recorded" / f"{NETWORK}.json"
    network = networks.load(recorded)
    console.rule(f"{NETWORK}: recorded {network.measured_at}, not measured here")
    console.print(network_view.tree(network))
    console.rule("PREDICTED, not measured: a binomial tree in rank order against ECO's choice")
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("operation", "size", "placement", "in rank order", "ECO", "ratio", "recipe"):
        table.add_column(name, justify="left" if name in ("operation", "placement", "recipe") else "right")
    cells: list[dict[str, Any]] = []
    for placement in options.placements:
        group = explain.make_group(recorded, placement, None)
        for collective in OPS:
            for size in SIZES:
                cells.append(predicted_cell(group, placement, collective, size))
    for cell in cells:
        plain, chosen = cell["rank_order_s"], cell["eco_s"]
        table.add_row(cell["collective"], size_text(cell["bytes"]), cell["placement"], seconds_text(plain),
                      seconds_text(chosen), f"{plain / chosen:.2f}", cell["recipe"])  # fmt: skip
    console.print(table)
    document = {
        "schema": "eco.predicted",
        "version": 1,
        "predicted": True,
        "network": NETWORK,
        "cells": cells,
    }
    write_json(options.out / "predicted.json", document)
    shutil.copyfile(recorded, options.out / "network.json")
    network_view.write_html(network, options.out / "network.html")
    return 0


def predicted_cell(group: explain.Group, placement: str, collective: str, size: int) -> dict[str, Any]:
    """A binomial tree in rank order, as a stand-in for a library, and the cheapest of all candidates."""
    able = [c for c in explain.candidates(group, collective, size, 0) if c.predicted_s is not None]
    # What libraries do where they know nothing of the network: the whole message down a binomial tree.
    tree = f"{collective}/binomial segment=0 window=0 between=binomial inside=binomial"
    plain_s = _core.predict(group.network, list(group.host_of_rank), tree, collective, size, 0)
    return {
        "collective": collective,
        "bytes": size,
        "placement": placement,
        "rank_order_s": plain_s,
        "rank_order_recipe": tree,
        "eco_s": able[0].predicted_s,
        "recipe": able[0].recipe,
    }


def example_program(library: str, out: Path) -> list[str] | None:
    """Logistic regression in C, built with the library's own compiler; k-means in Python where that fails."""
    root = paths.checkout()
    if root is None:
        return None
    examples = root / "examples"
    prefix = paths.library_dir(library)
    compiler = prefix / "bin" / "mpicc"
    if (examples / "logistic.c").exists() and compiler.exists() and shutil.which("cc"):
        program = (out / "logistic").absolute()
        words = [str(compiler), "-O2", "-o", str(program), str(examples / "logistic.c"), "-lm"]
        with contextlib.suppress(OSError):
            if subprocess.run(words, capture_output=True, check=False, timeout=120).returncode == 0:
                return [str(program), "10"]
    python, program = prefix / "bin" / "python", examples / "kmeans.py"
    return [str(python), str(program), "--starts", "1"] if python.exists() and program.exists() else None


def demo(
    out: Annotated[Path, output_folder("folder for network.json, results.json and the picture")] = Path(
        "demo"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="one library and placement, one launch each")
    ] = False,
    predict: Annotated[
        bool, typer.Option("--predict", help="predict instead of running an emulated network")
    ] = False,
) -> None:
    """Show the main job end to end on an emulated network, in about two minutes."""
    console = make_console()
    began = time.monotonic()
    options = DemoOptions.of(out, quick)
    out.mkdir(parents=True, exist_ok=True)
    why = "prediction was asked for" if predict else why_no_lab()
    if why is None:
        code = measured(options, console)
    else:
        console.print(f"no emulated network: {why}", highlight=False)
        code = predicted(options, console)
    files = ", ".join(sorted(path.name for path in out.iterdir() if path.is_file()))
    console.print(f"{time.monotonic() - began:.0f} s; {out}/ holds {files}", highlight=False)
    sys.stdout.flush()
    raise typer.Exit(code)
