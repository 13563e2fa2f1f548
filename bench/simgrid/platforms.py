"""Platforms of any size for SimGrid: sites, a fat tree, a campus; the same for the same seed on every machine.

    text = platform_text("four-sites", 1024, seed=1)       # the XML that smpirun and platform_file.Platform read

Hosts hang on switches or buses, each of which has one uplink with two directions to a core that takes no time; a way
between two of them crosses both uplinks. SMPI's settings are those of two-clusters-64.xml, which says why.
"""

import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SETTINGS_OF = Path(__file__).with_name("two-clusters-64.xml")

_FAST = 1250e6  # 10 Gbit/s, in bytes/s
_GIGABIT = 125e6
_SLOW = 12.5e6
_HOSTS_ON_AN_EDGE = 16
_OVERSUBSCRIBED = 4
_SEGMENTS = 40
#: Of a campus: the share of segments that are buses, the rest being switches.
_BUSES = 0.5


@dataclass(frozen=True)
class Segment:
    """Hosts on one medium. Every number is of one direction, seconds or bytes/s."""

    n_hosts: int
    bytes_per_s: float
    latency_s: float  # of one host's link; from host to host it is crossed twice
    uplink_bytes_per_s: float
    uplink_latency_s: float
    bus: bool = False


def _shares(n_ranks: int, shares: list[float]) -> list[int]:
    """Whole numbers, none of them zero, that add up to `n_ranks` and are near its shares."""
    if n_ranks < len(shares):
        raise ValueError(f"{n_ranks} ranks are too few for {len(shares)} segments: each needs one")
    total = sum(shares)
    sizes = [max(1, int(n_ranks * share / total)) for share in shares]
    by_size = sorted(range(len(shares)), key=lambda i: -shares[i])
    while (missing := n_ranks - sum(sizes)) != 0:
        step = 1 if missing > 0 else -1
        for i in by_size[: abs(missing)]:
            if sizes[i] + step > 0:
                sizes[i] += step
    return sizes


def _two_sites(n_ranks: int, _: random.Random) -> list[Segment]:
    sizes = _shares(n_ranks, [3, 1])
    return [Segment(n, _FAST, 10e-6, _GIGABIT, 2.5e-3) for n in sizes]


def _four_sites(n_ranks: int, _: random.Random) -> list[Segment]:
    sizes = _shares(n_ranks, [4, 2, 1, 1])
    rates = [1000e6, 500e6, 250e6, 125e6]
    latencies = [0.5e-3, 1e-3, 2e-3, 4e-3]
    return [Segment(n, _FAST, 10e-6, rate, latency)
            for n, rate, latency in zip(sizes, rates, latencies, strict=True)]  # fmt: skip


def _fat_tree(n_ranks: int, _: random.Random) -> list[Segment]:
    n_edges = -(-n_ranks // _HOSTS_ON_AN_EDGE)
    sizes = _shares(n_ranks, [1.0] * n_edges)
    return [Segment(n, _FAST, 1e-6, n * _FAST / _OVERSUBSCRIBED, 1e-6) for n in sizes]


def _campus(n_ranks: int, dice: random.Random) -> list[Segment]:
    sizes = _shares(n_ranks, [dice.uniform(0.5, 2) for _ in range(_SEGMENTS)])
    segments = []
    for n in sizes:
        bus = dice.random() < _BUSES
        uplink = dice.choice([_SLOW, _GIGABIT])
        latency = dice.uniform(10e-6, 50e-6)
        segments.append(Segment(n, _SLOW if bus else _GIGABIT, 20e-6, uplink, latency, bus and n > 1))
    return segments


PLATFORMS: dict[str, Callable[[int, random.Random], list[Segment]]] = {
    "two-sites": _two_sites,
    "four-sites": _four_sites,
    "fat-tree": _fat_tree,
    "campus": _campus,
}


def segments_of(name: str, n_ranks: int, seed: int = 1) -> list[Segment]:
    if name not in PLATFORMS:
        raise ValueError(f"no platform '{name}'; choose one of {', '.join(PLATFORMS)}")
    return PLATFORMS[name](n_ranks, random.Random(f"{name} {n_ranks} {seed}"))


def platform_text(name: str, n_ranks: int, seed: int = 1) -> str:
    segments = segments_of(name, n_ranks, seed)
    settings = ElementTree.parse(SETTINGS_OF).getroot().find("config")
    assert settings is not None
    lines = [
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        "  <config>",
        *(f'    <prop id="{p.attrib["id"]}" value="{p.attrib["value"]}"/>' for p in settings.iter("prop")),
        "  </config>",
        '  <zone id="world" routing="Full">',
    ]
    for s, segment in enumerate(segments):
        bus = ""
        if segment.bus:
            bus = f' bb_bw="{segment.bytes_per_s:.0f}Bps" bb_lat="0s" bb_sharing_policy="SHARED"'
        lines += [
            f'    <cluster id="s{s}" prefix="s{s}h" suffix="" radical="0-{segment.n_hosts - 1}" speed="500Mf" '
            f'bw="{segment.bytes_per_s:.0f}Bps" lat="{segment.latency_s:.9f}s"{bus} router_id="s{s}-router"/>',
            f'    <link id="up{s}" bandwidth="{segment.uplink_bytes_per_s:.0f}Bps" '
            f'latency="{segment.uplink_latency_s:.9f}s" sharing_policy="SPLITDUPLEX"/>',
        ]
    for a in range(len(segments)):
        for b in range(len(segments)):
            if a == b:
                continue
            lines += [
                f'    <zoneRoute src="s{a}" dst="s{b}" gw_src="s{a}-router" gw_dst="s{b}-router" '
                'symmetrical="NO">',
                f'      <link_ctn id="up{a}" direction="UP"/><link_ctn id="up{b}" direction="DOWN"/>',
                "    </zoneRoute>",
            ]
    return "\n".join([*lines, "  </zone>", "</platform>"]) + "\n"
