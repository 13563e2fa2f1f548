"""Bounds against numbers derived by hand, and against what no bound may violate."""

from __future__ import annotations

import dataclasses
import math

import pytest

from eco.errors import InvalidArgument
from eco.lab.bounds import COLLECTIVES, bound_s, wire_bytes
from eco.lab.reading import load, parse

MIB = 1 << 20


def ms(network: str, collective: str, n: int, placement: str = "block") -> float:
    return bound_s(load(network), placement, collective, n).seconds * 1e3


def test_wire_bytes() -> None:
    assert wire_bytes(0) == 0
    assert wire_bytes(1) == 67
    assert wire_bytes(1448) == 1514
    assert wire_bytes(1449) == 1449 + 132


@pytest.mark.parametrize(
    ("network", "collective", "n", "known_ms"),
    [
        # Derived by hand and met by measurements on other emulated networks.
        ("three-subnets", "broadcast", MIB, 219.3),
        ("three-subnets", "allreduce", MIB, 292.4),
        ("three-subnets", "allgather", MIB, 164.5),
        ("three-subnets", "reduce_scatter", MIB, 164.5),
        ("three-subnets", "alltoall", MIB, 411.1),
        ("one-switch", "broadcast", MIB, 175.4),
        ("one-switch", "allreduce", MIB, 307.0),
        ("one-switch", "allgather", MIB, 153.5),
        ("eco-1995", "broadcast", 16_000, 40.2),
    ],
)
def test_agrees_with_known_bounds(network: str, collective: str, n: int, known_ms: float) -> None:
    assert ms(network, collective, n) == pytest.approx(known_ms, rel=0.008)


def test_broadcast_over_an_uplink_by_hand() -> None:
    # 725 frames of 1 MiB; before the uplink the root's port, after it the other uplink and a port.
    wire_bits = (MIB + 66 * math.ceil(MIB / 1448)) * 8
    small = 67 * 8
    expected = small / 200e6 + wire_bits / 40e6 + small / 40e6 + small / 200e6
    assert ms("three-subnets", "broadcast", MIB) == pytest.approx(expected * 1e3)


def test_a_bus_carries_a_copy_for_each_hearer() -> None:
    # On a bus with three hosts and a bridge, a broadcast is three packets: two local ones and one over the bridge.
    bound = bound_s(load("eco-1995"), "block", "broadcast", 14_480)
    assert bound.binding_resource.startswith("bus ether")
    assert bound.seconds >= 3 * 15_140 * 8 / 10e6
    # With the root on the two-host bus, the other buses still need three: one in, two local.
    assert bound_s(load("eco-1995"), "block", "broadcast", 14_480, root=7).seconds >= 3 * 15_140 * 8 / 10e6


def test_small_messages_cost_latency() -> None:
    assert ms("two-sites", "barrier", 0) > 10
    assert ms("two-sites", "broadcast", 8) > 10
    # Ranks of one site only: the line between does not matter.
    assert (
        ms("two-sites", "broadcast", 8)
        > 100 * bound_s(load("two-sites"), "block", "broadcast", 8, 4).seconds * 1e3
    )


def test_scan_needs_nothing_from_later_ranks() -> None:
    two = parse('name="t"\n[[segment]]\nname="s"\nrate_mbit=10\nhosts=2\n')
    one_way = bound_s(two, "block", "scan", 14_480)
    assert one_way.binding_resource in ("h1.up", "h2.down", "all links into s", "all links out of s")
    assert one_way.seconds == pytest.approx(15_140 * 8 / 10e6 + 67 * 8 / 10e6)


def test_a_scan_needs_the_others_anew_for_every_run_of_ranks() -> None:
    d = load("two-sites")
    near, far = d.hosts[:4], d.hosts[4:]
    hosts = {
        1: (*near, *far),
        2: (near[0], near[1], far[0], far[1], near[2], near[3], far[2], far[3]),
        4: tuple(h for pair in zip(near, far, strict=True) for h in pair),
    }
    n = 1 << 22
    seconds = {runs: bound_s(d, placed, "scan", n).seconds for runs, placed in hosts.items()}
    # Of a long buffer the bytes over the link between the sites are the bound, once for every run behind it.
    assert seconds[2] == pytest.approx(2 * seconds[1], rel=0.05)
    assert seconds[4] == pytest.approx(4 * seconds[1], rel=0.05)


def test_rooted_collectives_depend_on_the_root() -> None:
    d = load("three-subnets")
    # Five of eight blocks leave a three-host subnet, six of eight the two-host one.
    assert (
        bound_s(d, "block", "scatter", MIB, root=0).seconds
        < bound_s(d, "block", "scatter", MIB, root=7).seconds
    )
    assert bound_s(d, "block", "gather", MIB, root=7).binding_resource == "router>c"


def test_ranks_of_one_host_need_no_network() -> None:
    d = load("three-subnets")
    assert bound_s(d, ["h1", "h1", "h1"], "allreduce", MIB).seconds == 0
    assert bound_s(d, ["h1"], "barrier", 0).seconds == 0


def test_more_rails_never_raise_a_bound() -> None:
    one = 'name="n"\n[[segment]]\nname="a"\nrate_mbit=100\nhosts=4\n'
    two = one + '[[segment]]\nname="b"\nrate_mbit=100\nhosts=4\nrail=1\n'
    for collective in COLLECTIVES:
        less = bound_s(parse(two), "block", collective, MIB).seconds
        more = bound_s(parse(one), "block", collective, MIB).seconds
        assert 0 < less <= more
    ratio = (
        bound_s(parse(one), "block", "broadcast", MIB).seconds
        / bound_s(parse(two), "block", "broadcast", MIB).seconds
    )
    assert ratio == pytest.approx(2, rel=0.001)


@pytest.mark.parametrize(("network", "sum_mbit"), [("rails-8", 40), ("rails-unequal", 28)])
def test_a_bound_on_rails_counts_the_sum_of_their_rates(network: str, sum_mbit: float) -> None:
    expected = wire_bytes(MIB) * 8 / (sum_mbit * 1e6)
    assert bound_s(load(network), "block", "broadcast", MIB).seconds == pytest.approx(expected)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_rails_that_some_hosts_lack_lower_no_bound_by_more_than_they_carry(collective: str) -> None:
    mixed = bound_s(load("rails-mixed"), "block", collective, MIB).seconds
    one = 'name="n"\n[[segment]]\nname="a"\nrate_mbit=20\nhosts=8\n'
    assert bound_s(load("rails-8"), "block", collective, MIB).seconds <= mixed
    assert mixed <= bound_s(parse(one), "block", collective, MIB).seconds
    if collective in ("broadcast", "allgather"):
        # Hosts with one NIC have all come over that. (In an allreduce others can do most of the work for them.)
        n = {"broadcast": 1.0, "allgather": 7 / 8}[collective] * MIB
        assert mixed == pytest.approx(wire_bytes(n) * 8 / 20e6, rel=0.01)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("network", ["three-subnets", "one-switch", "eco-1995", "two-sites", "tiny"])
def test_placement_changes_only_what_it_must(network: str, collective: str) -> None:
    d = load(network)
    block = bound_s(d, "block", collective, 65_536).seconds
    assert block > 0
    # These do not know one rank from another, so neither does their bound.
    if collective in ("allreduce", "allgather", "alltoall", "reduce_scatter", "barrier"):
        assert bound_s(d, "shuffled:5", collective, 65_536).seconds == pytest.approx(block)
    # Twice the bytes never take less, a faster network never more.
    assert bound_s(d, "block", collective, 131_072).seconds >= block
    faster = dataclasses.replace(
        d, segments=tuple(dataclasses.replace(s, rate_mbit=2 * s.rate_mbit) for s in d.segments)
    )
    assert bound_s(faster, "block", collective, 65_536).seconds <= block


def test_refuses_nonsense() -> None:
    d = load("tiny")
    for arguments, part in (
        (("bcast", 8), "no collective 'bcast'"),
        (("broadcast", -1), "-1 bytes"),
        (("broadcast", 8, 4, 4), "root 4 of 4"),
    ):
        with pytest.raises(InvalidArgument, match=part):
            bound_s(d, "block", *arguments)  # type: ignore[arg-type]
