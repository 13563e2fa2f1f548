"""Every MPI library that ECO serves, each by the backend of its ABI.

Open MPI 4.1 and 5, MPICH 4 and 5, Intel MPI, and programs of the MPI standard ABI under MPICH and Intel MPI.
`make more-mpi` installs those that the other tests don't use.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from eco import jobs, launch, paths

from .conftest import KINDS, Library
from .test_collectives import PYTHON_PROGRAM

pytestmark = pytest.mark.mpi


@pytest.fixture(params=KINDS)
def each(request: pytest.FixtureRequest, libraries: Callable[[str], Library]) -> Library:
    """Every library in turn, installed or not."""
    return libraries(request.param)


def test_c_program_is_served(each: Library, tmp_path: Path) -> None:
    """Every type, size and root of tests/mpi/programs/collectives.c, and what the report says of it."""
    ended = each.run_served(3, [each.compile("collectives")], {"ECO_REPORT": str(tmp_path / "report.json")})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert re.match(each.kind.reported, str(ended.report["library"])), ended.report["library"]
    of_rank_0 = ended.report["collectives"]
    assert isinstance(of_rank_0, dict)
    for name in ("broadcast", "allreduce", "barrier"):
        assert of_rank_0[name]["calls_served"] > 0, name


def test_every_operation_equals_the_librarys_own(each: Library) -> None:
    ended = each.run_served(3, [each.compile("operations"), "60", "5", *each.draws])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    served, passed = ended.served()
    assert served > passed, ended.stderr


def test_mpi4py_program_is_served(each: Library, tmp_path: Path) -> None:
    if each.python_path and not Path(each.python_path).exists():
        pytest.skip(f"mpi4py for the standard ABI is not in {each.python_path}: run `make more-mpi`")
    script = tmp_path / "program.py"
    script.write_text(PYTHON_PROGRAM)
    ended = each.run_served(3, [each.python, str(script)])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    served, passed = ended.served()
    assert served >= 13, ended.stderr
    assert passed <= 1, ended.stderr


def test_off_is_the_library_alone(each: Library) -> None:
    preload = str(paths.native_file("libeco-preload.so"))
    program = each.compile("collectives")
    for settings in ({"ECO": "off", "LD_PRELOAD": preload}, {"ECO": "observe", "LD_PRELOAD": preload}):
        ended = each.run(2, [program], settings)  # as many as cores: the libraries' own ranks wait spinning
        assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
        assert ("eco:" in ended.stderr) == (settings["ECO"] == "observe"), ended.stderr


def test_commands_find_launcher_library_and_rank_program(
    each: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What eco run, compare, bench, characterize and tune start, for a user with this library on PATH."""
    for name, value in each.environment({"PATH": f"{each.prefix / 'bin'}:{os.environ['PATH']}"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LD_LIBRARY_PATH")
    monkeypatch.chdir(tmp_path)
    oversubscribe = ["--oversubscribe"] if each.kind.family == "openmpi" else []
    line = launch.parse_prefix([str(each.prefix / "bin" / "mpiexec"), *oversubscribe, "-n", "2"])
    assert line.launcher.family == each.kind.family
    chosen = each.kind.abi if each.kind.abi == "mpi-abi" else None
    place = jobs.LauncherPlace(line, chosen)
    assert place.library == each.kind.abi
    words = [place.rank_program(), "bench", "--ops", "allreduce", "--sizes", "8", "--max-seconds", "0.01",
             "--out", str(tmp_path / "bench.json")]  # fmt: skip
    report = tmp_path / "report.json"
    ended = place.start(place.with_eco(words, {"ECO_REPORT": str(report), "ECO_MEASURE": "never"}), 60)
    assert ended.code == 0, ended.errors
    assert re.search(each.kind.reported, report.read_text())


UNKNOWN_LIBRARY = """
int PMPI_Init(int* c, char*** v) { (void)c; (void)v; return 0; }
int MPI_Init(int* c, char*** v) { return PMPI_Init(c, v); }
int PMPI_Bcast(void* b, int n, void* t, int r, void* c) { (void)b; (void)t; (void)r; (void)c; return n; }
int MPI_Bcast(void* b, int n, void* t, int r, void* c) { return PMPI_Bcast(b, n, t, r, c); }
int PMPI_Finalize(void) { return 0; }
int MPI_Finalize(void) { return PMPI_Finalize(); }
"""
ITS_PROGRAM = """
int MPI_Init(int*, char***), MPI_Bcast(void*, int, void*, int, void*), MPI_Finalize(void);
int main(void) { return MPI_Init(0, 0) + MPI_Bcast(0, 42, 0, 0, 0) + MPI_Finalize(); }
"""


@pytest.mark.parametrize(
    "soname",
    [
        "libmpi.so.99",  # an ABI of the future
        "libmpi.so.12",  # the name is MPICH's and was Open MPI 1.10's: the symbol decides
        "libhpc_messages.so.1",  # recognised by its functions alone
    ],
)
def test_unknown_library_runs_natively_and_says_so_once(soname: str, tmp_path: Path) -> None:
    library, program = tmp_path / soname, tmp_path / "program"
    (tmp_path / "library.c").write_text(UNKNOWN_LIBRARY)
    (tmp_path / "program.c").write_text(ITS_PROGRAM)
    for words in (
        ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "library.c", "-o", library],
        ["gcc", "program.c", "-o", program, library, f"-Wl,-rpath,{tmp_path}"],
    ):
        subprocess.run(words, check=True, cwd=tmp_path)

    def run(**settings: str) -> subprocess.CompletedProcess[str]:
        words = [str(paths.native_file("eco-exec")), str(program)]
        environment = {**os.environ, **settings}
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    ended = run()
    assert ended.returncode == 42, ended.stderr
    assert ended.stderr.splitlines() == [
        f"eco: the program runs without ECO: its MPI library '{library}' is none of those that ECO serves "
        "(Open MPI 4 and 5, MPICH 4 and 5, Intel MPI, the MPI standard ABI (mpicc_abi))"
    ]
    assert run(PMI_RANK="1").stderr == ""  # one voice is enough
    quiet = run(ECO="off")
    assert (quiet.returncode, quiet.stderr) == (42, "")
