"""Results of served collectives, and that they were served."""

import json
import re
from pathlib import Path

import pytest

from eco import paths, plans
from eco.collectives import COLLECTIVES
from eco.plans import Rows

from .conftest import Library

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("ranks", [1, 2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 5, 8))])
def test_right_and_served(library: Library, ranks: int) -> None:
    ended = library.run_served(ranks, [library.compile("collectives")], timeout_s=400)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "right\n"
    served, passed = ended.served()
    if ranks == 1:
        assert served == 0
    else:
        # World and its copy are served but for zero counts, a type with gaps and the program's own operation. The plan
        # is for so many ranks, so it does not fit the split communicator.
        assert served >= 2 * 12 * (ranks + 14), ended.stderr
        assert served > passed, ended.stderr


@pytest.mark.parametrize(("ranks", "seed"), [
    (2, 1), (3, 2), (5, 3), pytest.param(4, 4, marks=pytest.mark.slow), pytest.param(8, 5, marks=pytest.mark.slow),
])  # fmt: skip
def test_every_operation_gives_what_the_library_gives(
    library: Library, tmp_path: Path, ranks: int, seed: int
) -> None:
    settings = {"ECO_REPORT": str(tmp_path / "report.json")}
    program = library.compile("operations")
    ended = library.run_served(ranks, [program, "300", str(seed), *library.draws], settings, timeout_s=400)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    collectives = ended.report["collectives"]
    assert isinstance(collectives, dict)
    for name in COLLECTIVES:
        calls = collectives[name]
        assert calls["calls_served"] >= 5, (name, calls, ended.stderr)


def test_operations_are_right_without_eco(library: Library) -> None:
    """A difference between the program's two ways would be its own."""
    ended = library.run(3, [library.compile("operations"), "300", "2", *library.draws])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr


def test_program_is_right_without_eco(library: Library) -> None:
    ended = library.run(3, [library.compile("collectives")])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr


PYTHON_PROGRAM = """
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
for n in (1, 10, 1000, 100000):
    data = numpy.full(n, world.rank + 1.0)
    world.Bcast(data, root=world.size - 1)
    assert (data == world.size).all()
    total = numpy.empty(n)
    world.Allreduce(numpy.full(n, 1.0), total)
    assert (total == world.size).all()
    world.Allreduce(MPI.IN_PLACE, total)
    assert (total == world.size ** 2).all()
assert world.allreduce(world.rank) == world.size * (world.size - 1) // 2
world.Barrier()
print("right", flush=True) if world.rank == 0 else None
"""


def test_mpi4py(library: Library, tmp_path: Path) -> None:
    """mpi4py loads its library locally, asks for MPI_THREAD_MULTIPLE, and calls the large-count entries it finds."""
    script = tmp_path / "program.py"
    script.write_text(PYTHON_PROGRAM)
    ended = library.run_served(3, [library.python, str(script)])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    served, passed = ended.served()
    assert served >= 13, ended.stderr
    assert passed <= 1, ended.stderr


def test_mpi4py_with_eco_off_but_preloaded(library: Library, tmp_path: Path) -> None:
    from eco import paths

    script = tmp_path / "program.py"
    script.write_text(PYTHON_PROGRAM)
    preload = {"ECO": "off", "LD_PRELOAD": str(paths.native_file("libeco-preload.so"))}
    ended = library.run(2, [library.python, str(script)], preload)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "eco:" not in ended.stderr


def test_report(library: Library, tmp_path: Path) -> None:
    program = library.compile("segments")
    ended = library.run_served(2, [program], {"ECO_REPORT": str(tmp_path / "report.json"), "ECO_QUIET": "1"})
    assert ended.returncode == 0, ended.stderr
    assert "eco:" not in ended.stderr
    report = ended.report
    assert (report["schema"], report["version"], report["ranks"], report["mode"]) == (
        "eco.report",
        1,
        2,
        "on",
    )
    assert report["communicators_armed"] == 1
    mine, totals = report["collectives"], report["totals"]
    assert isinstance(mine, dict)
    assert isinstance(totals, dict)
    assert mine["broadcast"]["calls_served"] == 40
    assert totals["broadcast"]["calls_served"] == 80
    assert mine["allreduce"]["calls_served"] == 40
    assert mine["allreduce"]["seconds"] > 0
    assert totals["allreduce"]["bytes"] == 2 * mine["allreduce"]["bytes"]
    assert totals["allreduce"]["between_messages"] == 0, "one host is one subnet"


@pytest.mark.parametrize(
    ("native_s", "is_least", "says"),
    [
        (9.0, False, r"about \S+ s gained in a job of"),
        (9.0, True, r"at least \S+ s gained in a job of"),
        (0.0, False, r"about \S+ s lost in a job of"),
        (4.0, True, r"at most \S+ s lost in a job of"),
    ],
)
def test_the_gain_is_less_the_arming(
    library: Library, tmp_path: Path, native_s: float, is_least: bool, says: str
) -> None:
    """The plan says what a call gains, or gains at least; arming took its time whatever that is."""
    plan = tmp_path / "plan.json"
    rows: Rows = {name: [(1 << 24, f"{name}/binomial")] for name in ("broadcast", "allreduce")}
    text = plans.by_hand(2, rows).replace('"measured_s": 0.0', '"measured_s": 4.0')
    least = f', "native_is_least": {str(is_least).lower()}'
    plan.write_text(text.replace('"native_s": 0.0', f'"native_s": {native_s}{least}'))
    settings = {"ECO_PLAN": str(plan), "ECO_REPORT": str(tmp_path / "report.json")}
    ended = library.run_served(2, [library.compile("segments")], settings)
    assert ended.returncode == 0, ended.stderr
    assert ended.served() == (80, 0)
    arming_s, gain_s = ended.report["arming_s"], ended.report["estimated_gain_s"]
    assert isinstance(arming_s, float)
    assert arming_s > 0
    assert gain_s == pytest.approx(80 * (native_s - 4.0 if native_s else 0) - arming_s)
    assert ended.report["estimated_gain_is_least"] is is_least
    assert re.search(says, ended.stderr), ended.stderr
    assert ", armed in " in ended.stderr


def test_calls_that_the_plan_leaves_to_the_library(library: Library) -> None:
    rows: Rows = {
        "broadcast": [(1 << 24, None)],
        "allreduce": [(1 << 24, None), (1 << 25, "allreduce/binomial")],
    }
    ended = library.run_served(2, [library.compile("segments")], rows=rows)
    assert ended.returncode == 0, ended.stderr
    assert ended.served() == (0, 80)
    assert "the plan leaves these calls to the library" in ended.stderr, ended.stderr
    assert "nothing was called" not in ended.stderr
    assert "s lost in a job of" in ended.stderr


#: Broadcasts that are native by plan and longer ones, over handles that are freed and used again.
REUSED_HANDLES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
short, long, n_reused = bytearray(8), bytearray(4096), 0
last = None
for turn in range(20):
    for length in (8, 4096):
        block = MPI.BYTE.Create_contiguous(length).Commit()
        n_reused += last == MPI._handleof(block)
        last = MPI._handleof(block)
        data = short if length == 8 else long
        if world.rank == turn % 3:
            data[:] = bytes([turn + 1]) * length
        world.Bcast([data, 1, block], root=turn % 3)
        assert data == bytes([turn + 1]) * length, (turn, length)
        block.Free()
    for length, data in ((8, short), (4096, long)):
        if world.rank == turn % 3:
            data[:] = bytes([turn + 101]) * length
        world.Bcast([data, length, MPI.BYTE], root=turn % 3)
        assert data == bytes([turn + 101]) * length, (turn, length)
print("reused" if n_reused else "not reused", flush=True) if world.rank == 0 else None
"""


def test_calls_like_one_that_passed_pass_and_others_are_served(library: Library, tmp_path: Path) -> None:
    """What a communicator keeps of calls that passed (docs/adr/0038) fits no other call."""
    script = tmp_path / "reused.py"
    script.write_text(REUSED_HANDLES)
    settings = {"ECO_REPORT": str(tmp_path / "report.json")}
    rows: Rows = {"broadcast": [(64, None), (1 << 20, "broadcast/binomial")]}
    ended = library.run_served(3, [library.python, str(script)], settings, rows=rows)
    assert (ended.returncode, ended.stdout) == (0, "reused\n"), ended.stderr
    assert ended.served() == (40, 40), ended.stderr
    collectives = ended.report["collectives"]
    assert isinstance(collectives, dict)
    assert collectives["broadcast"]["bytes"] == 40 * (8 + 4096), "of rank 0"


#: The same broadcasts with a type of the library on rank 0 and derived ones elsewhere; between them calls that arm, are
#: learned, wished for by nonblocking ones, or open.
MIXED_TYPES = """
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
blocks = {length: MPI.BYTE.Create_contiguous(length).Commit() for length in (8, 300)}
ones, sums = numpy.ones(4), numpy.zeros(4)
long, all_of_it = numpy.zeros(1 << 20, "b"), numpy.zeros(4 * world.size)
for turn in range(400):
    for length, block in blocks.items():
        data = bytearray(bytes([turn % 200 + 1]) * length if world.rank == 0 else length)
        world.Bcast([data, length, MPI.BYTE] if world.rank == 0 else [data, 1, block], root=0)
        assert data == bytes([turn % 200 + 1]) * length, (turn, length)
    if turn % 100 == 40:
        world.Allreduce(ones, sums)
        assert (sums == world.size).all()
    if turn % 100 == 50:
        world.Ireduce(ones, sums, root=1).Wait()
        world.Iscan(ones, sums).Wait()
        assert (sums == world.rank + 1).all()
    if turn % 100 == 60:
        world.Bcast(long, root=1)
        world.Allgather(ones, all_of_it)
        world.Barrier()
print("right", flush=True) if world.rank == 0 else None
"""


@pytest.mark.parametrize(
    "settings",
    [{}, {"ECO_AMBIENT": "always"}, {"ECO_LATE": "auto"}, {"ECO_BUDGET": "0.05"}, {"ECO_MEASURE": "never"}],
    ids=lambda settings: "-".join(settings) or "as it is",
)
def test_ranks_that_keep_what_passed_and_ranks_that_do_not_stay_together(
    library: Library, tmp_path: Path, settings: dict[str, str]
) -> None:
    script = tmp_path / "mixed.py"
    script.write_text(MIXED_TYPES)
    forgetful = {"ECO_CACHE_DIR": str(tmp_path), "ECO_NETWORK": str(library.network), "ECO_ARM_AFTER": "3"}
    words = [str(paths.native_file("eco-exec")), library.python, str(script)]
    ended = library.run(3, words, forgetful | settings)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    served, passed = ended.served()
    assert served + passed == 800 + 4 * 6, ended.stderr


def test_a_job_of_nothing_but_calls_longer_than_jobs_plan_is_served_by_its_plan(
    library: Library, tmp_path: Path
) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        "import numpy\n"
        "from mpi4py import MPI\n"
        "rank = MPI.COMM_WORLD.rank\n"
        "for turn in range(3):\n"
        "    message = numpy.full(40 << 20, turn if rank == 0 else 9, numpy.uint8)\n"
        "    MPI.COMM_WORLD.Bcast(message)\n"
        "    assert (message == turn).all(), (rank, turn)\n"
    )
    rows: Rows = {"broadcast": [(1 << 27, "broadcast/chain segment=1048576")]}
    ended = library.run_served(2, [library.python, str(script)], rows=rows)
    assert ended.returncode == 0, ended.stderr
    assert ended.served() == (3, 0), ended.stderr


def test_a_job_without_calls_says_so(library: Library, tmp_path: Path) -> None:
    script = tmp_path / "nothing.py"
    script.write_text("from mpi4py import MPI\n")
    ended = library.run_served(2, [library.python, str(script)])
    assert ended.returncode == 0, ended.stderr
    assert "eco: served 0 of 0 calls; nothing was called that can be served" in ended.stderr, ended.stderr


@pytest.mark.parametrize("allreduce", ["allreduce/binomial", None])
def test_calls_that_are_not_planned_yet_are_told_apart(
    library: Library, tmp_path: Path, allreduce: str | None
) -> None:
    plan = tmp_path / "plan.json"
    rows: Rows = {"broadcast": [(1 << 24, None)], "allreduce": [(1 << 24, allreduce)]}
    document = json.loads(plans.by_hand(2, rows))
    for entry in document["entries"]:
        for row in entry["rows"]:
            if row["recipe"] is None:
                row["open"] = True
    plan.write_text(json.dumps(document))
    settings = {"ECO_PLAN": str(plan), "ECO_REPORT": str(tmp_path / "report.json")}
    ended = library.run_served(2, [library.compile("segments")], settings)
    assert ended.returncode == 0, ended.stderr
    open_calls = 40 if allreduce else 80
    assert ended.served() == (80 - open_calls, open_calls)
    assert f"; {open_calls} of kinds that are not planned yet" in ended.stderr, ended.stderr
    assert "leaves these calls" not in ended.stderr
    assert "as good" not in ended.stderr
    calls = ended.report["collectives"]
    assert isinstance(calls, dict)
    unplanned = {name: call["calls_unplanned"] for name, call in calls.items() if call["calls_unplanned"]}
    assert unplanned == ({"broadcast": 40} if allreduce else {"allreduce": 40, "broadcast": 40})


def test_observe_serves_nothing_and_counts(library: Library, tmp_path: Path) -> None:
    settings = {"ECO": "observe", "ECO_REPORT": str(tmp_path / "report.json")}
    ended = library.run_served(2, [library.compile("segments")], settings)
    assert ended.returncode == 0, ended.stderr
    assert ended.served() == (0, 80)
    assert ended.report["mode"] == "observe"


def test_bench_measures_every_operation(library: Library, tmp_path: Path) -> None:
    from eco import paths

    names = ["broadcast", "barrier", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
             "scatter", "gather", "allgather", "alltoall", "scan", "exscan"]  # fmt: skip
    out = tmp_path / "bench.json"
    words = [str(paths.native_file(f"eco-rank-{library.name}")), "bench", "--ops", ",".join(names), "--sizes",
             "2,8,1000,16KiB", "--max-seconds", "0.05", "--out", str(out)]  # fmt: skip
    ended = library.run_served(3, words)
    assert ended.returncode == 0, ended.stderr
    cells = {(cell["collective"], cell["bytes"]): cell for cell in json.loads(out.read_text())["cells"]}
    assert len(cells) == 11 * 4 + 1
    assert all(cell["correct"] and len(cell["seconds"]) >= 3 for cell in cells.values())
    assert cells["broadcast", 8]["algorithm"] == "broadcast/binomial"
    assert cells["allreduce", 16384]["algorithm"] == "allreduce/subnets"
    assert cells["barrier", 0]["algorithm"] == "barrier/binomial"
    assert cells["gather", 8]["algorithm"] == "gather/binomial"
    # Fewer bytes than ranks: one for each, where none would be no call that is served, and measure nothing.
    assert cells["gather", 2]["algorithm"] == "gather/binomial"
    assert cells["scan", 1000]["algorithm"] == "scan/chain"
