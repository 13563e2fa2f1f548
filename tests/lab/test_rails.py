"""Unmodified MPI programs on hosts with two NICs: ECO finds both, measures them, and uses them where that is faster."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from eco import jobs, paths
from eco import network as networks
from eco.characterize import characterize_place
from eco.lab import Lab, load

pytestmark = [pytest.mark.lab, pytest.mark.mpi]

LIMIT_S = 400.0  # against hangs only
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


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_a_program_uses_both_rails(library: str) -> None:
    Path("program.py").write_text(PROGRAM)
    python = str(paths.library_dir(library) / "bin" / "python")

    def run(lab: Lab, *words: str) -> tuple[list[str], dict[str, object]]:
        eco = [sys.executable, "-m", "eco.cli.main", "run", "--budget", "20", "--report", "report.json", *words, "--"]
        ended = lab.run([*eco, "mpirun", "-n", "8", python, "program.py"], timeout=LIMIT_S, capture=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.split(), json.loads(Path("report.json").read_text())["transport"]

    with Lab(load("rails-8"), library=library) as lab:
        right, *names = run(lab)[0]
        assert right == "right"
        assert "broadcast/striped" in names or "broadcast/rail_trees" in names, names
        words, transport = run(lab)
        assert words[0] == "right"
        assert len(transport["rails"]) == 2, transport
        right, *names = run(lab, "--transport", "mpi")[0]
        assert right == "right"
        assert not {"broadcast/striped", "broadcast/rail_trees"} & set(names), names
        words, transport = run(lab, "--transport", "tcp")
        assert words[0] == "right"
        assert transport["carrier"] == "tcp"
