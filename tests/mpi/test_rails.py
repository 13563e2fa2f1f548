"""ECO's TCP and UCX transports under MPI programs: what they serve, beside what MPI does, and how they fail.

On this one machine the rails are addresses of the loopback, and all that is served goes over them (ECO_TRANSPORT=tcp,
ucx);
tests/lab/test_rails.py has hosts with several NICs.
"""

import contextlib
import fcntl
import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from eco.plans import Rows

from .conftest import ROWS, Ended, Library

pytestmark = pytest.mark.mpi

RAILS = "127.0.0.1,127.0.0.2"
OVER_TCP = {"ECO_TRANSPORT": "tcp", "ECO_RAILS": RAILS}
SIOCGIFADDR = 0x8915  # linux/sockios.h
#: Both rails for what is large.
STRIPED: Rows = ROWS | {
    name: [(4096, f"{name}/binomial" if name != "allgather" else "allgather/doubling"),
           (1 << 26, f"{name}/striped shares=2,1 parts={name}/{part} segment=8192")]
    for name, part in (("broadcast", "chain"), ("allreduce", "ring"), ("allgather", "chain"))
}  # fmt: skip


def with_rails(library: Library, folder: Path) -> str:
    """The network of this one host, with two rails."""
    network = json.loads(library.network.read_text())
    rail = {part: network[part] for part in ("subnets", "between", "uplinks")}
    file = folder / "rails.json"
    file.write_text(json.dumps(network | {"more_rails": [rail]}))
    return str(file)


def run(
    library: Library, tmp_path: Path, ranks: int, words: list[str], rows: Rows = STRIPED, **settings: str
) -> Ended:
    """Served over TCP, by a plan by hand."""
    own = {"ECO_NETWORK": with_rails(library, tmp_path), "ECO_REPORT": str(tmp_path / "report.json")}
    if settings.get("ECO_TRANSPORT") == "ucx" and "ECO_RAILS" not in settings:
        own["ECO_RAILS"] = rails_of("ucx")
    return library.run_served(ranks, words, OVER_TCP | own | settings, 300, rows)


def transport_of(ended: Ended) -> dict[str, Any]:
    transport = ended.report["transport"]
    assert isinstance(transport, dict)
    return transport


def rails_of_ucx() -> list[str]:
    """One NIC of this host, by address and by name: UCX 1.20 has no way over the loopback. Empty: there is none."""
    from eco import _core

    addresses = [address for _, address in _core.nics()]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(asking, SIOCGIFADDR, name.encode().ljust(256, b"\0"))
                if (address := socket.inet_ntoa(answer[20:24])) in addresses:
                    return [address, name]
    return []


def why_no_ucx() -> str:
    from eco import _core

    if "ECO was built without" in (reason := _core.ucx()[2]):
        return reason
    return "" if rails_of_ucx() else "no NIC but the loopback, over which UCX 1.20 has no way"


CARRIERS = [
    "tcp",
    pytest.param("ucx", marks=[pytest.mark.ucx, pytest.mark.skipif(bool(why_no_ucx()), reason=why_no_ucx())]),
]


def rails_of(carrier: str) -> str:
    return ",".join(rails_of_ucx()) if carrier == "ucx" else RAILS


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("ranks", [2, 3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", ["collectives", "local_choices", "segments", "reductions", "lifetimes"])
def test_programs_are_right(library: Library, tmp_path: Path, program: str, ranks: int, carrier: str) -> None:
    ended = run(library, tmp_path, ranks, [library.compile(program)], ECO_TRANSPORT=carrier)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 0, ended.stderr
    transport = transport_of(ended)
    rails = rails_of(carrier).split(",")
    assert (transport["carrier"], transport["rails"]) == (carrier, rails), transport
    assert f"{carrier.upper()} over {', '.join(rails)}" in ended.stderr


@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_operation_gives_what_the_library_gives(library: Library, tmp_path: Path, carrier: str) -> None:
    ended = run(
        library,
        tmp_path,
        3,
        [library.compile("operations"), "200", "7", *library.draws],
        ECO_TRANSPORT=carrier,
    )
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 50, ended.stderr


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.long), 5])
def test_ranks_that_wait_in_mpi_and_over_rails(
    library: Library, tmp_path: Path, ranks: int, carrier: str
) -> None:
    """And nothing stays open."""
    ended = run(library, tmp_path, ranks, [library.compile("crossed")], ECO_TRANSPORT=carrier)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] >= 100, ended.stderr
    settings = {"ECO_TRANSPORT": "mpi", "ECO_RAILS": ""}
    over_mpi = run(library, tmp_path, ranks, [library.compile("crossed")], ROWS, **settings)
    assert (over_mpi.returncode, over_mpi.stdout) == (0, "right\n"), over_mpi.stderr
    assert transport_of(over_mpi)["carrier"] == "mpi"
    n_open = [int(re.findall(r"(\d+) descriptors", each.stderr)[0]) for each in (ended, over_mpi)]
    assert n_open[0] == n_open[1], "over TCP, over MPI"


@pytest.mark.parametrize("carrier", CARRIERS)
def test_threads_share_the_transport(library: Library, tmp_path: Path, carrier: str) -> None:
    ended = run(library, tmp_path, 2, [library.compile("threads")], ECO_ARM_AFTER="3", ECO_TRANSPORT=carrier)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 0, ended.stderr


@pytest.mark.parametrize("carrier", CARRIERS)
def test_many_communicators(library: Library, tmp_path: Path, carrier: str) -> None:
    """Tags of freed ones are used again; those beyond what there are stay native."""
    ended = run(library, tmp_path, 2, [library.compile("communicators"), "100", "700"], ECO_TRANSPORT=carrier)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    native = ended.report["communicators_native"]
    assert set(native) == {"one rank only"}, native


@pytest.mark.parametrize("carrier", CARRIERS)
def test_late_ranks_are_waited_for(library: Library, tmp_path: Path, carrier: str) -> None:
    ended = run(library, tmp_path, 3, [library.compile("late"), "3"], ECO_STALL="1", ECO_TRANSPORT=carrier)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "has waited for" in ended.stderr


USED = """
import pathlib, sys, numpy
from mpi4py import MPI
rails = sys.argv[1:]

def connected(address):
    lines = pathlib.Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    wanted = "".join(f"{int(part):02X}" for part in reversed(address.split(".")))
    return sum(line.split()[1].startswith(wanted) and line.split()[3] == "01" for line in lines)

data = numpy.zeros(1 << 17)
before = [connected(rail) for rail in rails]
for comm in (MPI.COMM_WORLD, MPI.COMM_WORLD.Dup(), MPI.COMM_WORLD.Dup()):
    for root in range(comm.size):
        comm.Bcast(data, root=root)
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print(connected(rails[1]) - before[1], connected(rails[2]) - before[2] > 0, flush=True)
"""


def test_all_communicators_use_the_rails_of_the_network(library: Library, tmp_path: Path) -> None:
    """Also those that arm with what another knows: of three rails the network has the first and the third."""
    # Connections are counted on the whole machine, where another library's turn may run at the same time.
    rails = [f"127.0.{1 + os.getpid() % 254}.{rail}" for rail in (1, 2, 3)]
    file = tmp_path / "two-of-three.json"
    network = json.loads(Path(with_rails(library, tmp_path)).read_text())
    network["rails"] = rails
    network["more_rails"][0]["name"] = rails[2]
    file.write_text(json.dumps(network))
    script = tmp_path / "used.py"
    script.write_text(USED)
    settings = {"ECO_RAILS": ",".join(rails), "ECO_NETWORK": str(file)}
    ended = run(library, tmp_path, 2, [library.python, str(script), *rails], **settings)
    assert (ended.returncode, ended.stdout) == (0, "0 True\n"), ended.stderr
    assert ended.served()[0] >= 5, ended.stderr


def test_ucx_that_has_no_such_device_leaves_it_to_tcp(library: Library, tmp_path: Path) -> None:
    """UCX 1.20, which both libraries bring, has no way over the loopback; without its headers there is none at all."""
    ended = run(library, tmp_path, 2, [library.compile("reductions")], ECO_TRANSPORT="ucx", ECO_RAILS=RAILS)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("right\n"), ended.stdout  # UCX says on standard output what it can't
    assert ended.served()[0] > 0, ended.stderr
    transport = transport_of(ended)
    assert transport["carrier"] in ("tcp", "ucx")  # another version has one
    assert transport["carrier"] == "ucx" or "not over UCX: " in transport["reason"]


def test_one_rank_has_no_use_for_rails(library: Library, tmp_path: Path) -> None:
    ended = run(library, tmp_path, 1, [library.compile("reductions")])
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert transport_of(ended)["reason"] == "one rank has nobody to talk to"


def test_without_the_rails_that_are_named_the_job_is_native(library: Library, tmp_path: Path) -> None:
    ended = run(library, tmp_path, 2, [library.compile("reductions")], ECO_RAILS="nothing0")
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 0
    assert "nothing0" in ended.stderr, ended.stderr


def test_one_host_has_no_rails_unless_asked(library: Library, tmp_path: Path) -> None:
    """And a plan of rails is refused there, with the reason."""
    ended = run(library, tmp_path, 2, [library.compile("segments")], ECO_TRANSPORT="auto")
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 0
    transport = transport_of(ended)
    assert (transport["carrier"], transport["rails"]) == ("mpi", [])
    assert "all ranks are on one host" in transport["reason"]
    assert "hosts have one rail" in ended.stderr, ended.stderr


def test_ranks_that_differ_in_transport_run_natively(library: Library) -> None:
    from eco import paths

    eco_exec, program = str(paths.native_file("eco-exec")), library.compile("reductions")
    words = [eco_exec, program, ":", "-n", "1", eco_exec, "--set", "ECO_TRANSPORT=tcp", program]
    ended = library.run(1, words)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "ranks differ" in ended.stderr


# Killed, since MPICH 5.0.2's proxy, without ECO too, may miss that a rank exits by itself, and then lets the others
# wait in MPI_Finalize: it reaps that rank before it sees its PMI connection close (3 of 40 runs of a program that
# prints much).
LEAVES = """
import os, signal, numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
data = numpy.zeros(1 << 20)
for i in range(50):
    if i == 10 and world.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    world.Bcast(data, root=0)
"""


@pytest.mark.parametrize("carrier", [*CARRIERS, "mpi"])
def test_a_rank_that_leaves_ends_the_job(library: Library, tmp_path: Path, carrier: str) -> None:
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES)
    ended = run(library, tmp_path, 3, [library.python, str(script)], ECO_TRANSPORT=carrier)
    assert ended.returncode != 0


FORKS = """
import os, sys, numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
data = numpy.zeros(1 << 18)
for i in range(10):
    world.Bcast(data, root=i % world.size)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
print("right", flush=True) if world.rank == 0 else None
"""


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_child_takes_nothing_along(library: Library, tmp_path: Path, carrier: str) -> None:
    script = tmp_path / "forks.py"
    script.write_text(FORKS)
    ended = run(library, tmp_path, 2, [library.python, str(script)], ECO_TRANSPORT=carrier)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] >= 9, ended.stderr
