"""What is rare and legal: MPI_BOTTOM, Sessions, more than 2 GiB; and that nothing is left behind."""

import os
import re
import shutil
from pathlib import Path

import pytest

from .conftest import Library, Rows
from .right_programs import PROGRAMS, ranks_of, words_of

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


def grown(stdout: str) -> int:
    match = re.search(r"grown (-?\d+)", stdout)
    assert match, stdout
    return int(match.group(1))


@pytest.mark.parametrize("turns", [1000, pytest.param(10000, marks=[pytest.mark.slow, pytest.mark.long])])
def test_nothing_grows_with_communicators_made_and_freed(library: Library, turns: int) -> None:
    """Bytes of heap for each communicator, beyond what the library itself leaves: less than the least block."""
    program = library.compile("corners")
    stock = library.run(2, [program, "growth", str(turns)], timeout_s=300)
    eco = library.run_served(2, [program, "growth", str(turns)], timeout_s=300, rows=PLAIN)
    assert (stock.returncode, eco.returncode) == (0, 0), eco.stderr
    assert eco.served()[0] > 3 * turns, eco.stderr
    assert (grown(eco.stdout) - grown(stock.stdout)) / (turns * 3 / 4) < 16, (stock.stdout, eco.stdout)


def is_of_eco(block: str) -> bool:
    """Whose the innermost frame is of a block of valgrind's, but for the C library's."""
    stack = re.search(r"(?:^==\d+==    (?:at|by) 0x.*\n?)+", block, re.MULTILINE)
    frames = stack.group(0).splitlines() if stack else []
    own = [frame for frame in frames if not re.search(r"vgpreload|libc\.so|ld-linux", frame)]
    return bool(own) and "/libeco-" in own[0]


#: Under valgrind in every run; the other programs, which take twenty minutes, with ECO_TEST_VALGRIND=all.
UNDER_VALGRIND = {
    "openmpi": ("corners bottom", "nonblocking beside"),
    "mpich": ("corners growth 20", "nonblocking freed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("line", dict.fromkeys((*sum(UNDER_VALGRIND.values(), ()), *PROGRAMS)))
def test_valgrind_has_nothing_to_say_of_eco(library: Library, tmp_path: Path, line: str) -> None:
    """Of the libraries it says much."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed: apt install valgrind")
    if line not in UNDER_VALGRIND.get(library.name, ()) and os.environ.get("ECO_TEST_VALGRIND") != "all":
        pytest.skip("twenty minutes for all programs: ECO_TEST_VALGRIND=all")
    words = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", f"--log-file={tmp_path}/%p.log"]
    ranks = ranks_of(line) if os.environ.get("ECO_TEST_VALGRIND") == "all" else 2
    ended = library.run_served(ranks, [*words, *words_of(line, library)], timeout_s=500)
    assert ended.returncode == 0, ended.stderr
    logs = [log.read_text(errors="replace") for log in tmp_path.glob("*.log")]
    assert sum("ERROR SUMMARY" in log for log in logs) >= 2
    blocks = [block for log in logs for block in re.split(r"\n==\d+== \n", log)]
    of_eco = [block for block in blocks if is_of_eco(block)]
    assert not of_eco, "\n\n".join(of_eco[:5])
