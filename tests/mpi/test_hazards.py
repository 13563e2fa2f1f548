"""The programs that break a layer like this one if it is careless."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from eco import paths, plans
from eco.plans import Rows

from .conftest import Library, shared_library

pytestmark = pytest.mark.mpi


def right(
    library: Library, ranks: int, program: str, *arguments: str, timeout_s: float = 300, **settings: str
) -> str:
    """Runs it with ECO serving, which is proved; its standard error."""
    words = [library.compile(program), *arguments]
    ended = library.run_served(ranks, words, settings, timeout_s)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 0, ended.stderr
    return ended.stderr


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_ranks_that_differ_in_type_and_count(library: Library, ranks: int) -> None:
    right(library, ranks, "local_choices")


@pytest.mark.parametrize("arm_after", ["0", "3"])
def test_nonblocking_calls_first(library: Library, arm_after: str) -> None:
    right(library, 3, "nonblocking_first", ECO_ARM_AFTER=arm_after)


#: A plan by hand is proved whenever a communicator is armed with it: this one at once.
PLAIN: Rows = {"allreduce": [(1 << 16, "allreduce/binomial")], "barrier": [(0, "barrier/binomial")]}


@pytest.mark.parametrize(("alive", "made"), [
    (500, 0), (0, 400), pytest.param(0, 2200, marks=pytest.mark.slow),
    pytest.param(1500, 0, marks=[pytest.mark.slow, pytest.mark.long]),
])  # fmt: skip
def test_many_communicators(library: Library, tmp_path: Path, alive: int, made: int) -> None:
    """Copies, halves and pairs, all of them armed that have two ranks: none costs a context id (MPICH has 2,048)."""
    if alive + made > 1000 and library.name == "openmpi":
        pytest.skip("Open MPI has far too many context ids to use them up")
    settings = {"ECO_REPORT": str(tmp_path / "report.json")}
    words = [library.compile("communicators"), str(alive), str(made)]
    ended = library.run_served(2, words, settings, timeout_s=300, rows=PLAIN)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    native = ended.report["communicators_native"]
    assert isinstance(native, dict)
    assert set(native) == {"one rank only"}, ended.stderr
    assert ended.report["communicators_armed"] == alive + made - native["one rank only"]


def test_copies_are_armed_when_it_pays(library: Library, tmp_path: Path) -> None:
    settings = {"ECO_REPORT": str(tmp_path / "report.json"), "ECO_ARM_AFTER": "auto"}
    words = [library.compile("copies", flags=["-ldl"]), "200", "10000000", "0"]
    ended = library.run_served(2, words, settings, timeout_s=300, rows=PLAIN)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.report["communicators_armed"] == 2, "the whole job's, and the copy that was used for long"
    assert ended.report["communicators_native"] == {"too few or too short calls to be armed": 200}


SELVES = """
from mpi4py import MPI
selves = [MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank) for _ in range(5)]
for each in (*selves, MPI.COMM_WORLD.Dup()):
    each.Bcast(bytearray(8))
"""


def test_where_nothing_is_served_the_reason_is_not_that_of_single_ranks(
    library: Library, tmp_path: Path
) -> None:
    """Libraries for matrices make thousands of communicators of one rank."""
    (tmp_path / "selves.py").write_text(SELVES)
    ended = library.run_served(2, [library.python, str(tmp_path / "selves.py")], {"ECO_ARM_AFTER": "auto"})
    assert "eco: served 0 of 6 calls; too few or too short calls to be armed" in ended.stderr


TWO_COPIES = """
import numpy
from mpi4py import MPI
copies = [MPI.COMM_WORLD.Dup() for _ in range(2)]
data = numpy.zeros(1 << 18, "b")
for copy in copies:
    copy.Bcast(data, root=0)
print("right", flush=True) if MPI.COMM_WORLD.rank == 0 else None
"""


def test_the_first_of_all_ranks_is_armed_whatever_its_calls_took(library: Library, tmp_path: Path) -> None:
    """Of two copies with one long call each, in a program that makes none on MPI_COMM_WORLD."""
    (tmp_path / "copies.py").write_text(TWO_COPIES)
    settings = {"ECO_REPORT": str(tmp_path / "report.json"), "ECO_ARM_AFTER": "auto"}
    ended = library.run_served(3, [library.python, str(tmp_path / "copies.py")], settings, rows=PLAIN)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.report["communicators_armed"] == 1


def test_a_copy_is_armed_when_its_calls_would_have_gained_that(library: Library, tmp_path: Path) -> None:
    """By the plan of the same ranks they gain 0.5 ms each: one call not what arming takes, 64 more than that."""
    plan = tmp_path / "plan.json"
    text = plans.by_hand(2, PLAIN).replace('"measured_s": 0.0', '"measured_s": 0.001')
    plan.write_text(text.replace('"native_s": 0.0', '"native_s": 0.0015'))
    settings = {"ECO_PLAN": str(plan), "ECO_ARM_AFTER": "auto", "ECO_REPORT": str(tmp_path / "report.json")}
    words = [library.compile("copies", flags=["-ldl"]), "0", "100", "2"]
    ended = library.run_served(2, words, settings)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.report["communicators_armed"] == 2


def test_no_more_than_allowed_are_armed(library: Library, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    settings = {"ECO_REPORT": str(report), "ECO_MAX_COMMUNICATORS": "3"}
    ended = library.run_served(2, [library.compile("communicators"), "7", "0"], settings)
    assert ended.returncode == 0, ended.stderr
    assert ended.report["communicators_armed"] == 3  # of six: the seventh has one rank only
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


def test_late_in_a_nonblocking_call_is_explained(library: Library) -> None:
    words = [library.compile("late", "late-Ibcast", ["-DIBCAST"]), "4"]
    ended = library.run_served(3, words, {"ECO_STALL": "1"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    if not library.kind.carries:
        return
    assert ended.served() == (3, 0), ended.stderr
    says = [line for line in ended.stderr.splitlines() if "in a nonblocking call" in line]
    assert says, ended.stderr
    assert "has waited for" in says[0]
    assert says[0].endswith(": awaiting 1 message(s) from rank 2"), says


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_same_bits_on_all_ranks(library: Library, ranks: int) -> None:
    right(library, ranks, "reductions")


# MPICH's waiting threads spin: twelve of them on few cores take their time.
@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_four_threads_on_communicators_of_their_own(library: Library, ranks: int) -> None:
    ended = library.run_served(ranks, [library.compile("threads")], {"ECO_ARM_AFTER": "3"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    # Eight communicators, of which three calls each pass.
    assert ended.served()[1] == 8 * 3, ended.stderr


@pytest.mark.parametrize("child", ["preloaded", "bare"])
def test_world_merged_with_a_spawned_one_stays_native(library: Library, tmp_path: Path, child: str) -> None:
    """Ranks beyond MPI_COMM_WORLD may run without ECO: arming with them would wait for ever."""
    program = library.compile("merged")
    try:
        stock = library.run(2, [program, child], timeout_s=30)
    except subprocess.TimeoutExpired:
        pytest.skip(
            f"MPI_Comm_spawn of {library.name} does not come to an end on this host without ECO either"
        )
    if stock.returncode != 0:
        pytest.skip(f"MPI_Comm_spawn of {library.name} does not work on this host: {stock.stderr[-300:]}")
    report = tmp_path / "report.json"
    ended = library.run_served(2, [program, child], {"ECO_REPORT": str(report)})
    # Lines, because UCX may add one of its own about spawned ranks.
    assert (ended.returncode, "right" in ended.stdout.splitlines()) == (0, True), ended.stdout + ended.stderr
    native = ended.report["communicators_native"]
    assert isinstance(native, dict)
    assert [count for why, count in native.items() if "beyond this job" in why] == [1], native


def test_a_broken_communicator_ends_in_errors_not_in_a_hang(library: Library) -> None:
    right(library, 2, "mismatch")


def test_a_nonblocking_call_that_fails_is_an_error_to_all_who_ask(library: Library) -> None:
    if not library.kind.carries:
        pytest.skip(f"{library.kind.title} has no progress that ECO could join: its calls are not served")
    right(library, 2, "lost")


#: malloc, which from now on has nothing for one size asked for by ECO's backend.
NO_MEMORY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
size_t eco_test_none_of;
void* __libc_malloc(size_t);
void* malloc(size_t bytes) {
  Dl_info caller;
  if (bytes != 0 && bytes == eco_test_none_of && dladdr(__builtin_return_address(0), &caller) != 0 &&
      strstr(caller.dli_fname, "/libeco-") != NULL) return NULL;
  return __libc_malloc(bytes);
}
"""


def test_one_rank_without_memory_for_arming_errs(library: Library, tmp_path: Path) -> None:
    """Between two agreements nobody knows: it neither ends by an exception nor goes on alone."""
    stingy = shared_library(tmp_path, "libstingy.so", NO_MEMORY)
    ended = library.run_served(3, [library.compile("no_memory")], {"LD_PRELOAD": str(stingy)})
    assert ended.returncode != 0
    assert "cannot arm a communicator of 3 ranks" in ended.stderr, ended.stderr
    assert "class is MPI_ERR_OTHER: 1" in ended.stderr, ended.stderr


@pytest.mark.parametrize("asks", ["0", "1"])
@pytest.mark.parametrize(
    ("source", "says"),
    [("own_signal", "right\n"), ("forked_signal", "child: signal 10\nright\n")],
)
def test_sigusr1_does_in_programs_what_it_did(library: Library, source: str, says: str, asks: str) -> None:
    """In one with a handler of its own, and in a process that a program forks, which it ends."""
    program = library.compile(source)
    stock = library.run(2, [program])
    eco = library.run_served(2, [program], {"ECO_STALL_SIGNAL": asks})
    assert (eco.returncode, eco.stdout) == (stock.returncode, stock.stdout), eco.stderr
    assert eco.served()[0] > 0
    if library.name == "openmpi":  # MPICH has a use for this signal itself
        assert (eco.returncode, eco.stdout) == (0, says), eco.stderr


@pytest.mark.parametrize(
    ("name", "entry", "served"),
    [
        ("libmpifort.so.12", "MPI_Allreduce", True),
        ("libmpifort.so.12", "PMPI_Allreduce", False),
        ("libmpi_usempif08.so.40", "PMPI_Allreduce", False),
        ("libmpi_f77.so.0", "MPI_Allreduce", False),
    ],
)
def test_a_fortran_library_that_leads_past_eco_makes_the_job_native(
    library: Library, tmp_path: Path, name: str, entry: str, served: bool
) -> None:
    """The wheels bring no Fortran: a library of such a name does, by what it imports."""
    code = f"int {entry}(void); int eco_test_fortran(void) {{ return {entry}(); }}\n"
    file = shared_library(tmp_path, name, code)
    flags = ["-Wl,--no-as-needed", str(file), f"-Wl,-rpath,{tmp_path}"]
    program = library.compile("reductions", f"reductions-{tmp_path.name}", flags)
    ended = library.run_served(2, [program])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ("eco: served" in ended.stderr) == served, ended.stderr
    assert (f"runs without ECO: through '{name}'" in ended.stderr) != served, ended.stderr


#: As Open MPI's: past the C entries, by the PMPI_ names.
FORTRAN = """
int PMPI_Init(int*, char***);
int PMPI_Finalize(void);
void mpi_init_(int* error) { *error = PMPI_Init(0, 0); }
void mpi_finalize_(int* error) { *error = PMPI_Finalize(); }
"""
#: As MPICH's: by the C entries.
FORTRAN_BY_C = FORTRAN.replace("PMPI_", "MPI_")


@pytest.mark.parametrize("source", [FORTRAN, FORTRAN_BY_C], ids=["by PMPI", "by MPI"])
def test_ranks_initialised_in_fortran_take_part(library: Library, tmp_path: Path, source: str) -> None:
    """The ranks in C agree in MPI_Init, and would wait for those that come to it by another way."""
    file = shared_library(tmp_path, "libmpi_mpifh.so.40", source)
    flags = ["-DFORTRAN", str(file), f"-Wl,-rpath,{tmp_path}"]
    name = f"either-fortran-{tmp_path.name}"
    eco_exec, program = str(paths.native_file("eco-exec")), library.compile("either_binding")
    fortran = library.compile("either_binding", name, flags)
    for first, second in ((program, fortran), (fortran, program), (fortran, fortran)):
        words = [eco_exec, first, ":", "-n", "1", eco_exec, second]
        ended = library.run(1, words, library.forced(2))
        assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
        assert ended.served() == (10, 0), ended.stderr


def test_bare_loads_nothing(library: Library, tmp_path: Path) -> None:
    """Nor needs anything: where ECO is not completely installed, too."""
    lone = shutil.copy(paths.native_file("eco-exec"), tmp_path)
    ended = library.run(1, [str(lone), "--bare", "sh", "-c", 'echo "has <$LD_PRELOAD>"'])
    assert (ended.returncode, ended.stdout) == (0, "has <>\n"), ended.stderr


def test_bench_sees_a_barrier_that_holds_nobody(library: Library, tmp_path: Path) -> None:
    broken = shared_library(tmp_path, "libbroken.so", "int MPI_Barrier(long comm) { return 0; }\n")
    words = [str(paths.native_file(f"eco-rank-{library.name}")), "bench", "--ops", "barrier", "--out",
             str(tmp_path / "bench.json")]  # fmt: skip
    stock = library.run(2, words)
    assert stock.returncode == 0, stock.stderr
    ended = library.run(2, words, {"LD_PRELOAD": str(broken)})
    assert ended.returncode == 3, ended.stderr
    assert "barrier of 0 bytes on 2 ranks" in ended.stderr


def test_tune_that_made_no_plan_says_so(library: Library, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    words = [str(paths.native_file(f"eco-rank-{library.name}")), "tune", "--network", str(tmp_path / "absent.json"),
             "--out", str(out)]  # fmt: skip
    ended = library.run(2, words)
    assert ended.returncode == 1, ended.stderr
    assert "absent.json" in ended.stderr
    assert not out.exists()


def test_error_classes_are_the_librarys(library: Library) -> None:
    program = library.compile("bad_arguments")
    stock = library.run(2, [program])
    eco = library.run_served(2, [program])
    assert stock.returncode == 0, stock.stderr
    assert stock.stdout.count("\n") >= 40, stock.stderr
    assert eco.stdout == stock.stdout, eco.stderr


def test_the_same_memory_given_twice_is_refused_where_the_library_refuses_it(library: Library) -> None:
    """MPICH refuses it in every call, Open MPI at the root of a reduce alone."""
    program = library.compile("aliases")
    stock = library.run(2, [program])
    eco = library.run_served(2, [program])
    assert stock.returncode == 0, stock.stderr
    assert "reduce of aliases: 0" not in stock.stdout
    assert (eco.returncode, eco.stdout) == (stock.returncode, stock.stdout), eco.stderr
    assert eco.served()[0] > 0


def test_error_handlers_are_called_as_often_as_without_eco(library: Library) -> None:
    program = library.compile("error_handlers")
    stock = library.run(2, [program])
    eco = library.run_served(2, [program])
    assert stock.returncode == 0, stock.stderr
    assert (eco.returncode, eco.stdout) == (stock.returncode, stock.stdout), eco.stderr
    assert eco.served()[0] > 0


def test_rank_without_its_library_ends_the_job(library: Library, tmp_path: Path) -> None:
    """As on a node where ECO is not installed: eco-exec is there, what it needs is not."""
    lone = shutil.copy(paths.native_file("eco-exec"), tmp_path)
    program = library.compile("reductions")
    ended = library.run(2, [str(lone), program])
    assert ended.returncode != 0
    assert "libeco-preload.so" in ended.stderr
    assert "not (completely) installed" in ended.stderr
    assert "right" not in ended.stdout


def test_missing_backend_ends_the_job(library: Library, tmp_path: Path) -> None:
    """The other library's backend is there, so only MPI_Init finds out."""
    other = "mpich" if library.name == "openmpi" else "openmpi"
    for name in ("eco-exec", "libeco-preload.so", f"libeco-{other}.so"):
        shutil.copy(paths.native_file(name), tmp_path)
    ended = library.run(2, [str(tmp_path / "eco-exec"), library.compile("reductions")])
    assert ended.returncode != 0
    assert f"libeco-{library.name}.so" in ended.stderr
    assert "cannot load its backend" in ended.stderr


@pytest.mark.parametrize(("variable", "value", "says"), [
    ("ECO_BUDGET", "soon", "ECO_BUDGET='soon'"),
    ("ECO_NETWORK", "/nonexistent/network.json", "/nonexistent/network.json"),
    ("ECO_PLAN", "/dev/null", "/dev/null is no regular file"),
])  # fmt: skip
def test_bad_settings_leave_the_program_native(
    library: Library, variable: str, value: str, says: str
) -> None:
    ended = library.run_served(2, [library.compile("reductions")], {variable: value})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 0
    assert says in ended.stderr, ended.stderr


@pytest.mark.parametrize("variable", ["ECO_NETWORK", "ECO_PLAN"])
def test_a_pipe_is_not_waited_for(library: Library, tmp_path: Path, variable: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended = library.run_served(2, [library.compile("reductions")], {variable: str(pipe)})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 0
    assert f"{pipe} is no regular file" in ended.stderr, ended.stderr


def test_a_path_that_is_no_utf8_is_reported(library: Library, tmp_path: Path) -> None:
    """The reason quotes it; the report is JSON, which can't."""
    settings = {
        "ECO_NETWORK": os.fsdecode(b"/nonexistent/n\xff.json"),
        "ECO_REPORT": str(tmp_path / "report.json"),
    }
    ended = library.run_served(2, [library.compile("reductions")], settings)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    native = ended.report["communicators_native"]
    assert isinstance(native, dict)
    assert any("n\ufffd.json" in why for why in native), native


def test_sigusr1_unasked_is_left_alone(library: Library) -> None:
    """Batch systems end ranks by it."""
    program = library.compile("signal_action")
    stock = library.run(2, [program])
    eco = library.run_served(2, [program])
    assert (eco.returncode, eco.stdout) == (stock.returncode, stock.stdout), eco.stderr
    assert eco.served()[0] > 0


def test_a_variable_that_is_no_option_is_named_once(library: Library) -> None:
    ended = library.run_served(2, [library.compile("reductions")], {"ECO_BUGDET": "1", "ECO_LAB_X": "1"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.stderr.count("ECO_BUGDET is no option") == 1, ended.stderr
    assert "ECO_LAB_X" not in ended.stderr
    quiet = library.run_served(2, [library.compile("reductions")], {"ECO_BUGDET": "1", "ECO_QUIET": "1"})
    assert "ECO_BUGDET" not in quiet.stderr


def test_sigusr1_says_what_goes_on(library: Library, tmp_path: Path) -> None:
    here = f"{tmp_path}/here-$$"
    begun = f"until [ -e {here} ]; do sleep 0.1; done; sleep 1"
    script = f"{library.compile('late')} 5 {here} & {begun}; kill -USR1 $!; wait $!"
    ended = library.run_served(2, ["sh", "-c", script], {"ECO_STALL_SIGNAL": "1"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    if library.name == "openmpi":  # MPICH has a use for this signal itself
        assert "awaiting" in ended.stderr, ended.stderr
