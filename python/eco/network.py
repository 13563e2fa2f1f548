"""A measured network, as Python sees it.

    network = load("network.json")
    network.subnets[0].kind                    # "switched"
    network.matrix(65536)[0][5]                # seconds one way between hosts 0 and 5

Files are read and checked by the C++ core, the very code that the ranks use; what it refuses is a CorruptFile here.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eco import _core
from eco.errors import CorruptFile, InvalidArgument
from eco.report.records import read_text

SCHEMA = ("eco.network", 1)


@dataclass(frozen=True)
class Host:
    """How a host is recognised again."""

    name: str
    address: str
    boot_id: str
    net_namespace: str


@dataclass(frozen=True)
class Subnet:
    """Hosts whose mutual cost is near-uniform."""

    hosts: tuple[int, ...]
    kind: str  # lone, switched, bus, unknown
    latency_s: float
    bytes_per_s: float


@dataclass(frozen=True)
class Between:
    """What pairs of two subnets see."""

    from_subnet: int
    to_subnet: int
    latency_s: float
    bytes_per_s: float


@dataclass(frozen=True)
class Uplink:
    """The link that joins a subnet to the others."""

    subnet: int
    bytes_per_s: float
    shared: bool
    half_duplex: bool


@dataclass(frozen=True)
class Site:
    """Subnets behind one link to all others; `bytes_per_s` is 0 where that holds nobody up."""

    subnets: tuple[int, ...]
    bytes_per_s: float
    half_duplex: bool


@dataclass(frozen=True)
class Rail:
    """One more NIC of every host; what it is called, and what it joins."""

    name: str
    subnets: tuple[Subnet, ...]
    between: tuple[Between, ...]
    uplinks: tuple[Uplink, ...]


@dataclass(frozen=True)
class Pair:
    """Times of one pair of hosts: seconds[i] and samples[i] belong to sizes[i]."""

    a: int
    b: int
    seconds: tuple[float, ...]
    samples: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ConcurrentTest:
    """Several pairs at once, against each alone."""

    what: str
    pairs: tuple[tuple[int, int], ...]
    bytes: int
    alone_s: tuple[float, ...]
    together_s: tuple[float, ...]


@dataclass(frozen=True)
class Curve:
    """Seconds as a function of bytes: seconds[i] belongs to bytes[i]."""

    bytes: tuple[int, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class SlowDown:
    """A stream beside others of its class: together / alone."""

    pairs: int
    factor: float


@dataclass(frozen=True)
class PLogPSamples:
    """Times of one parameter at one size, before they were reduced."""

    what: str
    bytes: int
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class PLogP:
    """L, os(m), or(m) and g(m) of a class of pairs in one direction, as measured between two of its hosts."""

    pairs: str  # host, subnet, between
    from_host: int
    to_host: int
    latency_s: float
    send_overhead: Curve  # os
    receive_overhead: Curve  # or
    gap: Curve  # g
    eager_limit: int | None  # bytes; None: no message that was measured waited for its receiver
    slow_down: tuple[SlowDown, ...]
    gamma: float | None  # of all-to-all
    samples: tuple[PLogPSamples, ...]


@dataclass(frozen=True)
class RailPair:
    """What the rails carry between two hosts, by rail over its own transport; 0 where one of the two lacks it."""

    a: int
    b: int
    bytes_per_s: tuple[float, ...]
    latency_s: tuple[float, ...]


@dataclass(frozen=True)
class RailPLogP:
    """pLogP over one of the rails."""

    rail: str
    transport: str  # that its messages go over: TCP, UCX
    classes: tuple[PLogP, ...]


@dataclass(frozen=True)
class Level:
    """What joins the hosts and levels below it: a switch, a bus, a site's router."""

    parent: int  # -1 of the root
    hosts: tuple[int, ...]  # directly on it
    kind: str
    latency_s: float
    bytes_per_s: float
    uplink_latency_s: float
    uplink_bytes_per_s: float | None  # None: holds nobody up
    half_duplex: bool
    oversubscription: float
    confidence: float
    evidence: str


@dataclass(frozen=True)
class LevelTree:
    """The tree of levels behind the subnets, the root first."""

    levels: tuple[Level, ...]
    verdict: str  # what the subnets are taken from, and why
    in_parallel: bool
    seconds: float

    def children(self, level: int) -> list[int]:
        return [index for index, other in enumerate(self.levels) if other.parent == level]

    def hosts_below(self, level: int) -> list[int]:
        hosts: list[int] = []
        open_ = [level]
        while open_:
            at = open_.pop()
            hosts += self.levels[at].hosts
            open_ += self.children(at)
        return sorted(hosts)


@dataclass(frozen=True)
class Network:
    """The network between some hosts, over one transport."""

    hosts: tuple[Host, ...]
    transport: str
    measured_at: str
    note: str
    sizes: tuple[int, ...]
    subnets: tuple[Subnet, ...]
    between: tuple[Between, ...]
    uplinks: tuple[Uplink, ...]
    sites: tuple[Site, ...]  # what contains others first; none where subnets are all there is
    more_rails: tuple[Rail, ...]  # beyond rail 0, which the above describes
    rails: tuple[str, ...]  # the names of those that were measured, rail 0 first; empty where nobody looked
    rail_pairs: tuple[RailPair, ...]  # of a few pairs of hosts
    overheads: dict[str, float]
    pairs: tuple[Pair, ...]
    concurrent: tuple[ConcurrentTest, ...]
    plogp: tuple[PLogP, ...]  # empty unless measured with --plogp
    rail_plogp: tuple[RailPLogP, ...]  # likewise, where hosts have several rails
    tree: LevelTree | None  # None where nobody looked for it
    figure2: tuple[tuple[int, ...], ...]  # the subnets that Figure 2 makes of the pairs; none without pairs
    fingerprint: str

    def uplink_of(self, subnet: int) -> Uplink | None:
        return next((uplink for uplink in self.uplinks if uplink.subnet == subnet), None)

    def subnet_of(self, host: int) -> int:
        return next(i for i, subnet in enumerate(self.subnets) if host in subnet.hosts)

    def host_order(self) -> list[int]:
        """Hosts subnet by subnet: in this order the matrix shows its blocks."""
        return [host for subnet in self.subnets for host in subnet.hosts]

    def matrix(self, size: int) -> list[list[float]]:
        """Seconds one way at a measured size, by host; NaN where nothing was measured (the diagonal)."""
        if size not in self.sizes:
            raise InvalidArgument(
                f"size {size} was not measured; measured: {', '.join(map(str, self.sizes))}"
            )
        index = self.sizes.index(size)
        table = [[math.nan] * len(self.hosts) for _ in self.hosts]
        for pair in self.pairs:
            table[pair.a][pair.b] = table[pair.b][pair.a] = pair.seconds[index]
        return table

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _structure(
    data: dict[str, Any],
) -> tuple[tuple[Subnet, ...], tuple[Between, ...], tuple[Uplink, ...]]:
    """What describes one rail."""
    return (
        tuple(Subnet(**{**subnet, "hosts": tuple(subnet["hosts"])}) for subnet in data["subnets"]),
        tuple(
            Between(pair["from"], pair["to"], pair["latency_s"], pair["bytes_per_s"])
            for pair in data["between"]
        ),
        tuple(Uplink(**uplink) for uplink in data["uplinks"]),
    )


def _curve(data: dict[str, Any]) -> Curve:
    return Curve(tuple(data["bytes"]), tuple(data["seconds"]))


def _plogp(data: dict[str, Any]) -> PLogP:
    return PLogP(
        pairs=data["class"],
        from_host=data["from"],
        to_host=data["to"],
        latency_s=data["latency_s"],
        send_overhead=_curve(data["os"]),
        receive_overhead=_curve(data["or"]),
        gap=_curve(data["g"]),
        eager_limit=data.get("eager_limit"),
        slow_down=tuple(SlowDown(**slow) for slow in data["slow_down"]),
        gamma=data.get("gamma"),
        samples=tuple(
            PLogPSamples(sample["what"], sample["bytes"], tuple(sample["seconds"]))
            for sample in data["samples"]
        ),
    )


def _tree(data: dict[str, Any] | None) -> LevelTree | None:
    if data is None:
        return None
    levels = tuple(
        Level(**{"uplink_bytes_per_s": None, **level, "hosts": tuple(level["hosts"])})
        for level in data["levels"]
    )
    return LevelTree(levels, data["verdict"], data["in_parallel"], data["seconds"])


def parse(text: str, where: str) -> Network:
    """Local. Throws CorruptFile, its message beginning with `where`."""
    checked = _core.check_network(text, where)
    data = json.loads(checked)
    subnets, between, uplinks = _structure(data)
    return Network(
        hosts=tuple(Host(**host) for host in data["hosts"]),
        transport=data["transport"],
        measured_at=data["measured_at"],
        note=data["note"],
        sizes=tuple(data["sizes"]),
        subnets=subnets,
        between=between,
        uplinks=uplinks,
        sites=tuple(Site(**{**site, "subnets": tuple(site["subnets"])}) for site in data.get("sites", ())),
        more_rails=tuple(
            Rail(rail.get("name", ""), *_structure(rail)) for rail in data.get("more_rails", ())
        ),
        rails=tuple(data.get("rails", ())),
        rail_pairs=tuple(
            RailPair(pair["a"], pair["b"], tuple(pair["bytes_per_s"]), tuple(pair["latency_s"]))
            for pair in data.get("rail_pairs", ())
        ),
        overheads=data["overheads"],
        pairs=tuple(
            Pair(pair["a"], pair["b"], tuple(pair["seconds"]), tuple(map(tuple, pair["samples"])))
            for pair in data["pairs"]
        ),
        concurrent=tuple(
            ConcurrentTest(
                test["what"],
                tuple((a, b) for a, b in test["pairs"]),
                test["bytes"],
                tuple(test["alone_s"]),
                tuple(test["together_s"]),
            )
            for test in data["concurrent"]
        ),
        plogp=tuple(_plogp(measured) for measured in data.get("plogp", ())),
        rail_plogp=tuple(
            RailPLogP(of_rail["rail"], of_rail["transport"], tuple(map(_plogp, of_rail["classes"])))
            for of_rail in data.get("rail_plogp", ())
        ),
        tree=_tree(data.get("tree")),
        figure2=tuple(map(tuple, _core.network_figure2(checked))) if data["pairs"] else (),
        fingerprint=_core.network_fingerprint(checked),
    )


def load(path: Path | str) -> Network:
    """Local. Throws CorruptFile for a file that is missing, unreadable or not a network of this version."""
    try:
        text = read_text(Path(path))
    except CorruptFile as error:
        raise CorruptFile(f"cannot read network file {error}") from error
    where = f"network file {path}".encode(errors="backslashreplace").decode()  # names may be any bytes
    return parse(text, where)


def synthetic(description: str) -> Network:
    """Local. A network from a line like "hosts=3+3+2 rate_mbit=200 uplink_mbit=40" (eco/net/synthetic.h)."""
    return parse(_core.synthetic_network(description), "synthetic network")
