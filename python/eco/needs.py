"""What a program's profile says is worth tuning: operations and sizes, by the time they take.

    rows = profile.read_written(Path("profile.json")).rows      # of `eco profile --json`
    for need in needs_of(rows, ranks=8): need.grid, need.seconds
    seconds_elsewhere(rows, ranks=8)                             # {4: 1.5, 2: 0.1}

A plan is for the ranks of one communicator, so rows of communicators of other sizes are left out (the job plans their
calls itself); of the rest what takes least of the time is too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from eco.collectives import COLLECTIVES, Grid
from eco.profile import Row

#: Of the time in collectives that can be planned for: what is beyond is hardly felt.
SHARE = 0.95


@dataclass(frozen=True)
class Need:
    """An operation at the sizes that matter, and the seconds that all ranks spend there."""

    grid: Grid
    seconds: float


def _can_be_planned(row: Row) -> bool:
    return row.operation in COLLECTIVES and (row.bytes > 0 or row.operation == "barrier")


def needs_of(rows: Iterable[Row], ranks: int) -> list[Need]:
    """The heaviest first; none where the profile has nothing that a plan for so many ranks could change."""
    able = [row for row in rows if row.communicator_ranks == ranks and _can_be_planned(row)]
    able.sort(key=lambda row: -row.seconds)
    total, seen = sum(row.seconds for row in able), 0.0
    sizes: dict[str, dict[int, float]] = {}
    for row in able:
        if seen >= SHARE * total:
            break
        seen += row.seconds
        # The longest call's, so that the plan holds for all.
        size = max(1, row.largest_bytes or row.up_to_bytes)
        of_operation = sizes.setdefault(row.operation, {})
        of_operation[size] = of_operation.get(size, 0.0) + row.seconds
    needs = [Need(Grid((op,), tuple(sorted(of))), sum(of.values())) for op, of in sizes.items()]
    return sorted(needs, key=lambda need: -need.seconds)


def seconds_elsewhere(rows: Iterable[Row], ranks: int) -> dict[int, float]:
    """Seconds of all ranks in calls that plans of other ranks could change, by the size of their communicators."""
    seconds: defaultdict[int, float] = defaultdict(float)
    for row in rows:
        if row.communicator_ranks not in (1, ranks) and _can_be_planned(row):
            seconds[row.communicator_ranks] += row.seconds
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))
