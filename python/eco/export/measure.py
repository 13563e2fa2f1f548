"""Timing a library's own algorithms on the ranks of a place, until there is nothing left to learn or no time.

    search = Search(place, record, options, console)
    search.run(lambda: record.write(path))                # may be interrupted, and goes on from the record

A launch sets one candidate for each operation, by the very files that an export writes, so that all operations are
searched at once. Rounds of launches hold every candidate that still may win and the default; from the second on, those
are left out that were far from the best. Read `next_launch`, which is pure: what a record lacks is what comes next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from eco import jobs, rank, stats
from eco.errors import EcoError, Timeout
from eco.export.decide import Rule, decide, rules_of
from eco.export.files import Export
from eco.export.record import DEFAULT, EXPORTED, OWN, Launch, Record
from eco.report.progress import launch_progress
from eco.report.records import seconds_text, size_text

#: A candidate that took this many times what the best (or the default) did stays behind.
BEHIND = 1.3


@dataclass(frozen=True)
class SearchOptions:
    """How much is measured."""

    rounds: int = 3  # of the search
    checks: int = 3  # pairs of fresh launches, default and exported
    min_reps: int = 3
    max_seconds: float = 0.2  # of each cell in each launch, beyond min_reps
    budget_s: float | None = None
    timeout_s: float = 600.0  # of one launch
    any_operation: bool = True  # what is checked is what will be written


@dataclass(frozen=True)
class Planned:
    """A launch that is to be made: of each operation how it runs and at which sizes."""

    phase: str
    round: int
    ways: Mapping[str, str]
    sizes: Mapping[str, list[int]]


def next_launch(record: Record, options: SearchOptions) -> Planned | None:
    """What comes next; nothing if all that was asked for is there."""
    for number in range(options.rounds):
        planned = _of_round(record, number)
        if planned is not None:
            return planned
    choices = decide(record, options.any_operation, checked=False)
    ops = {choice.operation: record.sizes_of(choice.operation) for choice in choices}
    for number in range(options.checks if ops else 0):
        # Neither of the two is always the first.
        for way in (DEFAULT, EXPORTED) if number % 2 == 0 else (EXPORTED, DEFAULT):
            left = {
                op: sizes
                for op, sizes in ops.items()
                if not record.of("check", op, way, sizes[0]).get(number)
            }
            if left:
                return Planned("check", number, dict.fromkeys(left, way), left)
    return None


def launches_left(record: Record, options: SearchOptions) -> int:
    """How many there will be at most, as far as the record tells."""
    done = [launch.round for launch in record.launches if launch.phase == "search"]
    reached = max(done, default=0)
    in_round = [
        max((len(s) for s in _missing(record, n).values()), default=0) for n in (reached, reached + 1)
    ]
    search = in_round[0] + in_round[1] * max(0, options.rounds - 1 - reached)
    checks = sum(launch.phase == "check" for launch in record.launches)
    return search + max(0, 2 * options.checks - checks)


def _of_round(record: Record, number: int) -> Planned | None:
    """The first way that every operation lacks. Odd rounds go backwards, so that the default is not always first."""
    missing = {op: ways for op, ways in _missing(record, number).items() if ways}
    if not missing:
        return None
    first = {op: list(ways)[0 if number % 2 == 0 else -1] for op, ways in missing.items()}
    # The default of all operations is one launch, since it is one set of variables; so is that of none.
    apart = [op for op, way in first.items() if (way == DEFAULT) == (next(iter(first.values())) == DEFAULT)]
    return Planned(
        "search", number, {op: first[op] for op in apart}, {op: missing[op][first[op]] for op in apart}
    )


def _missing(record: Record, number: int) -> dict[str, dict[str, list[int]]]:
    """Of each operation the ways that this round lacks, with their sizes."""
    out = {}
    for op in record.operations():
        wanted = _wanted(record, op, number)
        out[op] = {
            way: sizes
            for way, sizes in wanted.items()
            if not record.of("search", op, way, sizes[0]).get(number)
        }
    return out


def _wanted(record: Record, op: str, number: int) -> dict[str, list[int]]:
    """Way and sizes of all that should run in this round; the default where anything is held against it."""
    own = [OWN] if record.operations()[op].settings else []
    sizes, candidates = record.sizes_of(op), record.candidates(op)
    if not candidates:
        return {}
    if number == 0:
        return dict.fromkeys([DEFAULT, *own, *candidates], sizes)
    before = {way: {s: _median(record, op, way, s, number) for s in sizes} for way in [DEFAULT, *candidates]}
    alive: dict[str, list[int]] = {}
    for label, candidate in candidates.items():
        if candidate.whole or record.operations()[op].one_rule:
            alive[label] = sizes if _near_on_the_whole(before, label, list(candidates), sizes) else []
        else:
            alive[label] = [s for s in sizes if _near(before, label, list(candidates), s)]
    alive = {label: at for label, at in alive.items() if at}
    # The default wherever something is left; at all sizes where the library must be asked for a choice of its own.
    held = sizes if own and alive else [s for s in sizes if any(s in at for at in alive.values())]
    return {DEFAULT: held, **dict.fromkeys(own, held), **alive} if alive else {}


def _median(record: Record, op: str, way: str, size: int, before: int) -> float | None:
    """Of the rounds before this one, so that what a round holds does not change while it runs."""
    launches = record.of("search", op, way, size)
    medians = [stats.median(calls) for number, calls in launches.items() if number < before]
    return stats.median(medians) if medians else None


Medians = Mapping[str, Mapping[int, float | None]]


def _near(before: Medians, label: str, rivals: list[str], size: int) -> bool:
    mine = before[label][size]
    others = [t for way in [DEFAULT, *rivals] if (t := before[way][size]) is not None]
    return mine is not None and mine <= BEHIND * min(others)


def _near_on_the_whole(before: Medians, label: str, rivals: list[str], sizes: list[int]) -> bool:
    def over_sizes(way: str) -> float | None:
        times = [t for s in sizes if (t := before[way][s]) is not None]
        return stats.geometric_mean(times) if len(times) == len(sizes) else None

    mine = over_sizes(label)
    others = [t for way in [DEFAULT, *rivals] if (t := over_sizes(way)) is not None]
    return mine is not None and mine <= BEHIND * min(others)


class Search:
    """Makes the launches that a record lacks."""

    def __init__(self, place: jobs.Place, record: Record, options: SearchOptions, console: Console) -> None:
        self.place = place
        self.record = record
        self.options = options
        self.console = console

    def run(self, keep: Callable[[], None]) -> bool:
        """To the end, or until the budget is spent; whether there is an end. `keep` is called after every launch."""
        began, made = time.monotonic(), 0
        with launch_progress(self.console, launches_left(self.record, self.options)) as step:
            while (planned := next_launch(self.record, self.options)) is not None:
                spent = time.monotonic() - began
                if made and self.options.budget_s is not None and spent > self.options.budget_s:
                    return False
                left = launches_left(self.record, self.options)
                eta = f", about {seconds_text(left * spent / made)} left" if made else ""
                step(f"{self.record.library}: {planned.phase} {planned.round + 1}{eta}")
                self._make(planned)
                made += 1
                keep()
        return True

    def _make(self, planned: Planned) -> None:
        """One launch. A candidate that fails is none; where several ran at once, they are tried one by one."""
        began = time.monotonic()
        try:
            timed = self._start(planned)
        except (jobs.JobError, Timeout) as error:
            if planned.phase != "search" or set(planned.ways.values()) & {DEFAULT, OWN}:
                raise
            ops = list(planned.ways)
            if len(ops) > 1:
                for part in (ops[: len(ops) // 2], ops[len(ops) // 2 :]):
                    self._make(Planned(planned.phase, planned.round, {op: planned.ways[op] for op in part},
                                       {op: planned.sizes[op] for op in part}))  # fmt: skip
                return
            self._drop(ops[0], planned.ways[ops[0]], str(error).splitlines()[-1])
            return
        wrong = {cell.collective for cell in timed.cells if not cell.correct}
        for op in wrong:
            if planned.ways[op] in (DEFAULT, OWN, EXPORTED):
                raise EcoError(f"{self.record.library}: wrong results of {op}, run as {planned.ways[op]}")
            self._drop(op, planned.ways[op], "wrong results")
        self.record.launches.append(
            Launch(planned.phase, planned.round, {op: way for op, way in planned.ways.items() if op not in wrong},
                   {(c.collective, c.bytes): c.seconds for c in timed.cells if c.collective not in wrong},
                   time.monotonic() - began)
        )  # fmt: skip

    def _drop(self, op: str, way: str, why: str) -> None:
        self.record.failed.setdefault(op, {})[way] = why
        self.console.print(f"{op} by {way} is left out: {why}", highlight=False)

    def _start(self, planned: Planned) -> rank.TimedLaunch:
        with jobs.scratch("export") as folder:
            settings = self._settings(planned, folder)
            cells = ",".join(f"{op}:{size}" for op, sizes in planned.sizes.items() for size in sizes)
            ways = ", ".join(f"{op} {way}" for op, way in planned.ways.items())
            return bench_cells(self.place, cells, settings, self.options, folder, f"launch of {ways}")

    def _settings(self, planned: Planned, folder: Path) -> dict[str, str]:
        """What makes the library run these ways, by files as an export has them."""
        if set(planned.ways.values()) == {DEFAULT}:
            return {}
        found = rules_of(decide(self.record, self.options.any_operation, checked=False))
        rules: dict[str, list[Rule]] = {}
        for op, way in planned.ways.items():
            if way == EXPORTED:
                rules[op] = found[op]
            else:
                rules[op] = [Rule(0, None, None if way == OWN else self.record.candidates(op)[way])]
        return export_of(self.record, rules, ["a launch of eco export"]).write(folder)


def export_of(record: Record, rules: Mapping[str, list[Rule]], notes: list[str]) -> Export:
    return Export(record.target, rules, notes, record.library_file, record.hosts, record.subnets)


def bench_cells(
    place: jobs.Place,
    cells: str,
    settings: Mapping[str, str],
    options: SearchOptions,
    folder: Path,
    what: str,
) -> rank.TimedLaunch:
    """eco-rank bench, stock, with these variables set."""
    out = folder / "samples.json"
    words = [place.rank_program(), "bench", "--cells", cells, "--min-reps", str(options.min_reps),
             "--max-seconds", f"{options.max_seconds:g}", "--out", str(out)]  # fmt: skip
    ended = place.start(place.stock(words, settings), options.timeout_s)
    if ended.code != rank.WRONG_RESULT or not out.exists():
        jobs.check(ended, what, "start the launcher by hand to see more")
    return rank.read_bench(out)


def titled(op: str, size: int) -> str:
    return op if op == "barrier" else f"{op} {size_text(size)}"
