"""A described network as data: hosts on segments, segments on joints, rates and delays.

`Description` is what the rest of the lab works on; `reading` makes it of TOML.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

# A queue of 4 MB drops nothing that a program of the expected sizes can have under way; smaller ones show loss.
DEFAULT_QUEUE_BYTES = 4_000_000


@dataclasses.dataclass(frozen=True)
class Segment:
    """Hosts that reach each other directly: by a full-duplex switch, or on one shared medium."""

    name: str
    kind: str
    rate_mbit: float
    hosts: tuple[str, ...]
    delay_us: float = 0.0
    rail: int = 0


@dataclasses.dataclass(frozen=True)
class JointPort:
    """A joint's link to a segment or to another joint: full duplex, each direction at `rate_mbit`.

    Without a rate of its own, the link has the segment's (on a bus: the bus alone serialises).
    """

    to: str
    rate_mbit: float | None = None
    delay_ms: float = 0.0


@dataclasses.dataclass(frozen=True)
class Joint:
    """A store-and-forward bridge or router; `delay_ms` is what forwarding takes beyond serialising."""

    name: str
    kind: str
    ports: tuple[JointPort, ...]
    delay_ms: float = 0.0


@dataclasses.dataclass(frozen=True)
class Traffic:
    """A background flow between two hosts, carried by the relay alone."""

    source: str
    target: str
    rate_mbit: float
    packet_bytes: int = 1514
    kind: str = "poisson"
    on_ms: float = 0.0
    off_ms: float = 0.0
    seed: int = 1
    rail: int = 0


@dataclasses.dataclass(frozen=True)
class Description:
    """A whole network. Hosts are those of the segments, in order of first appearance."""

    name: str
    segments: tuple[Segment, ...]
    joints: tuple[Joint, ...] = ()
    traffic: tuple[Traffic, ...] = ()
    about: str = ""
    ranks_per_host: int = 1
    queue_bytes: int = DEFAULT_QUEUE_BYTES
    expected_subnets: tuple[tuple[str, ...], ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts, in order of first appearance."""
        return tuple(dict.fromkeys(h for s in self.segments for h in s.hosts))

    @property
    def n_rails(self) -> int:
        """How many NICs the best equipped host has."""
        return 1 + max(s.rail for s in self.segments)

    @property
    def common_rails(self) -> tuple[int, ...]:
        """Those on which every host has a NIC."""
        return tuple(r for r in range(self.n_rails) if all(self.segment_of(h, r) for h in self.hosts))

    def segment_of(self, host: str, rail: int = 0) -> Segment | None:
        """The segment that the host's NIC `rail` is on."""
        return next((s for s in self.segments if s.rail == rail and host in s.hosts), None)

    def digest(self) -> str:
        """Short name of exactly this network: equal for equal networks, whatever file they came from."""
        facts = self.to_dict()
        facts.pop("about")
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """The description as plain data, for JSON."""
        return dataclasses.asdict(self)
