"""Nonblocking collectives under ECO: any number at once, beside everything else, handles freed early."""

import pytest

from eco import paths

from .conftest import Library, Rows

pytestmark = pytest.mark.mpi

#: A relay in every call, so that somebody in between has to pass it on.
CHAINS: Rows = {
    "broadcast": [(500, "broadcast/binomial"), (1 << 24, "broadcast/chain segment=4096")],
    "allreduce": [(500, "allreduce/binomial"), (1 << 24, "allreduce/ring segment=4096")],
    "allgather": [(1 << 24, "allgather/chain")],
    "reduce_scatter": [(1 << 24, "reduce_scatter/chain segment=4096")],
    "barrier": [(0, "barrier/binomial")],
}
PARTS = [
    "many", "progress", "beside", "freed", "uneven", "uneven_alone", "left_alone", "large", "threads", "barriers",
]  # fmt: skip
#: Nothing but the reduce, on lengths that are no equal blocks, has more channels than the largest call of a row.
REMAINDERS: Rows = {
    "broadcast": [(1 << 17, "broadcast/binomial")],
    "allreduce": [(500, "allreduce/binomial")],
    "allgather": [(500, "allgather/chain")],
    "reduce_scatter": [(500, "reduce_scatter/chain")],
    "reduce": [(1 << 17, "reduce/reduce_scatter+gather segment=15872 window=4")],
    "scan": [(1 << 14, "scan/chain segment=110")],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("ranks", [2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_beside_the_program(library: Library, part: str, ranks: int) -> None:
    program = library.compile("nonblocking", flags=["-ldl"])
    ended = library.run_served(ranks, [program, part], rows=CHAINS)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 0, ended.stderr


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_two_at_once_have_their_own_tags(library: Library, ranks: int) -> None:
    """On two ranks each launch went wrong while calls took as many tags as the largest one of a row needs."""
    program = library.compile("nonblocking", flags=["-ldl"])
    ended = library.run_served(ranks, [program, "remainders"], rows=REMAINDERS)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr


@pytest.mark.parametrize("ranks", [2, 3])
def test_calls_that_the_library_refuses_count_for_nothing(library: Library, ranks: int) -> None:
    """Nor for arming, in which ranks would part: without a plan by hand, as jobs run."""
    words = [str(paths.native_file("eco-exec")), library.compile("nonblocking", flags=["-ldl"]), "refused"]
    ended = library.run(ranks, words, {"ECO_NETWORK": str(library.network)}, timeout_s=60)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "too few" not in ended.stderr


@pytest.mark.parametrize("part", ["remainders", "refused", *(part for part in PARTS if part != "uneven")])
def test_without_eco(library: Library, part: str) -> None:
    ended = library.run(3, [library.compile("nonblocking", flags=["-ldl"]), part])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
