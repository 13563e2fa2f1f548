"""What a profile says is worth tuning."""

from dataclasses import replace
from typing import Any

import pytest

from eco.collectives import Grid
from eco.needs import needs_of, seconds_elsewhere
from eco.profile import Row


def row(operation: str, size: int, seconds: float, ranks: int = 8, calls: int = 10) -> Row:
    facts: dict[str, Any] = {
        "up_to_bytes": 1 << 20,
        "ranks": ranks,
        "least_s": 0.0,
        "most_s": 0.0,
        "most_rank": 0,
        "largest_bytes": size,
    }
    return Row(operation, ranks, calls=calls, bytes=size * calls, seconds=seconds, fates={}, **facts)


def test_the_heaviest_come_first_and_the_lightest_not_at_all() -> None:
    rows = [row("broadcast", 100, 1.0), row("alltoall", 65536, 60.0), row("broadcast", 4096, 9.0), row("scan", 8, 0.5),
            row("alltoall", 1024, 30.0)]  # fmt: skip
    needs = needs_of(rows, 8)
    assert [need.grid for need in needs] == [
        Grid(("alltoall",), (1024, 65536)),
        Grid(("broadcast",), (4096,)),
    ]
    assert [need.seconds for need in needs] == [90.0, 9.0]


def test_only_what_a_plan_for_these_ranks_can_change() -> None:
    beside = [row("alltoallv", 100, 5.0), row("allreduce", 8, 5.0, ranks=4), row("allreduce", 0, 5.0)]
    rows = [*beside, row("barrier", 0, 1.0)]
    assert [need.grid.cells() for need in needs_of(rows, 8)] == [[("barrier", 0)]]
    assert needs_of(rows, 2) == []


def test_what_communicators_of_other_sizes_take_is_told() -> None:
    rows = [
        row("allreduce", 8, 5.0),
        row("barrier", 0, 1.0, ranks=2),
        row("gather", 8, 2.0, ranks=4),
        row("scan", 8, 0.5, ranks=2),
    ]
    never_planned = [row("alltoallv", 8, 9.0, ranks=4), row("allreduce", 8, 9.0, ranks=1)]
    assert list(seconds_elsewhere([*rows, *never_planned], 8).items()) == [(4, 2.0), (2, 1.5)]


def test_calls_of_several_lengths_are_tuned_at_the_longest() -> None:
    several = replace(row("allreduce", 3000, 1.0), largest_bytes=3936, up_to_bytes=4096)
    assert needs_of([several], 8)[0].grid.sizes == (3936,)
    of_an_earlier_version = replace(several, largest_bytes=None)
    assert needs_of([of_an_earlier_version], 8)[0].grid.sizes == (4096,)


@pytest.mark.parametrize("sizes", [(1000, 1000), (1000, 2000)])
def test_sizes_of_one_operation_are_tuned_together(sizes: tuple[int, int]) -> None:
    (need,) = needs_of([row("gather", size, 1.0) for size in sizes], 8)
    assert need.grid.sizes == tuple(sorted(set(sizes)))
    assert need.seconds == 2.0
