"""`eco map` on a synthetic network: no ranks, no launcher."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from eco import _core, topology
from eco.cli.main import app
from eco.errors import EcoError, InvalidArgument

NETWORK = "hosts=3+3+2 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=200 overhead_us=15"
SUBNET = {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 2, 7: 2}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    described = json.loads(_core.synthetic_network(NETWORK))
    for index, host in enumerate(described["hosts"]):
        host["name"] = f"h{index}"
    path = tmp_path / "network.json"
    path.write_text(json.dumps(described), encoding="utf-8")
    return path


def run(*words: object) -> Result:
    result = CliRunner().invoke(app, ["map", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def crossings(hosts: list[str]) -> int:
    """Steps of the ring from one subnet to another."""
    subnets = [SUBNET[int(host[1:])] for host in hosts]
    return sum(a != b for a, b in zip(subnets, subnets[1:] + subnets[:1], strict=True))


def test_a_shuffled_ring_is_put_in_order(network: Path, tmp_path: Path) -> None:
    ranks, machines, told = tmp_path / "ranks", tmp_path / "machines", tmp_path / "map.json"
    shown = run("--ring", "--network", network, "--placement", "shuffled:1", "--rankfile", ranks,
                "--machinefile", machines, "--json", told)  # fmt: skip
    assert "identity" in shown.output and " *" in shown.output
    document = json.loads(told.read_text())
    hosts = document["host_of_rank"]
    assert crossings(hosts) == 3
    assert sorted(hosts) == [f"h{i}" for i in range(8)]
    assert ranks.read_text() == "".join(f"rank {r}={host} slot=0\n" for r, host in enumerate(hosts))
    assert machines.read_text() == "".join(f"{host}:1\n" for host in hosts)
    for mapped, before in zip(document["predicted_s"], document["identity_predicted_s"], strict=True):
        assert mapped <= before


def test_what_is_in_order_is_left_so(network: Path) -> None:
    assert "stay where they are" in run("--ring", "--network", network).output


def test_a_graph_of_the_users_own(network: Path, tmp_path: Path) -> None:
    """Two groups that talk among themselves, dealt over the subnets."""
    graph, told = tmp_path / "graph", tmp_path / "map.json"
    graph.write_text("# a b\n0 3 5\n3 0 5\n1 4\n4 1  # no weight\n\n5 0 0\n")
    run("--graph", graph, "--network", network, "--json", told, "--bytes", "64KiB")
    document = json.loads(told.read_text())
    assert document["sizes"] == [65536]
    hosts = [SUBNET[int(host[1:])] for host in document["host_of_rank"]]
    assert hosts[0] == hosts[3] and hosts[1] == hosts[4]
    assert len(hosts) == 8, "ranks without a node have a host too"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--grid", "2x4", "--ring"], "one of --grid"),
        ([], "none of them"),
        (["--grid", "2x"], "like 4x5"),
        (["--torus", "0x4"], "--torus '0x4'"),
        (["--torus", "99999x99999"], "more than"),
        (["--grid", "3x3"], "give --ranks 9"),
        (["--hypercube", "--ranks", "6"], "a power of two"),
        (["--ring", "--bytes", "0"], "no bytes"),
        (["--ring", "--lab", "tiny"], "give one of them"),
        (["--ring", "--placement", "sideways"], "placement 'sideways'"),
        (["--graph", "/nonexistent"], "cannot read graph file"),
        (["--ring", "--rankfile", "/dev/null/ranks"], "cannot write /dev/null/ranks"),
        (["--ring", "--machinefile", "/dev/null/hosts"], "cannot write /dev/null/hosts"),
    ],
    ids=str,
)
def test_wrong_questions_are_refused(network: Path, words: list[str], said: str) -> None:
    with pytest.raises(EcoError, match=said):
        run(*words, "--network", network)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no messages"), ("0\n", ":1: '0'"), ("0 1\n0 x\n", ":2: '0 x'"), ("0 -1\n", "nodes from 0 on"),
        ("0 1 2 3\n", "FROM TO WEIGHT"), ("0 1 -2\n", "weight -2"), ("0 1 nan\n", "weight nan"),
        ("0 99999999\n", ":1:"),
    ],
)  # fmt: skip
def test_wrong_graphs_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "graph"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=said):
        topology.read_graph(path)


def test_ranks_that_share_hosts_have_slots_and_lines_of_their_own() -> None:
    hosts = ["a", "a", "b", "a"]
    assert (
        topology.openmpi_rankfile(hosts)
        == "rank 0=a slot=0\nrank 1=a slot=1\nrank 2=b slot=0\nrank 3=a slot=2\n"
    )
    assert topology.hydra_machinefile(hosts) == "a:2\nb:1\na:1\n"


def test_a_hypercube_is_a_grid_of_twos(network: Path) -> None:
    assert topology.hypercube(8) == topology.Grid((2, 2, 2), periodic=False)
    assert "grid of 2x2x2" in run("--hypercube", "--network", network).output
