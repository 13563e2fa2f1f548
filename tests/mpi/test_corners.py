"""What is rare and legal: MPI_BOTTOM, Sessions, more than 2 GiB; and that nothing is left behind."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from eco import paths

from .conftest import Ended, Library, Rows
from .right_programs import PROGRAMS, ranks_of, words_of
from .test_calls import compiled

pytestmark = pytest.mark.mpi

PLAIN: Rows = {
    name: [(1 << 16, f"{name}/binomial")] for name in ("allreduce", "broadcast", "scatter", "gather")
} | {"allgather": [(1 << 16, "allgather/chain")], "barrier": [(0, "barrier/binomial")]}


def test_addresses_from_bottom(library: Library) -> None:
    ended = library.run_served(3, [library.compile("corners"), "bottom"])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    served, passed = ended.served()
    assert (served, passed) == (3 * 4 + 2, 0), ended.stderr


@pytest.mark.parametrize("part", ["sessions", "sessions_alone"])
def test_sessions(library: Library, part: str) -> None:
    """A communicator of a session is served beside MPI_COMM_WORLD; without that ECO keeps out of the way."""
    program = library.compile("corners")
    stock = library.run(2, [program, part])
    if stock.returncode != 0 or stock.stdout.count("right") != (2 if part == "sessions" else 1):
        pytest.skip(f"{library.name} does not run this without ECO either: {stock.stderr[-300:]}")
    ended = library.run_served(2, [program, part])
    assert (ended.returncode, ended.stdout) == (0, stock.stdout), ended.stderr
    if part == "sessions":
        assert ended.served()[0] > 0, ended.stderr
    else:
        assert "eco: served" not in ended.stderr


@pytest.mark.slow
def test_more_than_two_gigabytes(library: Library) -> None:
    ended = library.run_served(2, [library.compile("corners"), "huge"], timeout_s=400)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 0, ended.stderr


#: Up to what an int counts; in short segments, so that no rank needs much memory beside the program's.
ANY_LENGTH: Rows = {
    name: [(2**31 - 1, f"{name}/{pattern} segment={1 << 20}")]
    for name, pattern in (("allgather", "chain"), ("allreduce", "ring"), ("broadcast", "chain"))
} | {"barrier": [(0, "barrier/binomial")]}


def calls_of(ended: Ended, operation: str) -> tuple[int, int]:
    """Of rank 0: served and passed."""
    collectives = ended.report["collectives"]
    assert isinstance(collectives, dict)
    return collectives[operation]["calls_served"], collectives[operation]["calls_passed"]


def run_at_limit(library: Library, folder: Path, ranks: int, part: str) -> Ended:
    words = [library.compile("corners"), part]
    settings = {"ECO_REPORT": str(folder / "report.json")}
    ended = library.run_served(ranks, words, settings, timeout_s=400, rows=ANY_LENGTH)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    return ended


@pytest.mark.slow
def test_up_to_256_mib_are_served(library: Library, tmp_path: Path) -> None:
    """Of an allreduce more. Takes 2 GiB of memory."""
    ended = run_at_limit(library, tmp_path, 3, "limits")
    assert calls_of(ended, "broadcast") == (2, 1)
    assert calls_of(ended, "allgather") == (1, 1)
    assert calls_of(ended, "allreduce") == (3, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "calls"), [
    ("allreduce_limit", (2, 0)),
    pytest.param("allreduce_beyond", (1, 1), marks=pytest.mark.long),
    pytest.param("allgather_limit", (0, 2), marks=pytest.mark.long),
])  # fmt: skip
def test_at_two_gigabytes(library: Library, tmp_path: Path, part: str, calls: tuple[int, int]) -> None:
    """An allreduce is served as long as an int counts its bytes. Takes 4 GiB of memory, the library's own 6."""
    ended = run_at_limit(library, tmp_path, 2, part)
    assert calls_of(ended, part.split("_")[0]) == calls


def test_counts_beyond_int_where_the_library_has_no_large_ones(library: Library) -> None:
    """ECO's preload stands in for those calls; a library that has them answers for itself."""
    program = library.compile("beyond_int")
    stock = library.run(2, [program])
    assert stock.returncode == 0, stock.stderr
    if stock.stdout == "its own\n":
        pytest.skip(f"{library.kind.title} has large counts itself")
    assert stock.stdout == "absent\n"
    ended = library.run_served(2, [program])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 4, ended.stderr


def grown(stdout: str) -> int:
    match = re.search(r"grown (-?\d+)", stdout)
    assert match, stdout
    return int(match.group(1))


@pytest.mark.parametrize("turns", [3000, pytest.param(10000, marks=[pytest.mark.slow, pytest.mark.long])])
def test_nothing_grows_with_communicators_made_and_freed(library: Library, turns: int) -> None:
    """Bytes of heap for each communicator, beyond what the library itself leaves: less than the least block.

    Where other work shares the processors up to 12 KiB in all are more at the end (in 5,000 turns as in 1,000, so
    they don't grow); 16 B for each communicator are 35 KiB in 3,000 turns.
    """
    program = library.compile("corners")
    stock = library.run(2, [program, "growth", str(turns)], timeout_s=300)
    eco = library.run_served(2, [program, "growth", str(turns)], timeout_s=300, rows=PLAIN)
    assert (stock.returncode, eco.returncode) == (0, 0), eco.stderr
    assert eco.served()[0] > 3 * turns, eco.stderr
    assert (grown(eco.stdout) - grown(stock.stdout)) / (turns * 3 / 4) < 16, (stock.stdout, eco.stdout)


#: Of each kind of handle: how many ECO made, and how many of them it gave back until the end.
Taken = dict[str, tuple[int, int]]


def taken_of(
    library: Library, folder: Path, ended_by: str, settings: Mapping[str, str]
) -> tuple[Ended, list[Taken]]:
    """Of three ranks, with ECO where there are settings for it."""
    spy = library.compile("handle_spy", "handle_spy.so", ["-shared", "-fPIC", "-ldl"])
    out = folder / "taken"
    out.unlink(missing_ok=True)
    words = ["env", f"LD_PRELOAD={spy}", f"SPY_OUT={out}"]
    words += [str(paths.native_file("eco-exec"))] if settings else []
    ended = library.run(3, [*words, library.compile("given_back"), *ended_by.split()], settings)
    ranks: dict[str, Taken] = {}
    for line in out.read_text().splitlines() if out.exists() else []:
        process, kind, made, given_back = line.split()
        ranks.setdefault(process, {})[kind] = int(made), int(given_back)
    return ended, list(ranks.values())


@pytest.mark.parametrize("check", ["none", "communication"])
@pytest.mark.parametrize("ended_by", ["finalize", "finalize session", "past_eco", "past_eco session"])
def test_what_eco_takes_of_the_library_is_given_back(
    library: Library, tmp_path: Path, ended_by: str, check: str
) -> None:
    """And every attribute is called back. If ECO hears of MPI_Finalize from inside it alone, communicators are left for
    the library to end: ECO's, and with what hangs on them two of the program's."""
    stock, nothing = taken_of(library, tmp_path, ended_by, {})
    if stock.returncode != 0 and "session" in ended_by:
        pytest.skip(f"{library.kind.title} does not run this without ECO either: {stock.stderr[-300:]}")
    assert (stock.returncode, stock.stdout.count("1")) == (0, 1), stock.stderr
    assert [set(taken.values()) for taken in nothing] == [{(0, 0)}] * 3
    ended, ranks = taken_of(library, tmp_path, ended_by, {**library.forced(3), "ECO_CHECK": check})
    assert (ended.returncode, ended.stdout) == (0, stock.stdout), ended.stderr
    assert ended.served()[0] > 0, ended.stderr
    assert len(ranks) == 3
    for taken in ranks:
        assert taken["keyvals"] == (2, 2)
        # Types are kept for calls beside the program.
        assert all(made > 0 for kind, (made, _) in taken.items() if kind != "types" or library.kind.carries)
        left = {kind: made - given_back for kind, (made, given_back) in taken.items() if made != given_back}
        if "past_eco" in ended_by:
            assert left.pop("communicators") == (2 if check == "communication" else 1)
            assert left.pop("attributes") <= 2
        assert not left, taken


def is_of_eco(block: str) -> bool:
    """Whose the innermost frame is of a block of valgrind's, but for the C library's."""
    stack = re.search(r"(?:^==\d+==    (?:at|by) 0x.*\n?)+", block, re.MULTILINE)
    frames = stack.group(0).splitlines() if stack else []
    own = [frame for frame in frames if not re.search(r"vgpreload|libc\.so|ld-linux", frame)]
    return bool(own) and "/libeco-" in own[0]


#: Under valgrind in every run; the other programs, which take half an hour, with ECO_TEST_VALGRIND=all.
UNDER_VALGRIND = {
    "openmpi": ("corners bottom",),
    "mpich": ("nonblocking freed",),
}
#: More of these, with settings of their own.
EVERY_CALL = "calls 1"
LATE = "late_ranks 7 40 3000"
MORE_PROGRAMS = {EVERY_CALL: {}, "neighbors 7": {}, "topologies often 20": {}, LATE: {"ECO_LATE": "mended"}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", dict.fromkeys((*sum(UNDER_VALGRIND.values(), ()), *PROGRAMS, *MORE_PROGRAMS))
)
def test_valgrind_has_nothing_to_say_of_eco(library: Library, tmp_path: Path, line: str) -> None:
    """Of the libraries it says much."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed: apt install valgrind")
    if line not in UNDER_VALGRIND.get(library.name, ()) and os.environ.get("ECO_TEST_VALGRIND") != "all":
        pytest.skip("half an hour for all programs: ECO_TEST_VALGRIND=all")
    words = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", f"--log-file={tmp_path}/%p.log"]
    ranks = ranks_of(line) if os.environ.get("ECO_TEST_VALGRIND") == "all" else 2
    words += [compiled(library), "1"] if line == EVERY_CALL else words_of(line, library)
    ended = library.run_served(ranks, words, MORE_PROGRAMS.get(line), timeout_s=500)
    assert ended.returncode == 0, ended.stderr
    logs = [log.read_text(errors="replace") for log in tmp_path.glob("*.log")]
    assert sum("ERROR SUMMARY" in log for log in logs) >= 2
    blocks = [block for log in logs for block in re.split(r"\n==\d+== \n", log)]
    of_eco = [block for block in blocks if is_of_eco(block)]
    assert not of_eco, "\n\n".join(of_eco[:5])
