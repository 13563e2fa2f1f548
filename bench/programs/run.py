"""Real programs, unmodified, on emulated networks: what they call, what they take stock and with ECO, and that their
results are equal.

    python bench/programs/run.py                                      every program, network and placement
    python bench/programs/run.py --programs pw.x --networks three-subnets --launches 6 --json F.json
    python bench/programs/run.py --stages tuned --memory DIR --json F.json     a part of it, added to what F.json has

Needs `make programs build`. A cell is one program on one network and placement, measured in stages:

  native     one launch under the MPI library alone, profiled; its results are what all others must equal
  untuned    with nothing remembered a first job with ECO, which measures and plans what its budget allows; then paired
             launches, stock and with ECO, in turn
  tuned      the same after `eco tune` in a job of its own, for what the native launch's profile says takes the time
  served     one launch with ECO, tuned, profiled

Exit code 1 where a result differs. Run it alone.
"""

import argparse
import contextlib
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from eco import jobs, launch, paths, profile
from eco.cli.compare import Comparison, compare_line
from eco.cli.run import RunOptions
from eco.errors import InvalidArgument
from eco.lab import Lab, load
from eco.needs import needs_of
from eco.provenance import provenance
from eco.report.records import read_json, write_json
from eco.tune import Part, TuneOptions, tune_place

sys.path.insert(0, str(Path(__file__).parent))
from programs import INPUTS, PROGRAMS, Program, Results

SCHEMA, VERSION = "eco.bench.programs", 1
LIBRARY = "debian-openmpi"
SHOWN_ROWS = 40
#: Of the stages that are one launch: what ECO does.
MODES = {"native": "observe", "served": "on"}
Record = dict[str, Any]
#: By network, placement, program and stage.
Records = dict[tuple[str, ...], Record]


@dataclass
class Cell:
    """One program on one network and placement."""

    program: Program
    place: jobs.LabPlace
    timeout_s: float
    native: Results = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    launches: int = 0

    def command(self) -> list[str]:
        return self.place.command(self.program.words)

    def start(self, command: Sequence[str], timeout_s: float | None) -> jobs.Ended:
        """Every launch's results are looked at."""
        ended = self.place.start(command, timeout_s)
        if ended.code == 0:
            self.check(ended.output)
        return ended

    def check(self, output: str) -> None:
        results = self.program.results(output, Path.cwd())
        self.launches += 1
        if not self.native:
            self.native = results
        difference = self.program.difference(self.native, results)
        if difference is not None:
            self.differences.append(f"launch {self.launches}: {difference}")

    def profile(self, mode: str) -> profile.Profile:
        raw = Path.cwd() / "raw.json"
        settings = {"ECO": mode, "ECO_PROFILE": str(raw), "ECO_QUIET": "1"}
        command = self.place.command([*jobs.eco_exec(settings), *self.program.words])
        ended = self.start(command, self.timeout_s)
        jobs.check(ended, f"{mode} launch of {self.program.name}", "run it by hand to see why")
        return profile.read(raw)

    def compare(self, launches: int) -> Comparison:
        line = launch.parse(self.command())
        return compare_line(line, launches, RunOptions(), self.start, self.timeout_s, lambda _: None)


@contextlib.contextmanager
def working_directory(program: Program) -> Iterator[Path]:
    """An empty folder with the program's inputs; jobs run there."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="eco-program-") as name:
        for file in program.inputs:
            shutil.copy(INPUTS / file, name)
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def told(found: profile.Profile) -> dict[str, Any]:
    """A profile's longest rows and totals."""
    document = found.to_dict()
    document["rows"] = document["rows"][:SHOWN_ROWS]
    return document


@contextlib.contextmanager
def memory(
    lab: Lab, program: Program, stage: str, native: Record, options: argparse.Namespace, console: Console
) -> Iterator[float | None]:
    """What jobs of a stage remember: of untuned ones nothing, at first. Seconds that tuning took."""
    is_tuned = stage in ("tuned", "served")
    with tempfile.TemporaryDirectory(prefix="eco-cache-") as name:
        of_place = f"{program.name}-{lab.description.name}-{lab.placement.replace(':', '-')}"
        folder = options.memory / of_place if is_tuned else Path(name)
        os.environ["ECO_CACHE_DIR"] = str(folder)
        lab.use()
        if not is_tuned:
            yield None
            return
        note = folder / "tuned.json"
        if not note.exists():
            found = profile.from_document(native["profile"])
            parts = [Part(need.grid.words(), need.seconds) for need in needs_of(found.rows, found.ranks)]
            if not parts:
                raise InvalidArgument(f"{program.name}: no collective of all ranks that a plan could change")
            how = TuneOptions(budget_s=options.budget, timeout_s=options.timeout)
            took_s = tune_place(jobs.LabPlace(lab), parts, console, how)
            note.write_text(json.dumps(took_s))
        yield json.loads(note.read_text())


def measure(
    lab: Lab, program: Program, stage: str, native: Record, options: argparse.Namespace, console: Console
) -> Record:
    """One stage of a cell; `native`: its first stage's record."""
    record: Record = {
        "program": program.name,
        "network": lab.description.name,
        "placement": lab.placement,
        "stage": stage,
        "provenance": provenance(),
    }
    if stage != "native" and not native:
        raise InvalidArgument(f"{program.name}: {stage} needs the stage native, in this run or in --json")
    with memory(lab, program, stage, native, options, console) as tuning_s, working_directory(program):
        cell = Cell(program, jobs.LabPlace(lab), options.timeout, native.get("results", {}))
        if stage in MODES:
            found = cell.profile(MODES[stage])
            record["profile"] = told(found)
            text = f"{found.wall_s:.2f} s, {found.collective_s:.2f} s of it in collectives"
        else:
            comparison = cell.compare(options.launches)
            record |= {"tuning_s": tuning_s, "compared": comparison.to_dict()}
            text = comparison.verdict()
    console.print(" ".join(key_of(record)) + f": {text}", highlight=False)
    for difference in cell.differences:
        console.print(f"  DIFFERENT, {difference}", style="bold red", highlight=False)
    return record | {"results": cell.native, "launches": cell.launches, "differences": cell.differences}


def key_of(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(record[name] for name in ("network", "placement", "program", "stage"))


def measured(path: Path | None) -> Records:
    """The records that a file has, by stage of a cell."""
    if path is None or not path.exists():
        return {}
    return {key_of(record): record for record in read_json(path, SCHEMA, VERSION)["records"]}


def show(records: Records, console: Console) -> None:
    table = Table(title="whole programs, medians; stock / ECO with its interval", title_justify="left")
    titles = ("network", "placement", "program", "stage", "in collectives", "first job", "stock", "ECO")
    for name in (*titles, "stock / ECO", "results"):
        table.add_column(name, no_wrap=True)
    for key, record in sorted(records.items()):
        results = "DIFFERENT" if record["differences"] else "equal"
        if "profile" in record:
            found = record["profile"]
            share = f"{found['collective_s'] / found['wall_s']:.0%}"
            table.add_row(*key, share, "", f"{found['wall_s']:.2f} s", "", "", results)
            continue
        wall = record["compared"]["wall"]
        ratio = wall["ratio"]
        table.add_row(
            *key,
            "",
            f"{record['compared']['preparation_s']:.2f} s",
            f"{wall['stock_median_s']:.2f} s",
            f"{wall['eco_median_s']:.2f} s",
            f"{ratio['ratio']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})",
            results,
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--networks", default="three-subnets,two-sites")
    parser.add_argument("--placements", default="block,shuffled:1")
    parser.add_argument("--stages", default="native,untuned,tuned,served")
    parser.add_argument("--memory", type=Path, help="a folder that keeps what tuning finds, for the next run")
    parser.add_argument("--budget", type=float, help="seconds that tuning may take, network included")
    parser.add_argument("--launches", type=int, default=3, help="pairs of launches in each stage")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds that one launch may take")
    parser.add_argument("--json", type=Path, help="write all launches, beside other cells of that file")
    parser.add_argument("--show", action="store_true", help="only the table of the file")
    return parser.parse_args()


def main() -> int:
    options, console = parse(), Console(width=160)
    if options.show:
        show(measured(options.json), console)
        return 0
    prefix = paths.library_dir(LIBRARY)
    # The launcher that the commands are read for is the lab's.
    os.environ["PATH"] = f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"
    programs = [PROGRAMS[name] for name in options.programs.split(",")]
    for missing in filter(None, (program.why_not() for program in programs)):
        console.print(missing)
        return 2
    with tempfile.TemporaryDirectory(prefix="eco-memory-") as memory_of_this_run:
        options.memory = (options.memory or Path(memory_of_this_run)).absolute()
        records = measure_all(programs, options, console)
    show(records, console)
    return 1 if any(record["differences"] for record in records.values()) else 0


def measure_all(programs: Sequence[Program], options: argparse.Namespace, console: Console) -> Records:
    records = measured(options.json)
    for network, placement in itertools.product(options.networks.split(","), options.placements.split(",")):
        with Lab(load(network), library=LIBRARY, placement=placement) as lab:
            for stage, program in itertools.product(options.stages.split(","), programs):
                native = records.get((network, placement, program.name, "native"), {})
                record = measure(lab, program, stage, native, options, console)
                records[key_of(record)] = record
                if options.json:
                    ordered = [records[key] for key in sorted(records)]
                    write_json(options.json, {"schema": SCHEMA, "version": VERSION, "records": ordered})
    return records


if __name__ == "__main__":
    sys.exit(main())
