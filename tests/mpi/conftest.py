"""Running MPI programs on this machine, stock and with ECO under them.

The machine is one host, so a plan made by measuring would rightly serve nothing. A plan given by hand (ECO_PLAN) makes
ECO serve: algorithms change at sizes that the programs straddle.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from eco import paths

PROGRAMS = Path(__file__).parent / "programs"
AS_ROOT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")
}
#: Small messages one way, middle ones another, large ones over subnets; both edges lie between the tested sizes.
ROWS = {
    name: [(500, f"{name}/{small}"), (4096, f"{name}/{middle} segment=1000"),
           (1 << 24, f"{name}/{large} segment=8192")]
    for name, small, middle, large in (
        ("broadcast", "binomial", "chain", "subnets"),
        ("reduce", "binomial", "chain", "subnets"),
        ("allreduce", "binomial", "ring", "subnets"),
        ("reduce_scatter", "binomial", "chain", "subnets"),
        ("scatter", "binomial", "chain", "subnets"),
        ("gather", "binomial", "chain", "subnets"),
        ("allgather", "doubling", "chain", "subnets"),
        ("alltoall", "doubling", "flat", "subnets"),
        ("scan", "doubling", "chain", "chain"),
        ("exscan", "doubling", "chain", "chain"),
    )
} | {"barrier": [(0, "barrier/binomial")]}  # fmt: skip


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


def plan_text(ranks: int, rows: Mapping[str, Sequence[tuple[int, str | None]]] = ROWS) -> str:
    """A plan of one host for so many ranks."""
    entries = [
        {
            "collective": name,
            "root_subnet": 0,
            "rows": [
                {"up_to_bytes": size, "recipe": recipe, "predicted_s": 0.0, "measured_s": 0.0,
                 "native_s": 0.0, "reason": "by hand"}
                for size, recipe in of_collective
            ],
        }
        for name, of_collective in rows.items()
    ]  # fmt: skip
    return json.dumps(
        {"schema": "eco.plan", "version": 1, "network": "", "library": "", "host_of_rank": [0] * ranks,
         "entries": entries}
    )  # fmt: skip


class Library:
    """One MPI library on this machine."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.prefix = paths.library_dir(name)
        self.folder = folder
        self.python = str(self.prefix / "bin" / "python")
        self.network = folder / "network.json"

    def environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ECO")}
        # Ranks share cores here: whoever waits must let the others run.
        yielding = {
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "UCX_TLS": "tcp,self",
            "LD_LIBRARY_PATH": f"{self.prefix}/lib",
        }
        return inherited | AS_ROOT | yielding | dict(settings)

    def compile(self, source: str, name: str = "", flags: Sequence[str] = ()) -> str:
        """The program of this source; flags make another program, so it needs a name of its own."""
        target = self.folder / (name or source)
        if not target.exists():
            words = [
                self.prefix / "bin" / "mpicc",
                "-O1",
                "-pthread",
                PROGRAMS / f"{source}.c",
                "-o",
                target,
                *flags,
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
        launcher = [str(self.prefix / "bin" / "mpiexec")]
        if self.name == "openmpi":
            launcher += ["--oversubscribe", "--bind-to", "none", "--mca", "btl", "tcp,self"]
        done = subprocess.run(
            [*launcher, "-n", str(ranks), *words], env=self.environment(settings), text=True, capture_output=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
        report = Path(settings.get("ECO_REPORT", "/nonexistent"))
        parsed = json.loads(report.read_text()) if report.exists() else {}
        return Ended(done.returncode, done.stdout, done.stderr, parsed)

    def run_served(
        self,
        ranks: int,
        words: Sequence[str],
        settings: Mapping[str, str] | None = None,
        timeout_s: float = 120,
    ) -> Ended:
        """With ECO under it, which serves whatever it can."""
        plan = self.folder / f"plan-{ranks}.json"
        plan.write_text(plan_text(ranks))
        forced = {"ECO_PLAN": str(plan), "ECO_NETWORK": str(self.network), "ECO_ARM_AFTER": "0"}
        words = [str(paths.native_file("eco-exec")), *words]
        return self.run(ranks, words, forced | dict(settings or {}), timeout_s)


def _make(name: str, folder: Path) -> Library:
    library = Library(name, folder)
    rank = str(paths.native_file(f"eco-rank-{name}"))
    ended = library.run(2, [rank, "characterize", "--out", str(library.network)])
    assert ended.returncode == 0, ended.stderr
    return library


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Library]:
    """Libraries by name, each with a measured network of this one host."""
    made: dict[str, Library] = {}

    def get(name: str) -> Library:
        if name not in made:
            made[name] = _make(name, tmp_path_factory.mktemp(name))
        return made[name]

    return get


@pytest.fixture(params=paths.LIBRARIES)
def library(request: pytest.FixtureRequest, libraries: Callable[[str], Library]) -> Library:
    """Each library in turn."""
    return libraries(request.param)
