"""Does this machine carry the described network? Rates, delays and the load of a collective, measured.

    report = check(load("networks/three-subnets.toml"))
    report.passed, report.rows

Every kind of host pair is tried alone (a greedy TCP flow; small and full packets one way), then all hosts at once.
Too slow means that the machine cannot keep up, and times taken here are the machine's, not the network's; too
fast means that the network is not what the description says.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from eco.lab.bounds import OVERHEAD_BYTES, PAYLOAD_BYTES
from eco.lab.description import Description
from eco.lab.fabric import Fabric, Hop
from eco.lab.lab import MEDIUM, Lab

SCHEMA, VERSION = "eco.lab-check", 1

# What the heaviest collective near its bound puts on `three-subnets` (an allreduce, all links together).
AGGREGATE_BIT_PER_S = 420e6
# TCP probes for the rate and falls back: what it reaches of a link, at least and at most.
RATE_LOW, RATE_HIGH = 0.93, 1.01
# One acknowledgement for two full frames, where they share a medium with the data.
ACK_BYTES = OVERHEAD_BYTES / 2
# Waking the receiver and the relay: what a packet may take beyond its servers.
TRIP_SLACK_S = 200e-6
UDP_OVERHEAD_BYTES = 14 + 20 + 8
SMALL_BYTES, FULL_BYTES = 32, 1472
# A frame handed over this late on average makes short links longer than described.
LATE_AVERAGE_US = 100.0
LATE_SHARE = 0.01


@dataclasses.dataclass(frozen=True)
class Row:
    """One thing measured."""

    what: str
    expected: float
    measured: float
    unit: str
    passed: bool
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class Report:
    """All of it."""

    network: str
    medium: str
    seconds_to_build: float
    rows: tuple[Row, ...]
    relay: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether times measured in this lab are the network's."""
        return all(r.passed for r in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
        return {"schema": SCHEMA, "version": VERSION, "passed": self.passed, **dataclasses.asdict(self)}


def check(description: Description, seconds: float = 1.0) -> Report:
    """Bring the network up without its background traffic, measure, take it down."""
    quiet = dataclasses.replace(description, traffic=())
    with Lab(quiet) as lab:
        rows = []
        for pair in pair_classes(lab.fabric):
            rows.append(_rate(lab, pair, seconds))
            rows += _trips(lab, pair)
        load, relay = _load(lab, max(2.0, seconds))
        return Report(description.name, MEDIUM, lab.seconds_to_build, (*rows, *load), relay)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two hosts that stand for all whose packets pass the same kinds of servers."""

    source: str
    target: str
    rail: int
    n_alike: int


def pair_classes(fabric: Fabric) -> list[Pair]:
    """One pair for every sequence of rates and delays that occurs."""
    found: dict[tuple[object, ...], Pair] = {}
    hosts = fabric.description.hosts
    for rail in range(fabric.description.n_rails):
        for a in hosts:
            for b in hosts:
                hops = fabric.path(a, b, rail)
                if hops is None:
                    continue
                servers = [fabric.servers[h.server] for h in hops]
                key = (rail, *((s.rate_bit, s.delay_s, s.is_bus) for s in servers))
                first = found.get(key, Pair(a, b, rail, 0))
                found[key] = dataclasses.replace(first, n_alike=first.n_alike + 1)
    return list(found.values())


def _hops(lab: Lab, pair: Pair) -> list[Hop]:
    hops = lab.fabric.path(pair.source, pair.target, pair.rail)
    assert hops is not None  # a class is made of pairs that have a path
    return hops


def _ip(lab: Lab, host: str, rail: int) -> str:
    return next(n.ip for n in lab.fabric.nics if n.host == host and n.rail == rail)


def _name(pair: Pair) -> str:
    return f"{pair.source} to {pair.target}" + (f" (rail {pair.rail})" if pair.rail else "")


def _verdict(measured: float, low: float, high: float) -> tuple[bool, str]:
    if measured < low:
        return False, "too slow: the machine cannot keep up"
    if measured > high:
        return False, "too fast: not the network described"
    return True, ""


def _payload_rate(lab: Lab, pair: Pair) -> float:
    """What TCP can carry: a frame's payload share of the slowest server, acknowledgements beside it on a bus."""
    rates = []
    for hop in _hops(lab, pair):
        server = lab.fabric.servers[hop.server]
        if server.rate_bit:
            frame = PAYLOAD_BYTES + OVERHEAD_BYTES + (ACK_BYTES if server.is_bus else 0)
            rates.append(server.rate_bit * PAYLOAD_BYTES / frame)
    return min(rates)


def _rate(lab: Lab, pair: Pair, seconds: float) -> Row:
    expected = _payload_rate(lab, pair)
    flow = {"source": pair.source, "target": pair.target, "target_ip": _ip(lab, pair.target, pair.rail)}
    # A long way needs many windows before it is full.
    trip_s = sum(lab.fabric.servers[h.server].delay_s for h in _hops(lab, pair)) * 2
    measured = lab.traffic({"do": "flows", "flows": [flow], "seconds": seconds + 60 * trip_s})[0]
    passed, remark = _verdict(measured, expected * RATE_LOW, expected * RATE_HIGH)
    what = f"rate, {_name(pair)}" + (f" ({pair.n_alike} pairs alike)" if pair.n_alike > 1 else "")
    return Row(what, expected / 1e6, measured / 1e6, "Mbit/s", passed, remark)


def _trips(lab: Lab, pair: Pair) -> list[Row]:
    ends = {
        "source": pair.source,
        "target": pair.target,
        "source_ip": _ip(lab, pair.source, pair.rail),
        "target_ip": _ip(lab, pair.target, pair.rail),
    }
    rows = []
    for n in (SMALL_BYTES, FULL_BYTES):
        servers = [lab.fabric.servers[h.server] for h in _hops(lab, pair)]
        bits = (n + UDP_OVERHEAD_BYTES) * 8
        expected = sum(s.delay_s + (bits / s.rate_bit if s.rate_bit else 0.0) for s in servers)
        measured = lab.traffic({"do": "trips", "pairs": [ends], "payload_bytes": n, "trips": 30})[0]
        # The first packet of an idle link must take its full time: nothing is free. One microsecond of rounding.
        early, late = measured < expected - 1e-6, measured > expected * 1.02 + TRIP_SLACK_S
        remark = (
            "too early: not the network described"
            if early
            else "too late: the machine cannot keep up"
            if late
            else ""
        )
        passed = not remark
        rows.append(
            Row(f"one way, {n} bytes, {_name(pair)}", expected * 1e3, measured * 1e3, "ms", passed, remark)
        )
    return rows


def fair_rates(fabric: Fabric, pairs: list[tuple[str, str]], in_all_bit_per_s: float) -> list[float]:
    """Wire rates of flows that share fairly (max-min), none of them raised beyond the total."""
    hops = [fabric.path(a, b) or [] for a, b in pairs]
    left = {i: s.rate_bit for i, s in enumerate(fabric.servers) if s.rate_bit}
    rates = [0.0] * len(pairs)
    growing = {k for k in range(len(pairs)) if hops[k]}
    budget = in_all_bit_per_s
    while growing and budget > 1:
        users = {i: sum(1 for k in growing for h in hops[k] if h.server == i) for i in left}
        step = min([budget / len(growing), *(left[i] / n for i, n in users.items() if n)])
        for k in growing:
            rates[k] += step
        budget -= step * len(growing)
        for i, n in users.items():
            left[i] -= step * n
        growing = {k for k in growing if all(left.get(h.server, 1e9) > 1 for h in hops[k])}
    return rates


def _load(lab: Lab, seconds: float) -> tuple[list[Row], dict[str, Any]]:
    """A ring through all hosts: every port and uplink in use at once, like the pipelines of a large collective."""
    hosts = [h for h in lab.description.hosts if lab.description.segment_of(h) is not None]
    ring = [(a, hosts[(i + 1) % len(hosts)]) for i, a in enumerate(hosts)]
    wire = fair_rates(lab.fabric, ring, AGGREGATE_BIT_PER_S)
    # A little under the share, acknowledgements paid: what is offered must then arrive.
    share = 0.95 * PAYLOAD_BYTES / (PAYLOAD_BYTES + OVERHEAD_BYTES + ACK_BYTES)
    offered = [rate * share for rate in wire]
    flows = [
        {"source": a, "target": b, "target_ip": _ip(lab, b, 0), "payload_bit_per_s": rate}
        for (a, b), rate in zip(ring, offered, strict=True)
    ]
    before = lab.stats()
    measured = lab.traffic({"do": "flows", "flows": flows, "seconds": seconds})
    relay = lab.stats()
    passed, remark = _verdict(sum(measured), 0.98 * sum(offered), 1.02 * sum(offered))
    worst = min(m / o for m, o in zip(measured, offered, strict=True))
    rows = [
        Row("load, ring of all hosts", sum(offered) / 1e6, sum(measured) / 1e6, "Mbit/s", passed, remark),
        Row(
            "load, worst flow of it",
            100,
            worst * 100,
            "%",
            worst > 0.95,
            "" if worst > 0.95 else "falls behind",
        ),
    ]
    late, late_before = relay["late_us"], before["late_us"]
    frames = max(1, relay["delivered"] - before["delivered"])
    average = (late["average"] * relay["delivered"] - late_before["average"] * before["delivered"]) / frames
    share_late = (late["over_1ms"] - late_before["over_1ms"]) / frames
    lost = relay["ring_drops"] + relay["send_errors"]
    rows += [
        Row("relay, lateness under load", LATE_AVERAGE_US, average, "us", average < LATE_AVERAGE_US),
        Row("relay, frames over 1 ms late", LATE_SHARE * 100, share_late * 100, "%", share_late < LATE_SHARE),
        Row(
            "relay, frames lost",
            0,
            lost,
            "",
            lost == 0,
            "" if lost == 0 else "the relay was too late to take them",
        ),
    ]
    return rows, {k: v for k, v in relay.items() if k != "servers"}
