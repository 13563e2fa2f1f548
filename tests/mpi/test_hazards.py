"""The programs that break a layer like this one if it is careless (DESIGN, "Rules that are correctness")."""

import shutil
from pathlib import Path

import pytest

from eco import paths

from .conftest import Library

pytestmark = pytest.mark.mpi


def right(
    library: Library, ranks: int, program: str, *arguments: str, timeout_s: float = 300, **settings: str
) -> str:
    """Runs it with ECO serving; its standard error."""
    words = [library.compile(program), *arguments]
    ended = library.run_served(ranks, words, settings, timeout_s)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    return ended.stderr


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_ranks_that_differ_in_type_and_count(library: Library, ranks: int) -> None:
    assert "served" in right(library, ranks, "local_choices")


@pytest.mark.parametrize("arm_after", ["0", "3"])
def test_nonblocking_calls_first(library: Library, arm_after: str) -> None:
    right(library, 3, "nonblocking_first", ECO_ARM_AFTER=arm_after)


@pytest.mark.slow
def test_1500_communicators_at_once(library: Library) -> None:
    stderr = right(library, 2, "communicators", "1500", "0", ECO_ARM_AFTER="3")
    assert "served" in stderr


@pytest.mark.slow
def test_10000_communicators_made_and_freed(library: Library) -> None:
    right(library, 2, "communicators", "0", "10000", ECO_ARM_AFTER="3")


def test_no_more_than_allowed_are_armed(library: Library, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    settings = {"ECO_REPORT": str(report), "ECO_MAX_COMMUNICATORS": "3"}
    ended = library.run_served(2, [library.compile("communicators"), "6", "0"], settings)
    assert ended.returncode == 0, ended.stderr
    assert ended.report["communicators_armed"] == 3
    native = ended.report["communicators_native"]
    assert isinstance(native, dict)
    assert [count for why, count in native.items() if "ECO_MAX_COMMUNICATORS" in why] == [3]


@pytest.mark.parametrize("ranks", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_every_byte_of_many_segments(library: Library, ranks: int) -> None:
    right(library, ranks, "segments")


def test_lifetimes_and_callbacks(library: Library) -> None:
    right(library, 3, "lifetimes")


def test_late_is_legal_and_explained(library: Library) -> None:
    stderr = right(library, 3, "late", "4", ECO_STALL="1")
    assert "has waited for" in stderr
    assert "from rank" in stderr


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_same_bits_on_all_ranks(library: Library, ranks: int) -> None:
    right(library, ranks, "reductions")


def test_two_threads_on_two_communicators(library: Library) -> None:
    right(library, 2, "threads")


def test_error_classes_are_the_librarys(library: Library) -> None:
    program = library.compile("bad_arguments")
    stock = library.run(2, [program])
    eco = library.run_served(2, [program])
    assert stock.returncode == 0, stock.stderr
    assert stock.stdout.count("\n") >= 19, stock.stderr
    assert eco.stdout == stock.stdout, eco.stderr


def test_rank_without_its_library_ends_the_job(library: Library, tmp_path: Path) -> None:
    """As on a node where ECO is not installed: eco-exec is there, what it needs is not."""
    lone = shutil.copy(paths.native_file("eco-exec"), tmp_path)
    program = library.compile("reductions")
    ended = library.run(2, [str(lone), program], timeout_s=30)
    assert ended.returncode != 0
    assert "libeco-preload.so" in ended.stderr
    assert "not (completely) installed" in ended.stderr
    assert "right" not in ended.stdout


def test_missing_backend_ends_the_job(library: Library, tmp_path: Path) -> None:
    """The other library's backend is there, so only MPI_Init finds out."""
    other = "mpich" if library.name == "openmpi" else "openmpi"
    for name in ("eco-exec", "libeco-preload.so", f"libeco-{other}.so"):
        shutil.copy(paths.native_file(name), tmp_path)
    ended = library.run(2, [str(tmp_path / "eco-exec"), library.compile("reductions")], timeout_s=30)
    assert ended.returncode != 0
    assert f"libeco-{library.name}.so" in ended.stderr
    assert "cannot load its backend" in ended.stderr


def test_ranks_with_different_options_run_natively(library: Library) -> None:
    eco_exec, program = str(paths.native_file("eco-exec")), library.compile("reductions")
    words = [eco_exec, program, ":", "-n", "1", eco_exec, "--set", "ECO_ARM_AFTER=7", program]
    ended = library.run(1, words)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "ranks differ" in ended.stderr
    assert ended.served()[0] == 0


@pytest.mark.parametrize(("variable", "value", "says"), [
    ("ECO_BUDGET", "soon", "ECO_BUDGET='soon'"),
    ("ECO_NETWORK", "/nonexistent/network.json", "/nonexistent/network.json"),
    ("ECO_PLAN", "/dev/null", "plan is empty"),
])  # fmt: skip
def test_bad_settings_leave_the_program_native(
    library: Library, variable: str, value: str, says: str
) -> None:
    ended = library.run_served(2, [library.compile("reductions")], {variable: value})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 0
    assert says in ended.stderr, ended.stderr


def test_sigusr1_says_what_goes_on(library: Library) -> None:
    script = f"{library.compile('late')} 4 & sleep 2; kill -USR1 $!; wait $!"
    ended = library.run_served(2, ["sh", "-c", script])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    if library.name == "openmpi":  # MPICH has a use for this signal itself
        assert "awaiting" in ended.stderr, ended.stderr
