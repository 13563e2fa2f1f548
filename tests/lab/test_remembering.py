"""What is remembered of a network serves other jobs: only missing pairs are measured, moved hosts are noticed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from eco import jobs, paths
from eco import network as networks
from eco.lab import Lab, parse
from eco.network import Network
from eco.paths import networks_dir

from .measuring import measured

pytestmark = [pytest.mark.lab, pytest.mark.mpi, pytest.mark.slow]

LIMIT_S = 300.0  # against hangs only
#: A busy machine may take hosts for moved ones, or not see at once where they are now.
STARTS = 4
THREE_SUBNETS = (networks_dir() / "three-subnets.toml").read_text().partition("[expect]")[0]

#: Calls one collective often enough that its communicator is armed.
PROGRAM = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
value = np.full(4096, float(comm.rank))
for _ in range(8):
    comm.Bcast(value, root=0)
if comm.rank == 0:
    print("value", value[7], flush=True)
"""

#: Hosts that keep their identity, and what is remembered of them, from one description to another.
KEPT = 'ECO_LAB_DIGEST=kept ECO_CACHE_DIR="$0" exec "$@"'


def described(sizes: tuple[int, ...]) -> str:
    """three-subnets with so many hosts in each; they are named and addressed in order all the same."""
    text = THREE_SUBNETS
    for old, new in zip((3, 3, 2), sizes, strict=True):
        text = text.replace(f"hosts = {old}\n", f"hosts = {new} \n", 1)
    return text


def remembered(cache: Path) -> dict[int, Network]:
    """By the number of hosts; one of each."""
    found = [networks.load(path) for path in cache.rglob("networks/*.json")]
    by_hosts = {len(network.hosts): network for network in found}
    assert len(by_hosts) == len(found)
    return by_hosts


def partition_of(network: Network) -> set[frozenset[str]]:
    return {frozenset(network.hosts[host].name for host in subnet.hosts) for subnet in network.subnets}


def names(*parts: str) -> set[frozenset[str]]:
    return {frozenset(part.split()) for part in parts}


def n_measured_of(network: Network) -> tuple[int, int]:
    """How many pairs were measured, of how many."""
    numbers = re.match(r"(\d+) of (\d+) pairs measured, the others known", network.note)
    assert numbers, network.note
    return int(numbers[1]), int(numbers[2])


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_a_job_with_one_new_host_measures_the_new_pairs_only() -> None:
    library = "openmpi"
    Path("program.py").write_text(PROGRAM)
    Path("hosts").write_text("\n".join(["h1", "h2", "h3", "h4", "h5", "h9"]))
    python = str(paths.library_dir(library) / "bin" / "python")
    with Lab(parse(described((3, 3, 3))), library=library) as lab:
        lab.use(n_ranks=8)
        measured(lab, Path("eight.json"))
        assert sorted(remembered(Path("cache"))) == [8]
        lab.use(placement="hosts", n_ranks=6)
        eco = [sys.executable, "-m", "eco.cli.main", "run", "--budget", "10", "--report", "report.json", "--"]
        ended = lab.run([*eco, "mpirun", "-n", "6", python, "program.py"], timeout=LIMIT_S, capture=True)
    assert ended.returncode == 0, ended.stderr
    assert "value 0.0" in ended.stdout
    network = remembered(Path("cache"))[6]
    assert n_measured_of(network) == (5, 15)
    assert names("h1 h2 h3", "h4 h5") <= partition_of(network)
    assert "5 of 15 pairs measured" in json.loads(Path("report.json").read_text())["network"]


#: As much as the library takes a good part of a second for, where nobody has measured anything.
LARGE = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
value = np.zeros(256 << 10, "u1")
for turn in range(150):
    value[:] = turn if comm.rank == 0 else 255
    comm.Bcast(value, root=0)
    assert value[0] == value[-1] == turn
"""


def test_a_first_job_is_served_at_the_size_that_it_calls() -> None:
    Path("program.py").write_text(LARGE)
    python = str(paths.library_dir("mpich") / "bin" / "python")
    with Lab(parse(described((3, 3, 2))), library="mpich", placement="shuffled:1") as lab:
        eco = [sys.executable, "-m", "eco.cli.main", "run", "--report", "report.json", "--"]
        ended = lab.run([*eco, "mpirun", "-n", "8", python, "program.py"], timeout=LIMIT_S, capture=True)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(Path("report.json").read_text())["collectives"]["broadcast"]["calls_served"] > 0


def test_what_a_measurement_does_to_what_is_remembered() -> None:
    """It is used, left as it was, or replaced; then plans of the network as it was are said to be lost."""
    cache = Path("kept").absolute()

    def characterize(lab: Lab, *words: str) -> tuple[Network, str]:
        place = jobs.LabPlace(lab)
        said: list[str] = []
        program = [place.rank_program(), "characterize", "--out", str(cache.parent / "n.json"), *words]
        done = place.start(place.stock(["sh", "-c", KEPT, str(cache), *program]), LIMIT_S, said.append)
        assert done.code == 0, done.errors
        return networks.load(cache.parent / "n.json"), "\n".join(said)

    def kept() -> Network:
        return remembered(cache)[8]

    with Lab(parse(described((3, 3, 2))), library="mpich") as lab:
        first, said = characterize(lab, "--remembered", "used")
        assert kept().measured_at == first.measured_at, "there was none: measured and remembered"
        used, _ = characterize(lab, "--remembered", "used")
        assert used == first
    plans = cache / "plans"
    plans.mkdir()
    (plans / "a.json").write_text(json.dumps({"network": first.fingerprint}))
    with Lab(parse(described((2, 4, 2))), library="mpich") as lab:
        apart, said = characterize(lab, "--remembered", "left")
        assert (apart.measured_at != first.measured_at, kept() == first) == (True, True)
        assert "outdated" not in said
        again, said = characterize(lab)
        assert kept() == again
    assert "eco-rank: outdated: " in said
    assert "plans that were made for the one that was remembered serve no longer" in said


def test_a_host_that_moved_is_noticed_and_measured_again() -> None:
    cache = Path("kept").absolute()

    def start(lab: Lab, *words: str) -> None:
        place = jobs.LabPlace(lab)
        command = ["sh", "-c", KEPT, str(cache), place.rank_program(), *words]
        done = place.start(place.stock(command), LIMIT_S)
        assert done.code == 0, done.errors

    with Lab(parse(described((3, 3, 2))), library="mpich") as lab:
        start(lab, "characterize", "--out", str(cache.parent / "n.json"))
    before = remembered(cache)[8]
    assert partition_of(before) == names("h1 h2 h3", "h4 h5 h6", "h7 h8")
    with Lab(parse(described((2, 4, 2))), library="mpich") as lab:
        found = []
        for _ in range(STARTS):
            start(lab, "tune", "--network-only")
            found.append(remembered(cache)[8])
            if len(found) > 1 and found[-1].measured_at == found[-2].measured_at:
                break
    after = found[-1]
    assert partition_of(after) == names("h1 h2", "h3 h4 h5 h6", "h7 h8")
    n_measured, n_pairs = n_measured_of(found[0])
    assert n_pairs == 28
    assert 7 <= n_measured < 28
    assert after.measured_at == found[-2].measured_at, "and then all is as remembered"
