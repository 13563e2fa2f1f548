"""Nonblocking collectives under ECO: any number at once, beside everything else, handles freed early."""

import pytest

from .conftest import Library, Rows

pytestmark = pytest.mark.mpi

#: A relay in every call, so that somebody in between has to pass it on.
CHAINS: Rows = {
    "broadcast": [(500, "broadcast/binomial"), (1 << 24, "broadcast/chain segment=4096")],
    "allreduce": [(500, "allreduce/binomial"), (1 << 24, "allreduce/ring segment=4096")],
    "allgather": [(1 << 24, "allgather/chain")],
    "reduce_scatter": [(1 << 24, "reduce_scatter/chain segment=4096")],
    "reduce": [(1 << 18, "reduce/reduce_scatter+gather segment=15000")],
    "scan": [(1 << 14, "scan/chain segment=110")],
    "barrier": [(0, "barrier/binomial")],
}
PARTS = [
    "remainders",
    "many",
    "progress",
    "beside",
    "freed",
    "uneven",
    "uneven_alone",
    "left_alone",
    "large",
    "threads",
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("ranks", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_beside_the_program(library: Library, part: str, ranks: int) -> None:
    program = library.compile("nonblocking", flags=["-ldl"])
    ended = library.run_served(ranks, [program, part], rows=CHAINS)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 0, ended.stderr


@pytest.mark.parametrize("part", [part for part in PARTS if part != "uneven"])
def test_without_eco(library: Library, part: str) -> None:
    ended = library.run(3, [library.compile("nonblocking", flags=["-ldl"]), part])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
