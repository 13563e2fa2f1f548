"""Exported files are taken, and the algorithm that they name is the one that runs.

Open MPI's algorithms are functions that calls within the library find by name, so a preloaded spy counts them. MPICH's
are not; there the spy counts the messages that every rank sends, and each algorithm has its own pattern.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from eco import paths, rank
from eco.errors import Unsupported
from eco.export import tables
from eco.export.decide import Rule
from eco.export.files import Export
from eco.export.record import Record

from .conftest import PROGRAMS, Ended, Library

pytestmark = pytest.mark.mpi

RANKS = 4
TIMES = (5, 25)
#: Candidate and what then runs: the inner function.
OPENMPI = [
    ("broadcast", "basic_linear", "bcast_intra_basic_linear"),
    ("broadcast", "pipeline segment=8192", "bcast_intra_pipeline"),
    ("broadcast", "knomial", "bcast_intra_knomial"),
    ("barrier", "tree", "barrier_intra_tree"),
    ("barrier", "double_ring", "barrier_intra_doublering"),
    ("allreduce", "nonoverlapping", "allreduce_intra_nonoverlapping"),
    ("allreduce", "ring", "allreduce_intra_ring"),
    ("allgather", "bruck", "allgather_intra_bruck"),
    ("allgather", "neighbor", "allgather_intra_neighborexchange"),
]
#: Candidate and the messages that each rank sends in a call.
MPICH = [
    ("broadcast", "MPIR_Bcast_intra_tree tree_type=kary k=3 is_non_blocking=1", [3, 0, 0, 0]),
    ("broadcast", "MPIR_Bcast_intra_binomial", [2, 0, 1, 0]),
    (
        "broadcast",
        "MPIR_Bcast_intra_pipelined_tree tree_type=kary k=1 is_non_blocking=1 chunk_size=8192 recv_pre_posted=0",
        [1, 1, 1, 0],
    ),
    ("barrier", "MPIR_Barrier_intra_k_dissemination k=4", [3, 3, 3, 3]),
    ("barrier", "MPIR_Barrier_intra_k_dissemination k=2", [2, 2, 2, 2]),
    ("allgather", "MPIR_Allgather_intra_ring", [3, 3, 3, 3]),
    ("allgather", "MPIR_Allgather_intra_recursive_doubling", [2, 2, 2, 2]),
]
BYTES = 512


def looked_at(library: Library, folder: Path) -> rank.TimedLaunch:
    out = folder / "look.json"
    words = [
        str(paths.native_file(f"eco-rank-{library.name}")),
        "bench",
        "--cells",
        "barrier:0",
        "--min-reps",
        "1",
    ]
    ended = library.run(RANKS, [*words, "--out", str(out)])
    assert ended.returncode == 0, ended.stderr
    return rank.read_bench(out)


def exported(library: Library, folder: Path, op: str, label: str) -> dict[str, str]:
    """Settings of an export in which this candidate has all sizes."""
    there = looked_at(library, folder)
    try:
        target = tables.target_of("mpich" if library.name == "mpich" else "openmpi", there.library)
    except Unsupported as refused:
        pytest.skip(str(refused))
    version = tables.version_of(there.library)
    found = {c.label: c for c in target.operations[op].candidates(RANKS, version)}
    rules = {op: [Rule(0, None, found[label])]}
    return Export(target, rules, ["a test"], there.library_file, there.hosts, None).write(folder)


def stock_ended(library: Library, ranks: int, words: Sequence[str], settings: dict[str, str]) -> Ended:
    """The library alone. MPICH without shared memory did not end once in some hundred launches: it has another two."""
    for _ in range(2):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return library.run(ranks, words, settings, 30)
    return library.run(ranks, words, settings)


def counted(
    library: Library, functions: Sequence[str], op: str, ranks: int, settings: dict[str, str], folder: Path
) -> list[dict[str, float]]:
    """Of each rank, how often a call of the operation calls these functions."""
    listed = folder / "functions.h"
    listed.write_text("".join(f"SPY({name})\n" for name in functions))
    spy = folder / "spy.so"
    compiler = ["cc", "-O1", "-shared", "-fPIC", f'-DSPY_LIST="{listed}"', str(PROGRAMS / "algorithm_spy.c")]
    subprocess.run([*compiler, "-o", str(spy)], check=True)
    program = library.compile("repeat")
    totals = []
    for times in TIMES:
        out = folder / f"counts-{times}"
        out.unlink(missing_ok=True)
        words = ["env", f"LD_PRELOAD={spy}", f"SPY_OUT={out}", program, op, str(BYTES), str(times)]
        ended = stock_ended(library, ranks, words, settings)
        assert ended.returncode == 0, ended.stderr
        total: list[dict[str, int]] = [{} for _ in range(ranks)]
        for line in out.read_text().splitlines() if out.exists() else []:
            number, name, calls = line.split()
            total[int(number)][name] = int(calls)
        totals.append(total)
    return [
        {name: (many[name] - few.get(name, 0)) / (TIMES[1] - TIMES[0]) for name in many}
        for few, many in zip(*totals, strict=True)
    ]


@pytest.mark.parametrize(("op", "label", "function"), OPENMPI)
def test_open_mpi_runs_what_the_file_names(
    library: Library, tmp_path: Path, op: str, label: str, function: str
) -> None:
    if library.name != "openmpi":
        pytest.skip("of Open MPI")
    functions = [f"ompi_coll_base_{name}" for of, _, name in OPENMPI if of == op]
    settings = exported(library, tmp_path, op, label)
    for count in counted(library, functions, op, RANKS, settings, tmp_path):
        assert {name: n for name, n in count.items() if n} == {f"ompi_coll_base_{function}": 1.0}
    # Another number of ranks is the library's business, by this file as without it.
    fewer = counted(library, functions, op, RANKS - 1, settings, tmp_path)
    assert fewer == counted(library, functions, op, RANKS - 1, {}, tmp_path)


@pytest.mark.parametrize(("op", "label", "messages"), MPICH)
def test_mpich_runs_what_the_file_names(
    library: Library, tmp_path: Path, op: str, label: str, messages: list[int]
) -> None:
    if library.name != "mpich":
        pytest.skip("of MPICH")
    functions = ["ucp_tag_send_nbx", "ucp_tag_send_sync_nbx", "ucp_am_send_nbx"]
    apart = {"MPIR_CVAR_NOLOCAL": "1"}  # no shared memory: all messages are UCX's
    settings = exported(library, tmp_path, op, label) | apart

    def sent(ranks: int, settings: dict[str, str]) -> list[float]:
        return [sum(count.values()) for count in counted(library, functions, op, ranks, settings, tmp_path)]

    assert sent(RANKS, settings) == messages
    assert sent(RANKS - 1, settings) == sent(RANKS - 1, apart)


def test_the_command_on_this_host(library: Library, tmp_path: Path) -> None:
    """Every candidate of two operations runs with right results; what is written, a program runs with."""
    to = "mpich" if library.name == "mpich" else "openmpi"
    launcher = [library.kind.command("mpiexec"), "-n", str(RANKS)]
    if library.name == "openmpi":
        launcher += ["--oversubscribe", "--bind-to", "none"]
    eco = [sys.executable, "-m", "eco.cli.main", "export", "--to", to, "--out", str(tmp_path / "rules")]
    what = [
        "--ops",
        "allgather,barrier",
        "--sizes",
        "8",
        "--rounds",
        "1",
        "--checks",
        "1",
        "--timeout",
        "120",
    ]
    ended = subprocess.run(
        [*eco, *what, "--", *launcher], env=library.environment({}), cwd=tmp_path, text=True, capture_output=True,
        timeout=600, check=False,
    )  # fmt: skip
    if "nobody has looked at" in ended.stderr:
        pytest.skip(ended.stderr)
    assert ended.returncode == 0, ended.stderr
    record = Record.read(tmp_path / "rules" / "record.json")
    assert record.failed == {}
    for op in ("allgather", "barrier"):
        ran = {
            launch.ways[op] for launch in record.launches if launch.phase == "search" and op in launch.ways
        }
        assert set(record.candidates(op)) <= ran
    environment = tmp_path / "rules" / "env.sh"
    if environment.exists():  # on one host there may be nothing to gain
        program = library.compile("repeat")
        ended_program = library.run(RANKS, ["sh", "-c", f". {environment}; exec {program} allgather 8 3"])
        assert ended_program.returncode == 0, ended_program.stderr
