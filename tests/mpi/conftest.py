"""Running MPI programs on this machine, stock and with ECO under them.

The machine is one host, so a plan made by measuring would rightly serve nothing. A plan given by hand (ECO_PLAN) makes
ECO serve: algorithms change at sizes that the programs straddle.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from eco import paths, plans
from eco.lab.launch import asleep_while_idle
from eco.launch import AS_ROOT
from eco.plans import Rows

PROGRAMS = Path(__file__).parent / "programs"
#: Small messages one way, middle ones another, large ones over subnets; both edges lie between the tested sizes.
ROWS: Rows = {
    name: [(500, f"{algorithms}/{small}"), (4096, f"{algorithms}/{middle} segment=1000"),
           (1 << 24, f"{algorithms}/{large} segment=8192")]
    for name, small, middle, large in (
        ("broadcast", "binomial", "chain", "subnets"),
        ("reduce", "binomial", "chain", "subnets"),
        ("allreduce", "binomial", "ring", "subnets"),
        ("reduce_scatter", "binomial", "chain", "subnets"),
        ("reduce_scatter_block", "flat", "circulant", "recursive_halving"),
        ("scatter", "binomial", "chain", "subnets"),
        ("gather", "binomial", "chain", "subnets"),
        ("allgather", "doubling", "chain", "subnets"),
        ("alltoall", "doubling", "flat", "subnets"),
        ("scan", "doubling", "chain", "chain"),
        ("exscan", "doubling", "chain", "chain"),
    )
    for algorithms in (name.removesuffix("_block"),)
} | {"barrier": [(0, "barrier/binomial")]} | {
    name: [(500, f"{name}/flat"), (1 << 24, f"{name}/flat segment=1000")]
    for name in ("neighbor_allgather", "neighbor_alltoall")
}  # fmt: skip


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str
    report: dict[str, object]

    def served(self) -> tuple[int, int]:
        """Calls served and passed, as the line at exit says."""
        match = re.search(r"eco: served (\d+) of (\d+) calls", self.stderr)
        assert match, self.stderr
        return int(match.group(1)), int(match.group(2)) - int(match.group(1))


@dataclass(frozen=True)
class Kind:
    """An MPI library as programs see it."""

    environment: str  # below .venv/mpi
    abi: str
    reported: str  # how ECO's report calls it, as a pattern
    family: str  # of its launcher
    title: str  # in documents
    carries: bool = True  # its progress carries calls that run beside the program (docs/adr/0013)
    fails: str = ""  # calls that it makes wrong without ECO, in C too, as a pattern: each is made alone
    suffix: str = ""  # of its commands, where the system has several libraries
    packages: str = ""  # that bring it, where it is the system's

    def prefix(self) -> Path:
        return Path("/usr") if self.packages else paths.library_dir(self.environment)

    def command(self, name: str) -> str:
        return str(self.prefix() / "bin" / f"{name}{self.suffix}")

    def how_to_install(self) -> str:
        return f"`apt-get install {self.packages}`" if self.packages else "`make more-mpi`"


#: Intel MPI 2021.19, without ECO, on 2 to 4 ranks in one host: wrong bytes from MPI_Gather_init, from
#: MPI_Reduce_scatter_block_init on inter-communicators, and from MPI_Scatter_init when it is started again;
#: MPI_Allgather_init ends the program then.
INTEL_FAILS = r"MPI_(Allgather|Gather|Reduce_scatter_block|Scatter)_init(_c)?"
KINDS = {
    "openmpi": Kind("openmpi", "openmpi", r"Open MPI 5\.", "openmpi", "Open MPI 5"),
    "mpich": Kind("mpich", "mpich", r"MPICH 5\.", "hydra", "MPICH 5"),
    "openmpi4": Kind("openmpi4", "openmpi", r"Open MPI 4\.1\.", "openmpi", "Open MPI 4.1"),
    "mpich4": Kind("mpich4", "mpich", r"MPICH 4\.", "hydra", "MPICH 4"),
    "mpich-abi": Kind("mpich", "mpi-abi", r"MPICH 5\.", "hydra", "MPICH 5, standard ABI", carries=False),
    "impi": Kind(
        "impi", "mpich", r"Intel\(R\) MPI 2021\.", "intel", "Intel MPI 2021", carries=False, fails=INTEL_FAILS
    ),
    "impi-abi": Kind(
        "impi",
        "mpi-abi",
        r"Intel\(R\) MPI 2021\.",
        "intel",
        "Intel MPI 2021, standard ABI",
        carries=False,
        fails=INTEL_FAILS,
    ),
}
#: As Debian packages them, with Fortran: tests/mpi/test_fortran.py. `tools/setup fortran` installs them.
DEBIAN_KINDS = {
    "debian-openmpi": Kind(
        "debian-openmpi",
        "openmpi",
        r"Open MPI 4\.",
        "openmpi",
        "Debian's Open MPI 4.1",
        suffix=".openmpi",
        packages="gfortran libopenmpi-dev openmpi-bin",
    ),
    "debian-mpich": Kind(
        "debian-mpich",
        "mpich",
        r"MPICH 4\.",
        "hydra",
        "Debian's MPICH 4.0",
        carries=False,
        suffix=".mpich",
        packages="gfortran libmpich-dev mpich",
    ),
}
#: Those that all tests of this folder run on; test_libraries.py runs on every one.
#: ECO_TEST_LIBRARIES=openmpi4,impi pytest tests/mpi
CHOSEN = os.environ.get("ECO_TEST_LIBRARIES", ",".join(paths.LIBRARIES)).split(",")
#: More ranks than these sleep while they wait, as on emulated hosts: MPICH spins, and where something else runs on the
#: same two cores, two ranks that spin take five times as long as two that sleep. Open MPI's yield.
SPINNING_RANKS = {"openmpi": 3, "mpich": 1, "mpi-abi": 1}
SLEEPING = asleep_while_idle(paths.native_dir(), 200)
#: What Open MPI 5's launcher says before any rank begins, now and then: seen once here, and by others without ECO
#: (https://github.com/lfortran/lfortran/issues/8610).
NO_LAUNCH = "The PMIx server's listener thread failed to start"


def shared_library(folder: Path, file_name: str, source: str) -> Path:
    """A small C library of this file name and soname."""
    target = folder / file_name
    code = folder / f"{file_name}.c"
    code.write_text(source)
    words = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{file_name}", str(code), "-o", str(target)]
    subprocess.run(words, check=True)
    return target


class Library:
    """One MPI library on this machine. Its name is its ABI's: "openmpi", "mpich" or "mpi-abi"."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind = kind
        self.name = name = kind.abi
        self.prefix = kind.prefix()
        self.folder = folder
        self.compiler = [kind.command("mpicc")]
        # How programs/operations.c draws. Intel MPI 2021.19, without ECO, gives wrong bytes or an error in allgathers
        # whose send and receive types differ, on one rank or between ranks; there it is no reference for that.
        self.draws = ["alike"] if kind.environment == "impi" else []
        self.library_path = self.prefix / "lib"
        self.transports = "tcp,self"
        self.linked: list[str] = []
        self.python_path = ""  # of an mpi4py that is not the environment's own
        if name == "mpi-abi":  # not every library has a mpicc_abi
            self.compiler = ["gcc", "-DMPI_ABI", f"-I{self.prefix}/include"]
            self.linked = [f"{self.prefix}/lib/libmpi_abi.so.1"]
            self.python_path = str(paths.library_dir("mpich").parent / "mpi4py-abi")
        if kind.packages and name == "mpich":
            # Over TCP this MPICH, without ECO too, now and then stays in MPI_Finalize: a rank flushes its connections,
            # and those that it waits for have left off progressing theirs.
            self.transports = "sm,self"
            # Debian's name for it is not the one that eco-rank asks for.
            self.library_path = folder / "names"
            self.library_path.mkdir()
            for file in Path("/usr/lib").glob("*/libmpich.so.12"):
                (self.library_path / "libmpi.so.12").symlink_to(file)
        self.python = str(self.prefix / "bin" / "python")
        self.network = folder / "network.json"

    @cached_property
    def has_fortran(self) -> bool:
        """The compiler, its script and what that includes: Debian's come in three packages."""
        script = self.kind.command("mpif90")
        if not Path(script).exists() or shutil.which("gfortran") is None:
            return False
        words = [script, "-fsyntax-only", "-x", "f95", "-"]
        source = "include 'mpif.h'\nend\n"
        environment = self.environment({})
        asked = subprocess.run(
            words, input=source, text=True, capture_output=True, check=False, env=environment
        )
        return asked.returncode == 0

    def environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ECO")}
        # Ranks share cores here: whoever waits must let the others run.
        yielding = {
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "UCX_TLS": self.transports,
            "LD_LIBRARY_PATH": str(self.library_path),
            # Intel's compiler script wants to know where it lies; its wheel has no libfabric.
            "I_MPI_ROOT": str(self.prefix),
            "I_MPI_FABRICS": "shm",
            "PYTHONPATH": self.python_path,
            # Each job remembers for itself alone: neither for the next test nor for this user.
            "ECO_CACHE_DIR": tempfile.mkdtemp(prefix="cache-", dir=self.folder),
        }
        return inherited | AS_ROOT | yielding | dict(settings)

    def compile(self, source: str, name: str = "", flags: Sequence[str] = ()) -> str:
        """The program of this source; flags make another program, so it needs a name of its own."""
        target = self.folder / (name or source)
        if not target.exists():
            words = [
                *self.compiler,
                "-O1",
                "-pthread",
                PROGRAMS / f"{source}.c",
                "-o",
                target,
                *flags,
                *self.linked,
            ]
            subprocess.run(words, check=True, env=self.environment({}))
        return str(target)

    def run(
        self,
        ranks: int,
        words: Sequence[str],
        settings: Mapping[str, str] | None = None,
        timeout_s: float = 120,
    ) -> Ended:
        """The words under this library's launcher, nothing added."""
        settings = dict(settings or {})
        # Valgrind's threads take turns: a sleep is all of them.
        if ranks > SPINNING_RANKS[self.name] and "valgrind" not in words:
            settings = SLEEPING | settings
        launcher = [self.kind.command("mpiexec")]
        if self.name == "openmpi":
            launcher += ["--oversubscribe", "--bind-to", "none", "--mca", "btl", "tcp,self"]
        for _ in range(3):
            done = subprocess.run(
                [*launcher, "-n", str(ranks), *words], env=self.environment(settings), text=True, capture_output=True,
                timeout=timeout_s, check=False, errors="replace",
            )  # fmt: skip
            if NO_LAUNCH not in done.stderr:
                break
        report = Path(settings.get("ECO_REPORT", "/nonexistent"))
        parsed = json.loads(report.read_text()) if report.exists() else {}
        return Ended(done.returncode, done.stdout, done.stderr, parsed)

    def run_served(
        self,
        ranks: int,
        words: Sequence[str],
        settings: Mapping[str, str] | None = None,
        timeout_s: float = 120,
        rows: Rows = ROWS,
    ) -> Ended:
        """With ECO under it, which serves whatever it can."""
        words = [str(paths.native_file("eco-exec")), *words]
        return self.run(ranks, words, self.forced(ranks, rows) | dict(settings or {}), timeout_s)

    def forced(self, ranks: int, rows: Rows = ROWS) -> dict[str, str]:
        """Settings by which eco-exec's program is served by a plan by hand."""
        plan = self.folder / f"plan-{ranks}.json"
        plan.write_text(plans.by_hand(ranks, rows))
        return {"ECO_PLAN": str(plan), "ECO_NETWORK": str(self.network), "ECO_ARM_AFTER": "0"}


def _make(kind: Kind, folder: Path) -> Library:
    library = Library(kind, folder)
    rank = str(paths.native_file(f"eco-rank-{kind.abi}"))
    ended = library.run(2, [rank, "characterize", "--out", str(library.network)])
    assert ended.returncode == 0, ended.stderr
    return library


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Library]:
    """Libraries by name, each with a measured network of this one host."""
    made: dict[str, Library] = {}

    def get(name: str) -> Library:
        kind = (KINDS | DEBIAN_KINDS)[name]
        if not Path(kind.command("mpiexec")).exists():
            pytest.skip(f"{name} is not installed in {kind.prefix()}: run {kind.how_to_install()}")
        if name not in made:
            made[name] = _make(kind, tmp_path_factory.mktemp(name))
        return made[name]

    return get


@pytest.fixture(params=CHOSEN)
def library(request: pytest.FixtureRequest, libraries: Callable[[str], Library]) -> Library:
    """Each library in turn."""
    return libraries(request.param)
