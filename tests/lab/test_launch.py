"""Plain mpirun inside a lab: every rank on the host that the placement says, under both libraries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from eco.errors import InvalidArgument, Timeout
from eco.lab import Lab, load, parse
from eco.lab.bounds import wire_bytes
from eco.paths import how_to_install, library_dir

pytestmark = [pytest.mark.lab, pytest.mark.mpi]

#: Against hangs only: a busy machine may take its time.
LIMIT_S = 120.0
#: Of a job that takes one second or two: what has not ended by then hangs, or is started again in vain.
SOON_S = 20.0
HELLO = """
import json, os, socket
from mpi4py import MPI
facts = [socket.gethostname(), os.environ["ECO_HOST_ID"], os.environ["ECO_CACHE_DIR"], os.environ.get("LD_PRELOAD", "")]
everybody = MPI.COMM_WORLD.gather(facts, 0)
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps(everybody))
"""


def run(lab: Lab, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A short job, once more where it hangs: when several ranks fail at once, the main thread of Open MPI 5.0.11's
    prterun waits, in one of some 25 jobs, for a lock that no thread holds any more."""
    try:
        return lab.run(words, timeout=SOON_S, capture=True)
    except Timeout:
        return lab.run(words, timeout=LIMIT_S, capture=True)


def hello(lab: Lab, tmp_path: Path, n: int) -> list[list[str]]:
    program = tmp_path / "hello.py"
    program.write_text(HELLO)
    done = run(lab, ["mpirun", "-n", str(n), "python", str(program)])
    assert done.returncode == 0, done.stderr
    assert "setpgid" not in done.stderr
    answer: list[list[str]] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("library", ["openmpi", "mpich", "openmpi4", "debian-openmpi"])
def test_ranks_are_where_the_placement_says(library: str, tmp_path: Path) -> None:
    if not (library_dir(library) / "bin" / "mpiexec").exists():
        pytest.skip(f"{library} is not installed: run `{how_to_install(library)}`")
    with Lab(load("three-subnets"), library=library) as lab:
        for placement in ("block", "round-robin", "shuffled:1"):
            lab.use(placement=placement)
            facts = hello(lab, tmp_path, 8)
            assert [f[0] for f in facts] == [lab.host_of_rank(r) for r in range(8)]
            digest = lab.description.digest()
            for host, host_id, cache, preload in facts:
                assert host_id == f"{digest}/{host}"
                assert cache.endswith(f"lab/{digest}")
                assert "libeco-idle.so" in preload


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_several_ranks_a_host_and_fewer_than_there_is_room_for(library: str, tmp_path: Path) -> None:
    with Lab(load("tiny"), library=library, n_ranks=8) as lab:
        assert [f[0] for f in hello(lab, tmp_path, 8)] == ["h1", "h2", "h3", "h4"] * 2
        lab.use(n_ranks=4)
        assert [f[0] for f in hello(lab, tmp_path, 3)] == ["h1", "h2", "h3"]


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_nothing_goes_by_shared_memory(library: str, tmp_path: Path) -> None:
    # 64 KiB to another host and back must pass the 10 Mbit/s bus: in memory it would take a thousandth of that. How
    # much longer it takes is the machine's.
    program = tmp_path / "p.py"
    program.write_text(
        "import time\nfrom mpi4py import MPI\nc = MPI.COMM_WORLD\nb = bytearray(65536)\n"
        "best = 999\n"
        "for _ in range(5):\n"
        "    c.Barrier(); t = time.monotonic()\n"
        "    if c.rank == 2: c.Send(b, 3); c.Recv(b, 3); best = min(best, time.monotonic() - t)\n"
        "    if c.rank == 3: c.Recv(b, 2); c.Send(b, 2)\n"
        "if c.rank == 2: print(best)\n"
    )
    floor = 2 * wire_bytes(65536) * 8 / 10e6
    with Lab(load("tiny"), library=library) as lab:
        done = run(lab, ["mpirun", "-n", "4", "python", str(program)])
    assert done.returncode == 0, done.stderr
    assert floor <= float(done.stdout)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_every_rail_is_used(library: str, tmp_path: Path) -> None:
    rails = 'name="rails"\n' + "".join(
        f'[[segment]]\nname="s{r}"\nrate_mbit=40\nhosts=2\nrail={r}\n' for r in range(2)
    )
    program = tmp_path / "p.py"
    program.write_text(
        "from mpi4py import MPI\nc = MPI.COMM_WORLD\nb = bytearray(1 << 20)\n"
        "c.Send(b, 1) if c.rank == 0 else c.Recv(b, 0)\n"
    )
    with Lab(parse(rails), library=library) as lab:
        done = run(lab, ["mpirun", "-n", "2", "python", str(program)])
        sent = {s["name"]: s["wire_bytes"] for s in lab.stats()["servers"]}
    assert (done.returncode, done.stderr) == (0, "")
    assert min(sent["h1.up"], sent["h1/1.up"]) > 200_000


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_the_exit_status_of_a_failing_job(library: str) -> None:
    with Lab(load("tiny"), library=library) as lab:
        program = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); raise SystemExit(3)"
        assert run(lab, ["mpirun", "-n", "4", "python", "-c", program]).returncode != 0


def test_an_unknown_library_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="openmpi, mpich"):
        Lab(load("tiny"), library="lam")


#: Says what it had time to do, as whatever is interrupted with work of its own does.
INTERRUPTED = """
import sys, time
try:
    print("begun", flush=True)
    time.sleep(100)
except KeyboardInterrupt:
    time.sleep(1)
    print("kept", flush=True)
"""


def test_what_is_interrupted_ends_by_itself(tmp_path: Path) -> None:
    """Ctrl-C reaches all processes in the terminal's foreground."""
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    # What a shell runs in its background ignores interrupts, and so does all that it starts: these tests may.
    words = ["env", "--default-signal=INT", sys.executable, "-m", "eco.cli.main"]
    words += ["lab", "run", "tiny", "--", sys.executable, str(script)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == "kept\n"
        assert process.wait(LIMIT_S) == 130
