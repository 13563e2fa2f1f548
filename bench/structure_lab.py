"""The live half of bench/structure.py: trees found in emulated networks, beside what their descriptions say.

What a description says is derived here alone: every link between media parts the hosts in two, and those links
count that leave two hosts or more on both sides. Links in a row part them in the same way and are one.
"""

import math
import random
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eco import jobs
from eco import network as networks
from eco.characterize import characterize_place
from eco.lab import Lab
from eco.lab.description import Description, Joint, JointPort, Segment
from eco.network import Network

#: Payload of a full packet, and its bytes on the wire.
PAYLOAD = 1448 / 1514
WITHIN = 0.15
#: An uplink holds somebody up clearly if it carries less than this of what both sides could send.
HOLDS_UP = 0.75
LIMIT_S = 400.0

Side = frozenset[str]


@dataclass
class Link:
    """Links in a row between two parts of the hosts."""

    bytes_per_s: float
    could_carry: float


def _sides(description: Description) -> dict[tuple[str, str], set[str]]:
    """Of every directed edge between media: the segments and joints beyond it."""
    names = [segment.name for segment in description.segments] + [joint.name for joint in description.joints]
    edges: dict[str, set[str]] = {name: set() for name in names}
    for joint in description.joints:
        for port in joint.ports:
            edges[joint.name].add(port.to)
            edges[port.to].add(joint.name)
    beyond: dict[tuple[str, str], set[str]] = {}
    for start, others in edges.items():
        for next_ in others:
            seen, open_ = {start, next_}, [next_]
            while open_:
                for name in edges[open_.pop()] - seen:
                    seen.add(name)
                    open_.append(name)
            beyond[start, next_] = seen - {start}
    return beyond


def truth(description: Description) -> dict[Side, Link]:
    """Which ways of parting the hosts a description has, by the side without the first host."""
    segments = {segment.name: segment for segment in description.segments}
    everybody = frozenset(description.hosts)
    first = description.hosts[0]

    def supply(media: Iterable[str]) -> float:
        total = 0.0
        for name in media:
            segment = segments.get(name)
            if segment is not None:
                ports = 1 if segment.kind == "bus" else len(segment.hosts)
                total += ports * segment.rate_mbit * 1e6 / 8 * PAYLOAD
        return total

    beyond = _sides(description)
    found: dict[Side, Link] = {}
    for joint in description.joints:
        for port in joint.ports:
            below, above = beyond[joint.name, port.to], beyond[port.to, joint.name]
            side = frozenset(host for name in below if name in segments for host in segments[name].hosts)
            if first in side:
                side = everybody - side
            if len(side) < 2 or len(everybody) - len(side) < 2:
                continue
            rate = port.rate_mbit
            if rate is None and port.to in segments and segments[port.to].kind == "switch":
                rate = segments[port.to].rate_mbit
            bytes_per_s = math.inf if rate is None else rate * 1e6 / 8 * PAYLOAD
            link = found.setdefault(side, Link(math.inf, min(supply(below), supply(above))))
            link.bytes_per_s = min(link.bytes_per_s, bytes_per_s)
    return found


def compare(description: Description, network: Network) -> dict[str, Any]:
    """What was found beside the truth."""
    assert network.tree is not None
    expected = truth(description)
    everybody = frozenset(description.hosts)
    first = description.hosts[0]
    names = [host.name for host in network.hosts]
    found: dict[Side, list[float | None]] = {}
    for index, level in enumerate(network.tree.levels):
        side = frozenset(names[host] for host in network.tree.hosts_below(index))
        if first in side:
            side = everybody - side
        if index > 0 and len(side) >= 2 and len(everybody) - len(side) >= 2:
            found.setdefault(side, []).append(level.uplink_bytes_per_s)
    kinds, right_kinds = 0, 0
    for segment in description.segments:
        for level in network.tree.levels:
            if len(segment.hosts) > 1 and {names[host] for host in level.hosts} == set(segment.hosts):
                right_kinds += level.kind == ("bus" if segment.kind == "bus" else "switched")
        kinds += len(segment.hosts) > 1
    errors = []
    for side, link in expected.items():
        if link.bytes_per_s > HOLDS_UP * link.could_carry:
            continue
        said = [rate for rate in found.get(side, []) if rate is not None]
        errors.append(min((abs(rate / link.bytes_per_s - 1) for rate in said), default=1.0))
    figure2 = {frozenset(names[host] for host in part) for part in network.figure2}
    return {
        "hosts": len(names),
        "links": len(expected),
        "missed": len(expected.keys() - found.keys()),
        "invented": len(found.keys() - expected.keys()),
        "kinds": kinds,
        "kinds_right": right_kinds,
        "capacities": len(errors),
        "capacities_right": sum(error <= WITHIN for error in errors),
        "worst_capacity": max(errors, default=0.0),
        "figure2_right": figure2 == {frozenset(segment.hosts) for segment in description.segments},
        "figure2_parts": len(figure2),
        "in_parallel": network.tree.in_parallel,
        "least_confidence": min(level.confidence for level in network.tree.levels),
        "tree_s": network.tree.seconds,
        "verdict": network.tree.verdict,
    }


def lab_trial(description: Description, library: str, placement: str) -> dict[str, Any]:
    """One emulated network characterized."""
    with (
        Lab(description, library=library, placement=placement) as lab,
        tempfile.TemporaryDirectory() as folder,
    ):
        file = Path(folder) / "network.json"
        start = time.monotonic()
        characterize_place(jobs.LabPlace(lab), file, None, LIMIT_S, None)
        seconds = time.monotonic() - start
        found = compare(description, networks.load(file))
        return {"network": description.name, "library": library, **found, "seconds": seconds}


def generated(seed: int) -> Description:
    """A network by dice, of 8 to 20 hosts, small enough for one machine to play it."""
    dice = random.Random(seed)
    n_segments = dice.randint(2, 4)
    sizes = [dice.randint(2, 6) for _ in range(n_segments)]
    while sum(sizes) < 8:
        sizes[dice.randrange(n_segments)] += 1
    sizes[-1] -= max(0, sum(sizes) - 20)
    segments, number = [], 0
    for index, size in enumerate(sizes):
        kind = dice.choice(["switch", "switch", "bus"])
        rate = dice.choice([10, 20]) if kind == "bus" else dice.choice([20, 50, 100])
        hosts = tuple(f"h{number + i + 1}" for i in range(size))
        number += size
        segments.append(Segment(f"s{index}", kind, rate, hosts))
    ports = [
        JointPort(
            segment.name,
            None if segment.kind == "bus" else segment.rate_mbit * dice.choice([0.3, 0.5, 1]),
            0.0,
        )
        for segment in segments
    ]
    if n_segments < 4:
        joints = [Joint("router", "router", tuple(ports), 0.1)]
    else:  # two sites with a line between them
        line = JointPort("west", dice.choice([10, 20]), dice.choice([1, 5]))
        joints = [
            Joint("east", "router", (*ports[:2], line), 0.1),
            Joint("west", "router", tuple(ports[2:]), 0.1),
        ]
    return Description(f"dice-{seed}", tuple(segments), tuple(joints))
