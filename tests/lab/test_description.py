"""What is accepted, what is refused and how, and what a description means as servers and paths."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from eco.errors import InvalidArgument
from eco.lab.fabric import Fabric
from eco.lab.placement import place
from eco.lab.reading import load, parse, shipped

GOOD = """
name = "n"
[[segment]]
name = "a"
kind = "switch"
rate_mbit = 100
hosts = 2
[[segment]]
name = "b"
kind = "bus"
rate_mbit = 10
hosts = ["x1", "x2"]
[[joint]]
name = "r"
kind = "router"
ports = [{ segment = "a", rate_mbit = 20, delay_ms = 1 }, { segment = "b" }]
[expect]
subnets = [["h1", "h2"], ["x1", "x2"]]
"""


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("rate_mbit = 100", "rate_mbit = -1", ["segment a", "rate_mbit", "-1", "from 0.01"]),
        ("rate_mbit = 100", 'rate_mbit = "fast"', ["segment a", "'fast'", "number"]),
        ("rate_mbit = 100", "", ["segment a", "rate_mbit", "missing"]),
        ("rate_mbit = 100", "rate = 100", ["segment 1", "'rate'", "rate_mbit"]),
        ('kind = "switch"', 'kind = "hub"', ["segment a", "'hub'", "switch, bus"]),
        ('name = "b"', 'name = "a"', ["segment a", "taken"]),
        ('name = "r"', 'name = "b"', ["joint b", "taken"]),
        ("hosts = 2", "hosts = 2.5", ["segment a, hosts", "2.5", "count"]),
        ("hosts = 2", 'hosts = ["x1"]', ["segment b", "x1", "already"]),
        ("hosts = 2", "hosts = true", ["segment a, hosts", "True"]),
        ('["x1", "x2"]', '["x1", "x1"]', ["segment b", "twice"]),
        ('["x1", "x2"]', '["x1", "x 2"]', ["segment b", "'x 2'", "no name"]),
        ('segment = "b"', 'segment = "c"', ["joint r, port 2", "'c'", "a, b"]),
        ('segment = "b"', 'segment = "a"', ["joint r", "two links to a"]),
        (', { segment = "b" }', "", ["rail 0", "segments b", "cannot be reached"]),
        ("delay_ms = 1", "delay_ms = -1", ["joint r, port 1", "-1"]),
        ('"x1", "x2"]]', '"x1"]]', ["expect", "every host once"]),
        ('name = "n"', 'name = "n"\nqueue_bytes = 3', ["queue_bytes", "3"]),
        ('name = "n"', 'name = "n"\nspeed = 3', ["top level", "'speed'"]),
        ('name = "n"', 'name = "n"\nnics = 2', ["nics", "rail"]),
        ('name = "n"', "name = n", ["TOML"]),
    ],
)
def test_refuses_with_place_value_and_remedy(old: str, new: str, parts: list[str]) -> None:
    assert old in GOOD
    with pytest.raises(InvalidArgument) as caught:
        parse(GOOD.replace(old, new, 1), "f.toml")
    for part in ["f.toml", *parts]:
        assert part in str(caught.value)


ONE_HOST = """
name = "n"
ranks_per_host = 1
[[segment]]
name = "a"
kind = "switch"
rate_mbit = 100
hosts = 1
"""


def test_one_host_is_a_lab_where_it_has_several_ranks() -> None:
    with pytest.raises(InvalidArgument, match=r"one host of one rank.*ranks_per_host"):
        parse(ONE_HOST, "f.toml")
    two_ranks = parse(ONE_HOST.replace("ranks_per_host = 1", "ranks_per_host = 2"), "f.toml")
    assert place(two_ranks, "block") == ("h1", "h1")


@pytest.mark.parametrize(
    ("flow", "part"),
    [
        ('from = "h1"\nto = "h9"\nrate_mbit = 1', "no host 'h9'"),
        ('from = "h1"\nto = "h1"\nrate_mbit = 1', "both h1"),
        ('from = "h1"\nto = "x1"', "rate_mbit"),
        ('from = "h1"\nto = "x1"\nrate_mbit = 1\nkind = "on-off"', "on_ms"),
        ('from = "h1"\nto = "x1"\nrate_mbit = 1\npacket_bytes = 9000', "packet_bytes"),
        ('from = "h1"\nto = "x1"\nrate_mbit = 1\nrail = 1', "no NIC on rail 1"),
    ],
)
def test_refuses_traffic(flow: str, part: str) -> None:
    with pytest.raises(InvalidArgument, match="traffic 1") as caught:
        parse(f"{GOOD}\n[[traffic]]\n{flow}\n")
    assert part in str(caught.value)


def test_a_loop_is_refused() -> None:
    loop = GOOD.replace(
        "[expect]", '[[joint]]\nname = "q"\nports = [{segment = "a"}, {segment = "b"}]\n[expect]'
    )
    with pytest.raises(InvalidArgument, match="loop"):
        parse(loop)


def test_missing_file_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="eco lab list"):
        load(tmp_path / "none.toml")


def test_shipped_networks_are_good_and_found_by_name() -> None:
    names = {load(p).name for p in shipped()}
    assert names >= {"three-subnets", "one-switch", "eco-1995", "two-sites", "tiny"}
    assert names >= {"rails-8", "rails-2x8", "rails-unequal", "rails-mixed"}
    assert load("eco-1995").expected_subnets == (("h1", "h2", "h3"), ("h4", "h5", "h6"), ("h7", "h8"))


def test_paths_pass_every_server_in_order() -> None:
    fabric = Fabric(parse(GOOD))

    def names(a: str, b: str) -> list[str]:
        hops = fabric.path(a, b)
        assert hops is not None
        return [fabric.servers[h.server].name for h in hops]

    assert names("h1", "h2") == ["h1.up", "h2.down"]
    assert names("h1", "x1") == ["h1.up", "a>r", "b"]
    assert names("x2", "h2") == ["b", "r>a", "h2.down"]
    assert names("x1", "x2") == ["b"]
    assert fabric.server("a>r").rate_bit == 20e6
    assert fabric.server("a>r").delay_s == pytest.approx(1e-3)
    # On the bus the joint is a station of its own.
    assert fabric.server("b").stations == ("x1", "x2", "r")
    hops = fabric.path("h1", "x1")
    assert hops is not None
    assert hops[-1].station == 2


def test_a_line_between_joints_delays_both_ways() -> None:
    fabric = Fabric(load("two-sites"))
    for a, b in (("h1", "h5"), ("h5", "h1")):
        hops = fabric.path(a, b)
        assert hops is not None
        assert sum(fabric.servers[h.server].delay_s for h in hops) == pytest.approx(10e-3)


def test_every_rail_has_its_own_segments_lines_and_addresses() -> None:
    unequal = Fabric(load("rails-unequal"))
    assert [unequal.nic_rate_bit("h3", rail) for rail in (0, 1)] == [20e6, 8e6]
    assert load("rails-8").n_rails == 2
    fabric = Fabric(load("rails-2x8"))
    assert len({nic.ip for nic in fabric.nics}) == 2 * 16
    crossed = []
    for rail in (0, 1):
        hops = fabric.path("h1", "h16", rail)
        assert hops is not None
        servers = [fabric.servers[h.server] for h in hops]
        assert sum(s.delay_s for s in servers) == pytest.approx(10e-3)
        assert {s.rate_bit for s in servers if s.rate_bit > 0} == {10e6}
        crossed.append({s.name for s in servers})
    assert not crossed[0] & crossed[1], "rails share nothing"


def test_hosts_may_differ_in_their_numbers_of_nics() -> None:
    d = load("rails-mixed")
    assert (d.n_rails, d.common_rails) == (2, (0,))
    assert load("rails-8").common_rails == (0, 1)
    fabric = Fabric(d)
    having = [nic.host for nic in fabric.nics if nic.rail == 1]
    assert having == ["h1", "h2", "h4", "h6", "h7"]
    assert len(fabric.nics) == 8 + 5
    assert fabric.path("h1", "h7", 1) is not None
    assert fabric.path("h1", "h3", 1) is None
    assert (fabric.nic_rate_bit("h4", 1), fabric.nic_rate_bit("h5", 1)) == (20e6, 0)


def test_digest_is_of_the_network_not_of_its_file() -> None:
    d = parse(GOOD)
    assert d.digest() == parse(GOOD.replace('name = "n"', 'name = "n"\nabout = "words"')).digest()
    assert d.digest() != parse(GOOD.replace("rate_mbit = 20", "rate_mbit = 21")).digest()
    assert d.digest() != dataclasses.replace(d, name="m").digest()


def test_placements() -> None:
    d = load("three-subnets")
    assert place(d) == tuple(f"h{i}" for i in range(1, 9))
    assert place(d, "round-robin") == ("h1", "h4", "h7", "h2", "h5", "h8", "h3", "h6")
    assert sorted(place(d, "shuffled:1")) == sorted(place(d))
    assert place(d, "shuffled:1") == place(d, "shuffled:1") != place(d, "shuffled:2")
    assert place(d, "block", 3) == ("h1", "h2", "h3")
    two = dataclasses.replace(d, ranks_per_host=2)
    assert place(two)[:4] == ("h1", "h1", "h2", "h2")
    assert len(place(two)) == 16
    assert place(two, "round-robin").count("h5") == 2


def test_placement_from_a_file(tmp_path: Path) -> None:
    d = load("three-subnets")
    file = tmp_path / "hosts"
    file.write_text("h8\nh1\nh1\n")
    assert place(d, str(file), 3) == ("h8", "h1", "h1")
    with pytest.raises(InvalidArgument, match="3 hosts for 4 ranks"):
        place(d, str(file), 4)
    file.write_text("h8\nh9\n")
    with pytest.raises(InvalidArgument, match="'h9'"):
        place(d, str(file), 2)
    with pytest.raises(InvalidArgument, match="block, round-robin"):
        place(d, "blok")
    with pytest.raises(InvalidArgument, match="seed"):
        place(d, "shuffled:x")


def test_a_name_that_is_nearly_a_shipped_ones() -> None:
    with pytest.raises(InvalidArgument, match="did you mean three-subnets"):
        load("three-subnet")
