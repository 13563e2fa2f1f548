"""A SimGrid platform, read: its hosts for smpirun, its settings, and the network that ECO would have to find there.

    platform = Platform(Path("two-clusters-64.xml"))
    platform.settings()     # --cfg words; SMPI reads some before it has read the platform's file
    platform.hosts()        # one name a line is a host file
    platform.network()      # an eco.network document

Nothing is measured and nothing fitted: every number of the network is one of the platform's, or a sum of some. Read are
clusters of hosts on a switch or, with a shared backbone, on a bus (<cluster>), joined (<zoneRoute>) by one link with
two directions, or by two: the uplink of the one and then of the other.
"""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UNITS = {
    "Bps": 1.0, "kBps": 1e3, "MBps": 1e6, "GBps": 1e9,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
    "f": 1.0, "kf": 1e3, "Mf": 1e6, "Gf": 1e9,
}  # fmt: skip
#: A reduction of doubles does one operation for each (bench/simgrid/execute.cc).
_BYTES_PER_OPERATION = 8
#: Copying takes no simulated time, nor does any message inside a host: there is one rank on each.
_NO_TIME_BYTES_PER_S = 1e18
#: A flow takes its whole route at once: nothing is stored and forwarded.
_FLUID_PACKET_BYTES = 1


def number(text: str) -> float:
    """ "1250MBps", "5ms", "500Mf" in bytes/s, seconds, operations/s."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(digits) :]
    if unit not in _UNITS:
        raise ValueError(f"'{text}' has none of the units {', '.join(_UNITS)}")
    return float(digits) * _UNITS[unit]


@dataclass(frozen=True)
class Cluster:
    """Hosts on one switch, each with a link of its own, both directions apart; or on a bus of the same rate."""

    name: str
    hosts: list[str]
    bytes_per_s: float
    latency_s: float  # of one host's link; from host to host it is crossed twice
    operations_per_s: float
    bus: bool = False

    def kind(self) -> str:
        if len(self.hosts) == 1:
            return "lone"
        return "bus" if self.bus else "switched"


class Platform:
    def __init__(self, path: Path) -> None:
        self.path = path
        root = ElementTree.parse(path).getroot()
        self._settings = {prop.attrib["id"]: prop.attrib["value"] for prop in root.iter("prop")}
        self._clusters = [_cluster(found) for found in root.iter("cluster")]
        self._links = {found.attrib["id"]: found.attrib for found in root.iter("link")}
        self._joins = {
            (route.attrib["src"], route.attrib["dst"]): [link.attrib["id"] for link in route.iter("link_ctn")]
            for route in root.iter("zoneRoute")
        }
        self._check()

    def _check(self) -> None:
        speeds = {cluster.operations_per_s for cluster in self._clusters}
        if len(speeds) != 1:
            raise ValueError(f"{self.path}: a network has one speed for all hosts, here are {sorted(speeds)}")
        for (source, target), links in self._joins.items():
            policies = {self._links[link].get("sharing_policy") for link in links}
            if len(links) not in (1, 2) or policies != {"SPLITDUPLEX"}:
                raise ValueError(
                    f"{self.path}: {source} to {target} is not one link with two directions, or two"
                )

    def settings(self) -> list[str]:
        return [f"--cfg={name}:{value}" for name, value in self._settings.items()]

    def hosts(self) -> list[str]:
        return [host for cluster in self._clusters for host in cluster.hosts]

    def _overhead_s(self, name: str) -> float:
        """SMPI's "size:seconds:seconds per byte" of all sizes."""
        size, seconds, per_byte = self._settings[name].split(":")
        if (float(size), float(per_byte)) != (0, 0):
            raise ValueError(f"{self.path}: {name} is not the same for all sizes")
        return float(seconds)

    def network(self) -> dict[str, Any]:
        numbers = {host: i for i, host in enumerate(self.hosts())}
        joined: dict[int, float] = {}
        between = []
        for i, source in enumerate(self._clusters):
            for j, target in enumerate(self._clusters[i + 1 :], start=i + 1):
                links = [self._links[link] for link in self._joins[source.name, target.name]]
                rates = [number(link["bandwidth"]) for link in links]
                joined |= {i: rates[0], j: rates[-1]}
                latencies = [source.latency_s, *(number(link["latency"]) for link in links), target.latency_s]
                between.append({
                    "from": i, "to": j,
                    "latency_s": sum(latencies),
                    "bytes_per_s": min(source.bytes_per_s, *rates, target.bytes_per_s),
                })  # fmt: skip
        return {
            "schema": "eco.network",
            "version": 1,
            "transport": "SimGrid",
            "measured_at": "never: from the platform's definition",
            "note": self.path.name,
            "sizes": [],
            "hosts": [
                {"name": host, "address": "", "boot_id": "", "net_namespace": "simgrid"} for host in numbers
            ],
            "subnets": [
                {"hosts": [numbers[host] for host in cluster.hosts], "kind": cluster.kind(),
                 "latency_s": 2 * cluster.latency_s if len(cluster.hosts) > 1 else 0.0,
                 "bytes_per_s": cluster.bytes_per_s}
                for cluster in self._clusters
            ],
            "between": between,
            "uplinks": [
                {"subnet": subnet, "bytes_per_s": rate, "shared": True, "half_duplex": False}
                for subnet, rate in sorted(joined.items())
            ],
            "overheads": {
                "send_s": self._overhead_s("smpi/ois"),
                "receive_s": self._overhead_s("smpi/or"),
                "memory_latency_s": 0.0,
                "memory_bytes_per_s": _NO_TIME_BYTES_PER_S,
                "combine_bytes_per_s": _BYTES_PER_OPERATION * self._clusters[0].operations_per_s,
                "packet_bytes": _FLUID_PACKET_BYTES,
            },
            "pairs": [],
            "concurrent": [],
        }  # fmt: skip


def _cluster(found: ElementTree.Element) -> Cluster:
    shared = found.attrib.get("bb_bw")
    if shared is not None and (
        found.attrib.get("bb_sharing_policy") != "SHARED"
        or number(shared) != number(found.attrib["bw"])
        or number(found.attrib.get("bb_lat", "0s")) != 0
    ):
        raise ValueError(f"cluster {found.attrib['id']} has a backbone that is no bus of its hosts' rate")
    first, last = found.attrib["radical"].split("-")
    names = [f"{found.attrib['prefix']}{i}{found.attrib['suffix']}" for i in range(int(first), int(last) + 1)]
    return Cluster(
        name=found.attrib["id"],
        hosts=names,
        bytes_per_s=number(found.attrib["bw"]),
        latency_s=number(found.attrib["lat"]),
        operations_per_s=number(found.attrib["speed"]),
        bus=shared is not None,
    )
