"""Which rules follow from a record: a rule only where it wins by more than the noise.

    for choice in decide(record, any_operation=True): print(choice.operation, choice.rules())

Read `decide`. The estimator is that of eco bench (eco/stats.py): the ratio of paired rounds, default over candidate,
with a 95 % interval. The best of many candidates looks better than it is; so the rules found by the search are held
against the default in fresh launches, and what these do not confirm is dropped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from eco import stats
from eco.export.record import DEFAULT, EXPORTED, OWN, Record
from eco.export.tables import Candidate

#: A rule that gains less is not worth a file that must be kept.
LEAST_GAIN = 1.05
#: Above the largest measured size times this, the library decides again: nothing is known there.
BEYOND = 2
#: What needs an operation that commutes is offered only where the user says that all do.
COMMUTES = "commutes"


@dataclass(frozen=True)
class Rule:
    """Of operations from `first` to `last` bytes; no candidate: as the library chooses."""

    first: int
    last: int | None  # None: all larger ones too
    candidate: Candidate | None


@dataclass(frozen=True)
class Cell:
    """One size of one operation: what the file makes of it."""

    operation: str
    bytes: int
    candidate: Candidate | None
    default_s: float
    exported_s: float
    ratio: stats.Ratio  # default / exported
    checked: bool  # in launches that did not choose it

    def gains(self) -> bool:
        return self.ratio.low > 1 and self.ratio.ratio >= LEAST_GAIN

    def loses(self) -> bool:
        return self.ratio.high < 1


@dataclass(frozen=True)
class Choice:
    """One operation with rules."""

    operation: str
    cells: tuple[Cell, ...]
    whole: Candidate | None  # the same for every size, measured or not

    def rules(self) -> list[Rule]:
        if self.whole is not None:
            return [Rule(0, None, self.whole)]
        return spread([(cell.bytes, cell.candidate) for cell in self.cells])

    def gain(self) -> float:
        return stats.geometric_mean([cell.ratio.ratio for cell in self.cells])

    def helps(self) -> bool:
        return any(cell.gains() for cell in self.cells) and not any(cell.loses() for cell in self.cells)


def spread(points: Sequence[tuple[int, Candidate | None]]) -> list[Rule]:
    """Rules for all sizes from choices at some: each goes halfway to the next in ratio, the last to BEYOND times."""
    edges = [0]
    edges += [math.ceil(math.sqrt(max(a, 1) * b)) for (a, _), (b, _) in itertools.pairwise(points)]
    out: list[Rule] = []
    for (_, candidate), first in zip(points, edges, strict=True):
        if out and out[-1].candidate == candidate:
            continue
        out.append(Rule(first, None, candidate))
    if points[-1][0] > 0 and points[-1][1] is not None:
        out.append(Rule(points[-1][0] * BEYOND + 1, None, None))
    return [replace(a, last=b.first - 1) for a, b in itertools.pairwise(out)] + out[-1:]


def decide(record: Record, any_operation: bool, checked: bool = True) -> list[Choice]:
    """The choices of all operations that gain. `any_operation` leaves out what only commuting operations may
    use, where the library does not ask;
    `checked` takes account of the fresh launches, where there are some."""
    choices = []
    for op in record.operations():
        found = _search(record, op, any_operation)
        if found is not None and checked:
            found = _checked(record, found)
        if found is not None:
            choices.append(found)
    return choices


def rules_of(choices: Iterable[Choice]) -> dict[str, list[Rule]]:
    return {choice.operation: choice.rules() for choice in choices}


def compare(
    record: Record, phase: str, op: str, way: str, size: int
) -> tuple[float, float, stats.Ratio] | None:
    """Median default, median of this way, and their paired ratio; nothing where no round has both."""
    default, other = record.of(phase, op, DEFAULT, size), record.of(phase, op, way, size)
    rounds = sorted(default.keys() & other.keys())
    if not rounds:
        return None
    a, b = [default[r] for r in rounds], [other[r] for r in rounds]
    medians = [stats.median([stats.median(launch) for launch in launches]) for launches in (a, b)]
    return medians[0], medians[1], stats.ratio_of_launches(a, b)


def _cells(record: Record, op: str, candidate: Candidate | None) -> dict[int, Cell]:
    """Of a candidate, or of the library's own choice, the sizes at which it ran in as many rounds as any."""
    way = OWN if candidate is None else candidate.label
    asked = candidate is not None or record.operations()[op].settings
    cells = {}
    for size in record.sizes_of(op):
        rounds = len(record.of("search", op, DEFAULT, size))
        found = compare(record, "search", op, way if asked else DEFAULT, size)
        if found is not None and (not asked or len(record.of("search", op, way, size)) >= rounds):
            cells[size] = Cell(op, size, candidate, *found, checked=False)
    return cells


def _search(record: Record, op: str, any_operation: bool) -> Choice | None:
    unasked = any_operation and not record.target.asks_whether_commuting
    allowed = [c for c in record.candidates(op).values() if not (unasked and COMMUTES in c.needs)]
    own = _cells(record, op, None)
    measured = {c: _cells(record, op, c) for c in allowed}
    one_rule = record.operations()[op].one_rule
    choices = [_whole(record, op, c, cells) for c, cells in measured.items() if one_rule or c.whole]
    if not one_rule:
        by_size = {c: cells for c, cells in measured.items() if not c.whole}
        choices.append(_by_size(record, op, own, by_size))
    return max((c for c in choices if c is not None and c.helps()), key=Choice.gain, default=None)


def _whole(record: Record, op: str, candidate: Candidate, cells: Mapping[int, Cell]) -> Choice | None:
    sizes = record.sizes_of(op)
    return Choice(op, tuple(cells[s] for s in sizes), candidate) if cells.keys() >= set(sizes) else None


def _by_size(
    record: Record, op: str, own: Mapping[int, Cell], measured: Mapping[Candidate, Mapping[int, Cell]]
) -> Choice | None:
    chosen = []
    for size in record.sizes_of(op):
        rivals = [cells[size] for cells in measured.values() if size in cells]
        best = min(rivals, key=lambda cell: cell.exported_s, default=None)
        itself = own.get(size)
        if best is not None and (best.gains() or (itself is not None and itself.loses())):
            chosen.append(best)
        elif itself is not None:
            chosen.append(itself)
    return Choice(op, tuple(chosen), None) if len(chosen) == len(record.sizes_of(op)) else None


def _checked(record: Record, choice: Choice) -> Choice | None:
    """With the ratios of the fresh launches; nothing where they do not confirm any gain."""
    cells = []
    for cell in choice.cells:
        found = compare(record, "check", choice.operation, EXPORTED, cell.bytes)
        if found is None:
            return choice  # interrupted before
        fresh = replace(cell, default_s=found[0], exported_s=found[1], ratio=found[2], checked=True)
        if choice.whole is None and fresh.candidate is not None and not fresh.gains():
            own = _cells(record, choice.operation, None).get(cell.bytes)
            if own is None:
                return None
            fresh = own
        cells.append(fresh)
    confirmed = replace(choice, cells=tuple(cells))
    return confirmed if confirmed.helps() else None
