"""ECO_CHECK=communication: ranks that differ in a call are named, and it ends in an error instead of in a hang."""

import pytest

from eco import paths

from .conftest import Library
from .right_programs import PROGRAMS, ranks_of, words_of

pytestmark = pytest.mark.mpi

CHECKED = {"ECO_CHECK": "communication"}
WORLD = "call 3 on MPI_COMM_WORLD (3 ranks)"
OTHERS = "ranks 0,2 call"
#: What rank 1 does of tests/mpi/programs/differ.c, and what is said of it.
MISTAKES = {
    "root": f"{OTHERS} MPI_Bcast of 1024 bytes, root 0; rank 1 calls MPI_Bcast of 1024 bytes, root 1",
    "count": f"{OTHERS} MPI_Bcast of 1024 bytes, root 0; rank 1 calls MPI_Bcast of 512 bytes, root 0",
    "operation": f"{OTHERS} MPI_Allreduce of 8 bytes, MPI_SUM of MPI_INT; "
    "rank 1 calls MPI_Allreduce of 8 bytes, MPI_MAX of MPI_INT",
    "type": f"{OTHERS} MPI_Allreduce of 8 bytes, MPI_SUM of MPI_INT; "
    "rank 1 calls MPI_Allreduce of 8 bytes, MPI_SUM of MPI_FLOAT",
    "collective": f"{OTHERS} MPI_Bcast of 1024 bytes, root 0; rank 1 calls MPI_Allgather of 24 bytes",
    "form": f"{OTHERS} MPI_Bcast of 1024 bytes, root 0; rank 1 calls MPI_Ibcast of 1024 bytes, root 0",
    "truncation": f"{OTHERS} MPI_Gather of 3072 bytes, root 0; rank 1 calls MPI_Gather of 6144 bytes, root 0",
    "sides": f"{OTHERS} MPI_Allgather of 3072 bytes; "
    "rank 1 calls MPI_Allgather of 3072 bytes, its own sides of different lengths",
    "counts": f"{OTHERS} MPI_Allgatherv of 48 bytes, block lengths",
    "missing": f"{OTHERS} MPI_Barrier; rank 1 calls MPI_Finalize",
    "arguments": f"{OTHERS} MPI_Bcast of 1024 bytes, root 0; "
    "rank 1 calls MPI_Bcast, root 0, with arguments that MPI refuses",
    "order": f"{OTHERS} MPI_Ibcast of 1024 bytes, root 0; "
    "rank 1 calls MPI_Iallreduce of 8 bytes, MPI_SUM of MPI_INT",
    "varying": f"{OTHERS} MPI_Gatherv, root 0; rank 1 calls MPI_Gatherv, root 1",
    "all_to_all": f"{OTHERS} MPI_Alltoallv; rank 1 calls MPI_Scatterv, root 0",
    "topology": f"{OTHERS} MPI_Cart_create with reorder; rank 1 calls MPI_Cart_create",
}


@pytest.mark.parametrize("armed", ["armed", "native"])
@pytest.mark.parametrize("what", MISTAKES)
def test_a_rank_that_differs_is_named(library: Library, what: str, armed: str) -> None:
    settings = CHECKED | ({} if armed == "armed" else {"ECO": "observe"})
    ended = library.run_served(3, [library.compile("differ"), what], settings)
    assert ended.returncode != 0, ended.stderr
    assert "right" not in ended.stdout
    assert f"eco: ranks differ in a collective call: {WORLD}: {MISTAKES[what]}" in ended.stderr, ended.stderr
    assert ended.stderr.count("ranks differ in a collective call") == 1, ended.stderr


def test_ranks_are_those_of_the_communicator(library: Library) -> None:
    ended = library.run_served(4, [library.compile("differ"), "subgroup"], CHECKED)
    assert ended.returncode != 0, ended.stderr
    assert "MPI_COMM_WORLD's ranks 0,1 (2 ranks): rank 0 calls MPI_Bcast of 8 bytes" in ended.stderr, (
        ended.stderr
    )
    assert "rank 1 calls MPI_Bcast of 16 bytes" in ended.stderr, ended.stderr


def test_every_rank_gets_an_error_that_its_handler_may_bring_back(library: Library) -> None:
    ended = library.run_served(3, [library.compile("differ"), "errors"], CHECKED)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "MPI_COMM_WORLD's ranks 0-2 (3 ranks): ranks 0,2 call MPI_Bcast of 16 bytes" in ended.stderr, (
        ended.stderr
    )


@pytest.mark.parametrize("last", ["Bcast", "Ibcast"])
def test_a_rank_that_does_not_come_is_named(library: Library, last: str) -> None:
    """Which is legal: nothing ends."""
    program = library.compile("late", f"late-{last}", [f"-D{last.upper()}"])
    ended = library.run_served(3, [program, "4"], CHECKED | {"ECO_STALL": "1"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    waits = "rank 0 (0 of 3 in its communicator), comparing calls (ECO_CHECK), has waited for"
    says = [line for line in ended.stderr.splitlines() if waits in line]
    assert says, ended.stderr
    # On a busy machine a rank may wait for so long in an earlier call, too.
    assert any(line.endswith(f": call 3, MPI_{last}: awaiting 1 message(s) from rank 2") for line in says), (
        says
    )


@pytest.mark.parametrize("line", PROGRAMS)
def test_nothing_is_found_where_nothing_is_wrong(library: Library, line: str) -> None:
    words, ranks = words_of(line, library), ranks_of(line)
    stock = library.run_served(ranks, words)
    checked = library.run_served(ranks, words, CHECKED)
    assert (checked.returncode, checked.stdout) == (stock.returncode, stock.stdout), checked.stderr
    assert stock.returncode == 0, stock.stderr
    assert "ranks differ" not in checked.stderr
    assert checked.served() == stock.served()


def test_wrong_arguments_that_are_alike_are_the_library_s_to_refuse(library: Library) -> None:
    program = library.compile("bad_arguments")
    stock = library.run(3, [program])
    checked = library.run_served(3, [program], CHECKED)
    assert (checked.returncode, checked.stdout) == (stock.returncode, stock.stdout), checked.stderr
    assert "ranks differ" not in checked.stderr


def test_only_some_ranks_checked_is_nobody(library: Library) -> None:
    """The others would be waited for."""
    eco_exec, reductions = str(paths.native_file("eco-exec")), library.compile("reductions")
    program = [eco_exec, reductions, ":", "-n", "1", eco_exec, "--set", "ECO_CHECK=communication", reductions]
    ended = library.run(1, program, library.forced(2))
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "ranks differ in ECO_ variables" in ended.stderr, ended.stderr
