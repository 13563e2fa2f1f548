"""Fortran programs in every binding that gfortran can compile: served, with the library's results.

The wheels of Open MPI and MPICH have no Fortran; Debian's do, and Intel's, whose mpi_f08 is for other compilers.
docs/fortran.md says how each binding comes to MPI.

What becomes of every call is recorded as in test_calls.py: `RECORD_CALLS=1` writes it anew, otherwise it must be so.
"""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from eco import paths

from .conftest import DEBIAN_KINDS, KINDS, PROGRAMS, ROWS, Library
from .hosts import Hosts
from .test_calls import IN_EACH_FORM, expected, hold_against_record, left_out, made_alone, recorded, seen
from .test_hazards import shared_library

pytestmark = pytest.mark.mpi

ROOT = Path(__file__).parents[2]
BINDINGS = {"mpif.h": "MPIF_H", "use mpi": "USE_MPI", "mpi_f08": "USE_MPI_F08"}
#: How the entry of a call ends, by library: Open MPI's, MPICH's.
ENTRIES = {"mpif.h": ["_"], "use mpi": ["_"], "mpi_f08": ["_f08_", "_f08ts_"]}
#: And of the one with large counts, which has the same name in Fortran: MPICH 4.0's, later ones'.
LARGE_ENTRIES = {"mpi_f08": ["_f08ts_large_", "_c_f08ts_"]}
#: MPICH 4.0.2, without ECO and in C too, has no communicator any more when it is started again on three ranks.
STARTED_ONCE = {"debian-mpich": ["MPI_Scatter_init"]}
RANKS = 3


def names_in(table: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, (ROOT / "preload" / table).read_text(), re.MULTILINE))


FORTRAN_CALLS = names_in("fortran.def", r"^ECO_FORTRAN\w*\(\w+, \w+, (\w+)")


def test_fortran_has_what_c_has() -> None:
    """A call that is served in C and bypassed in Fortran would split the ranks of a job of both."""
    of_c = names_in("wrappers.def", r"^ECO_WRAP\(MPI_(\w+)\)")
    # Never served; its types would need as many handles made as the communicator has ranks.
    counted = {"Alltoallw", "Ialltoallw", "Neighbor_alltoallw", "Ineighbor_alltoallw"}
    assert of_c - FORTRAN_CALLS == {"Init", "Init_thread"} | counted


@dataclass(frozen=True)
class Binding:
    """One language binding of one library."""

    library: Library
    name: str

    def compile(self, source: str, included: Mapping[str, str] | None = None, name: str = "") -> str:
        """The program of this source, which may include texts by these names; other texts make another program."""
        target = self.library.folder / f"{name or source}-{BINDINGS[self.name]}"
        modules = self.library.folder / f"modules-{target.name}"
        if not target.exists():
            modules.mkdir(exist_ok=True)
            for name, text in (included or {}).items():
                (modules / name).write_text(text)
            words = [
                self.library.kind.command("mpif90"),
                "-O1",
                f"-D{BINDINGS[self.name]}",
                # mpif.h declares no interfaces, and the program calls the same entry with buffers of several types.
                "-fallow-argument-mismatch",
                # A macro may be a long line.
                "-ffree-line-length-none",
                "-w",
                f"-J{modules}",
                f"-I{modules}",
                *self.own_modules(),
                str(PROGRAMS / f"{source}.F90"),
                "-o",
                str(target),
            ]
            subprocess.run(words, check=True, env=self.library.environment({}))
        return str(target)

    def own_modules(self) -> list[str]:
        """Intel's wheel has modules for every gfortran, but not where its own script looks for them."""
        asked = subprocess.run(["gfortran", "-dumpversion"], capture_output=True, text=True, check=True)
        folders = self.library.prefix.glob(f"include/mpi/gfortran/{asked.stdout.strip()}.*")
        return [f"-I{folder}" for folder in folders]

    def has(self, name: str, endings: Mapping[str, Sequence[str]]) -> bool:
        return any(f"{name.lower()}{ending}" in self.exported for ending in endings.get(self.name, []))

    @cached_property
    def exported(self) -> frozenset[str]:
        """Every function of the MPI libraries that a program of this binding is linked to."""
        environment = self.library.environment({})
        words = ["ldd", self.compile("either_binding")]
        linked = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
        words = ["nm", "-D", "--defined-only", *re.findall(r"=> (\S*/libmp\S*)", linked.stdout)]
        symbols = subprocess.run(words, capture_output=True, text=True, check=True)
        return frozenset(re.findall(r"^\w+ [TW] (\w+)", symbols.stdout, re.MULTILINE))


CASES = [(kind, binding) for kind in DEBIAN_KINDS for binding in BINDINGS]
CASES += [("impi", "mpif.h"), ("impi", "use mpi")]


def test_every_binding_is_recorded() -> None:
    """Whether or not its library is installed here."""
    assert recorded("Fortran") == {
        (f"Fortran ({name})", (KINDS | DEBIAN_KINDS)[kind].title) for kind, name in CASES
    }


@pytest.fixture(params=CASES, ids=", ".join)
def binding(request: pytest.FixtureRequest, libraries: Callable[[str], Library]) -> Binding:
    kind, name = request.param
    library = libraries(kind)
    if not library.has_fortran:
        pytest.skip(f"no Fortran for {kind} here: run `make fortran`, {library.kind.how_to_install()}")
    return Binding(library, name)


def outputs(folder: Path) -> list[str]:
    return [(folder / str(rank)).read_text() for rank in range(RANKS)]


def test_every_operation_is_served_with_the_librarys_result(binding: Binding, tmp_path: Path) -> None:
    library, program = binding.library, binding.compile("fortran")
    stock, served = tmp_path / "stock", tmp_path / "served"
    stock.mkdir()
    served.mkdir()
    ended = library.run(RANKS, [program, str(stock)])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stdout + ended.stderr
    eco = library.run_served(RANKS, [program, str(served)], {"ECO_REPORT": str(tmp_path / "report.json")})
    assert (eco.returncode, eco.stdout) == (0, "right\n"), eco.stdout + eco.stderr
    assert outputs(served) == outputs(stock)
    assert re.match(library.kind.reported, str(eco.report["library"]))
    collectives = eco.report["collectives"]
    assert isinstance(collectives, dict)
    assert {name for name, row in collectives.items() if row["calls_served"] > 0} == set(ROWS)


def in_every_form(binding: Binding) -> dict[str, str]:
    """A line of programs/calls.inc for each collective call of the binding, by the call's name in C."""
    lines = {}
    for name, base, form in IN_EACH_FORM:
        if binding.has(name, ENTRIES):
            lines[name] = f"{form.upper()}({name}, '{name}', ARGUMENTS_{base}(small))\n"
        if binding.has(name, LARGE_ENTRIES):
            lines[f"{name}_c"] = f"{form.upper()}({name}, '{name}_c', ARGUMENTS_{base}(large))\n"
    return lines


def test_every_call_in_every_form(binding: Binding, tmp_path: Path) -> None:
    """What the library has, by what it exports; all but the persistent forms every library has."""
    library, lines = binding.library, in_every_form(binding)
    assert {name for name, _, form in IN_EACH_FORM if form != "persistent"} <= set(lines)
    out = left_out(library, lines)
    made = {name: line for name, line in lines.items() if name not in out}
    program = binding.compile("calls", {"calls.inc": "".join(made.values())})
    stock, served = tmp_path / "stock", tmp_path / "served"
    stock.mkdir()
    served.mkdir()
    once = STARTED_ONCE.get(library.kind.environment, [])
    ended = library.run(RANKS, [program, str(stock), *once])
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert not any(n_served for _, n_served in seen(ended.stdout).values())
    eco = library.run_served(RANKS, [program, str(served), *once])
    assert eco.returncode == 0, eco.stdout + eco.stderr
    assert outputs(served) == outputs(stock)
    calls = seen(eco.stdout)
    assert set(calls) == set(made)
    outcome = {name: "served" if n_served else "passed" for name, (_, n_served) in calls.items()}
    assert outcome == {name: expected(library, name) for name in calls}

    def words_for(name: str) -> list[str]:
        return [binding.compile("calls", {"calls.inc": lines[name]}, f"calls-{name}"), str(tmp_path)]

    alone = made_alone(library, lines, words_for, RANKS)
    hold_against_record(f"Fortran ({binding.name})", library, outcome | alone)


def test_ranks_in_c_and_in_fortran_are_served_together(binding: Binding) -> None:
    """One job of two programs, which call in turn: the ranks must agree from MPI_Init on."""
    library, eco_exec = binding.library, str(paths.native_file("eco-exec"))
    in_c, in_fortran = library.compile("either_binding"), binding.compile("either_binding")
    for first, second in ((in_c, in_fortran), (in_fortran, in_c)):
        ended = library.run(1, [eco_exec, first, ":", "-n", "1", eco_exec, second], library.forced(2))
        assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
        assert ended.served() == (10, 0), ended.stderr


def test_off_is_the_library_alone(binding: Binding) -> None:
    preload = str(paths.native_file("libeco-preload.so"))
    ended = binding.library.run(2, [binding.compile("either_binding")], {"ECO": "off", "LD_PRELOAD": preload})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "eco:" not in ended.stderr


#: A profiler's entries come before the library's and lead to PMPI_ names: ranks without it would wait for others.
PROFILER = """
void pmpi_allreduce_(void*, void*, int*, int*, int*, int*, int*);
void mpi_allreduce_(void* in, void* out, int* n, int* type, int* op, int* comm, int* error) {
  pmpi_allreduce_(in, out, n, type, op, comm, error);
}
"""


def test_another_owner_of_an_entry_makes_the_job_native(binding: Binding, tmp_path: Path) -> None:
    profiler = shared_library(tmp_path, "libprofiler.so", PROFILER)
    program = binding.compile("either_binding")
    ended = binding.library.run_served(2, [program], {"LD_PRELOAD": str(profiler)})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert f"runs without ECO: through '{profiler}'" in ended.stderr, ended.stderr
    assert "eco: served" not in ended.stderr


def test_topologies_are_reordered(binding: Binding, tmp_path: Path) -> None:
    """Logicals, weights and their absence, communicators that come back."""
    job = Hosts(binding.library, tmp_path, "hosts=2+2+2 rate_mbit=100 uplink_mbit=10", [0, 2, 4, 1, 3, 5])
    ended = job.run([binding.compile("topologies")])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stdout + ended.stderr
    assert ended.report["topologies"] == {"reordered": 5, "in_order": 0}
