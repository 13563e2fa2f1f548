"""From a place to an export: who is there, what was known, what is measured, what is written.

written = export_place(place, task, console)          # Written(choices, settings, environment, complete)
again = write(Record.read(Path("DIR/record.json")), Path("DIR"), any_operation=True)
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from eco import __version__, jobs, rank
from eco.characterize import characterize_place
from eco.errors import EcoError, InvalidArgument
from eco.export import tables
from eco.export.decide import LEAST_GAIN, Choice, decide, rules_of
from eco.export.measure import Search, SearchOptions, bench_cells, export_of, titled
from eco.export.record import Record
from eco.provenance import provenance
from eco.report.records import seconds_text

RECORD = "record.json"


@dataclass(frozen=True)
class Task:
    """What is asked for."""

    to: str
    folder: Path
    ops: Sequence[str]
    sizes: Sequence[int]
    options: SearchOptions


@dataclass(frozen=True)
class Written:
    """What came of it."""

    record: Record
    choices: list[Choice]
    environment: Path | None  # nothing where there is no rule
    complete: bool = True


def export_place(place: jobs.Place, task: Task, console: Console) -> Written:
    """Measures what the record in the folder lacks, as far as the budget goes, and writes."""
    tables.check_word(task.to)
    record = _record(place, task)
    path = task.folder / RECORD
    record.write(path)
    complete = False
    try:
        complete = Search(place, record, task.options, console).run(lambda: record.write(path))
    except KeyboardInterrupt:
        console.print("interrupted: what was measured is kept; the same command goes on", highlight=False)
    except EcoError:
        if not record.launches:
            raise
        record.write(path)
        raise
    return write(record, task.folder, task.options.any_operation, complete)


def write(record: Record, folder: Path, any_operation: bool, complete: bool = True) -> Written:
    """The files that follow from a record. Where no rule does, those of an earlier export are taken away."""
    choices = decide(record, any_operation)
    export = export_of(record, rules_of(choices), notes(record, choices, any_operation))
    if not choices:
        export.remove(folder)
        return Written(record, choices, None, complete)
    environment = export.write_environment(folder, export.write(folder))
    return Written(record, choices, environment, complete)


def _record(place: jobs.Place, task: Task) -> Record:
    """What lies in the folder, if it is of the same task; else a new one."""
    there = _look(place, task)
    library = tables.library_that_decides(task.to, there.library)
    target = tables.target_of(task.to, library)
    fresh = Record(task.to, library, there.library_file, place.network, place.placement, list(there.hosts),
                   list(task.ops), list(task.sizes), provenance=_provenance(there))  # fmt: skip
    if not fresh.operations():
        raise InvalidArgument(
            f"--ops {','.join(task.ops)}: {target.library} has rules for {', '.join(target.operations)} alone"
        )
    path = task.folder / RECORD
    if path.exists():
        old = Record.read(path)
        if not old.same_task(fresh):
            raise InvalidArgument(
                f"{path} is of {old.library} on {old.ranks} ranks ({old.network}, {old.placement}; "
                f"{','.join(old.ops)}): give another --out, or take it away"
            )
        return old
    if any("{coordinates}" in value for value in target.settings.values()):
        fresh.subnets = _subnets(place, fresh.hosts, task)
    return fresh


def _look(place: jobs.Place, task: Task) -> rank.TimedLaunch:
    """A short launch: which library runs there, on which hosts."""
    with jobs.scratch("export") as folder:
        return bench_cells(place, "barrier:0", {}, task.options, folder, "a first look at the ranks")


def _subnets(place: jobs.Place, hosts: Sequence[str], task: Task) -> list[int]:
    """The subnet of every rank, as measured now."""
    network = characterize_place(place, None, None, task.options.timeout_s, None, remembered="left")
    number = {
        network["hosts"][h]["name"]: s for s, subnet in enumerate(network["subnets"]) for h in subnet["hosts"]
    }
    unknown = sorted(set(hosts) - number.keys())
    if unknown:
        raise EcoError(f"the measured network lacks the hosts {', '.join(unknown)}; are their names unique?")
    return [number[host] for host in hosts]


def _provenance(there: rank.TimedLaunch) -> dict[str, object]:
    found = provenance()
    found["clock"] = there.clock
    found["mpi"] = there.library
    found["estimator"] = (
        "median over paired rounds of (median call default / median call exported), 95 % percentile bootstrap"
    )
    return found


def notes(record: Record, choices: Sequence[Choice], any_operation: bool) -> list[str]:
    """What the written files say of themselves."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    hosts, asks = ",".join(record.hosts), record.target.asks_whether_commuting
    return [
        f"eco {__version__} export --to {record.to}, written {today}, measured {record.provenance['measured_at']}",
        f"{record.library}, {record.ranks} ranks, {record.placement}, network {record.network}, hosts of ranks {hosts}",
        "for these ranks on these hosts alone: groups of another number of ranks are as the library decides",
        "reductions: rules hold for any operation" if any_operation or asks else
        "reductions: only for operations that commute, the library does not look",
        *(line for choice in choices for line in _lines(choice)),
    ]  # fmt: skip


def _lines(choice: Choice) -> list[str]:
    """A line for each size."""
    out = []
    for cell in choice.cells:
        how = (
            choice.whole.label
            if choice.whole
            else cell.candidate.label
            if cell.candidate
            else "the library's own"
        )
        held = "in fresh launches" if cell.checked else "in the search alone"
        ratio = f"{cell.ratio.ratio:.2f} ({cell.ratio.low:.2f} to {cell.ratio.high:.2f})"
        out.append(
            f"{titled(choice.operation, cell.bytes)}: {how}, {seconds_text(cell.default_s)} to "
            f"{seconds_text(cell.exported_s)}, {ratio} times as fast, {held}"
        )
    return out


def without_rules(written: Written) -> str:
    """Why operations that were asked for have none, in a line."""
    record, have = written.record, {choice.operation for choice in written.choices}
    none = [op for op in record.operations() if op not in have]
    unknown = [op for op in record.ops if op not in record.operations()]
    parts = [f"nothing gains {LEAST_GAIN:.2f} times beyond the noise: {', '.join(none)}"] if none else []
    parts += [f"{record.target.library} has no rules for {', '.join(unknown)}"] if unknown else []
    return "; ".join(parts)
