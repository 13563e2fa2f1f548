"""Unmodified MPI programs on hosts with two NICs: ECO finds both, measures them, and uses them where that is faster."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from eco import jobs, paths
from eco import network as networks
from eco.characterize import characterize_place
from eco.lab import Lab, load

pytestmark = [pytest.mark.lab, pytest.mark.mpi]

LIMIT_S = 400.0  # against hangs only
ON_RAILS = {"broadcast/striped", "broadcast/rail_trees"}
#: Waits in MPI and in collectives at once; says by what the large broadcast was served, once it was.
PROGRAM = """
import ctypes
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
half = world.Split(world.rank % 2, -world.rank)
served_by = None
try:
    served_by = ctypes.CDLL(None).eco_last_algorithm
    served_by.restype = ctypes.c_char_p
except AttributeError:
    pass
names = set()
for i in range(5):
    root, taker = i % world.size, (i + 3) % world.size
    sent, taken = numpy.full(1 << 15, 5.0 + i), numpy.zeros(1 << 15)
    request = world.Isend(sent, taker) if world.rank == root else None
    if world.rank == taker:
        world.Recv(taken, root)
        assert (taken == 5.0 + i).all()
    data = numpy.arange(1 << 17, dtype=float) * (i + 1) if world.rank == root else numpy.zeros(1 << 17)
    world.Bcast(data, root)
    if served_by is not None:
        names.add(served_by().decode())
    assert (data == numpy.arange(1 << 17) * (i + 1)).all()
    if request is not None:
        request.Wait()
    total = numpy.zeros(1 << 15)
    half.Allreduce(numpy.full(1 << 15, float(world.rank)), total)
    assert (total == sum(r for r in range(world.size) if r % 2 == world.rank % 2)).all()
if world.rank == 0:
    print("right", *sorted(names), flush=True)
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_characterize_measures_the_rails(library: str) -> None:
    with Lab(load("rails-unequal"), library=library) as lab:
        characterize_place(jobs.LabPlace(lab), Path("network.json"), 7.0, LIMIT_S, None)
    network = networks.load(Path("network.json"))
    assert len(network.rails) == 2
    assert [rail.name for rail in network.more_rails] == [network.rails[1]]
    share = network.more_rails[0].subnets[0].bytes_per_s / network.subnets[0].bytes_per_s
    assert share == pytest.approx(8 / 20, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("library, other", [("openmpi", "mpi"), ("mpich", "tcp")])
def test_a_program_uses_both_rails(library: str, other: str) -> None:
    Path("program.py").write_text(PROGRAM)
    python = str(paths.library_dir(library) / "bin" / "python")

    def run(lab: Lab, transport: str) -> tuple[list[str], dict[str, Any]]:
        # A job has no time to measure calls of a second, which the library needs here; it uses what was tuned.
        eco = [sys.executable, "-m", "eco.cli.main"]
        start = ["env", f"ECO_TRANSPORT={transport}", *eco]
        tuned = lab.run(
            [*start, "tune", "--ops", "broadcast", "--sizes", "1MiB", "--", "mpirun", "-n", "8"],
            timeout=LIMIT_S,
            capture=True,
        )
        assert tuned.returncode == 0, tuned.stderr
        words = ["run", "--transport", transport, "--report", "report.json", "--"]
        ended = lab.run(
            [*eco, *words, "mpirun", "-n", "8", python, "program.py"], timeout=LIMIT_S, capture=True
        )
        assert ended.returncode == 0, ended.stderr
        report = json.loads(Path("report.json").read_text())
        right, *names = ended.stdout.split()
        assert right == "right"
        assert report["collectives"]["broadcast"]["calls_served"] >= 4, ended.stderr
        return names, report["transport"]

    with Lab(load("rails-8"), library=library) as lab:
        names, transport = run(lab, "auto")
        assert ON_RAILS & set(names), names
        assert (len(transport["rails"]), transport["reason"]) == (2, "")
        names, transport = run(lab, other)
        assert bool(ON_RAILS & set(names)) == (other == "tcp"), names
        assert transport["carrier"] == other
        assert other == "tcp" or transport["rails"] == []
