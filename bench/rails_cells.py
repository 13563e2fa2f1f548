"""What bench/rails.py compares, recipes on one rail and on all and stock libraries' settings, and what its records say.

    rows = rows_of(records, {"rails-8": load("rails-8")})
    verdict(rows)["rails-8"]["broadcast"][1 << 20]["gain"]

Pure: bench/rails.py measures. A record is one launch of one way; a row is a way's median over launches.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eco.lab.bounds import bound_s
from eco.lab.description import Description

Record = Mapping[str, Any]
OPERATIONS = ("broadcast", "allreduce", "allgather")
#: Of an operation: on one rail, then on all; {shares} stands for what each rail carries.
RECIPES = {
    "broadcast": (
        "broadcast/chain segment=8624 window=4",
        "broadcast/two_tree segment=8624 window=4",
        "broadcast/striped segment=8624 window=4 shares={shares} parts=broadcast/chain",
        "broadcast/striped segment=8624 window=4 shares={shares} parts=broadcast/two_tree",
        "broadcast/rail_trees segment=8624 window=4",
    ),
    "allreduce": (
        "allreduce/ring segment=8624 window=2",
        "allreduce/two_tree segment=8624 window=4",
        "allreduce/striped segment=8624 window=2 shares={shares} parts=allreduce/ring",
        "allreduce/striped segment=8624 window=4 shares={shares} parts=allreduce/two_tree",
    ),
    "allgather": (
        "allgather/chain segment=8624 window=2",
        "allgather/striped segment=8624 window=2 shares={shares} parts=allgather/chain",
    ),
}


@dataclass(frozen=True)
class Setting:
    """How a stock library is told of the NICs."""

    library: str
    name: str
    variables: Mapping[str, str]
    on_all_rails: bool = True
    operation: str = ""  # of which alone it says anything

    @property
    def way(self) -> str:
        return f"{self.library}: {self.name}"


_BOTH_NICS = {"OMPI_MCA_btl_tcp_if_include": "eth0,eth1"}
#: Long messages as fragments that ob1 deals over the links as these take them, not as one put a link.
_NO_PUT = {**_BOTH_NICS, "OMPI_MCA_btl_tcp_flags": "send,inplace,need-ack,need-csum"}
_UCX = {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0,eth1"}
_UCX_RAILS = {**_UCX, "UCX_MAX_EAGER_RAILS": "2", "UCX_MAX_RNDV_RAILS": "2"}
_OFI_RAILS = {
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "MPIR_CVAR_CH4_OFI_MAX_NICS": "2",
    "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING": "1",
    "MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD": "65536",
}
_MPICH_CHAIN = {
    "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "pipelined_tree",
    "MPIR_CVAR_BCAST_TREE_TYPE": "kary",
    "MPIR_CVAR_BCAST_TREE_KVAL": "1",
    "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE": "65536",
}


def _tuned(operation: str, algorithm: int, segment: int) -> dict[str, str]:
    """An algorithm of Open MPI's, forced for all sizes of an operation."""
    name = f"OMPI_MCA_coll_tuned_{operation}_algorithm"
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        name: str(algorithm),
        f"{name}_segmentsize": str(segment),
    }


_PIPELINE = _tuned("bcast", 3, 131072)
_SEGMENTED_RING = _tuned("allreduce", 5, 131072)
_RING = _tuned("allgather", 4, 0)
#: What the libraries' own parameters offer to one rank with two NICs.
STOCK = (
    Setting("openmpi", "one NIC", {"OMPI_MCA_btl_tcp_if_include": "eth0"}, False),
    Setting("openmpi", "both NICs", _BOTH_NICS),
    Setting("openmpi", "both NICs, btl_tcp_links 2", {**_BOTH_NICS, "OMPI_MCA_btl_tcp_links": "2"}),
    Setting("openmpi", "both NICs, no put", _NO_PUT),
    Setting(
        "openmpi", "both NICs, fragments of 32 KiB", {**_NO_PUT, "OMPI_MCA_btl_tcp_max_send_size": "32768"}
    ),
    Setting("openmpi", "both NICs, pipeline of 128 KiB", {**_BOTH_NICS, **_PIPELINE}, True, "broadcast"),
    Setting("openmpi", "no put, pipeline of 128 KiB", {**_NO_PUT, **_PIPELINE}, True, "broadcast"),
    Setting(
        "openmpi",
        "both NICs, segmented ring of 128 KiB",
        {**_BOTH_NICS, **_SEGMENTED_RING},
        True,
        "allreduce",
    ),
    Setting(
        "openmpi", "no put, segmented ring of 128 KiB", {**_NO_PUT, **_SEGMENTED_RING}, True, "allreduce"
    ),
    Setting("openmpi", "both NICs, ring", {**_BOTH_NICS, **_RING}, True, "allgather"),
    Setting("openmpi", "no put, ring", {**_NO_PUT, **_RING}, True, "allgather"),
    Setting("mpich", "one NIC", {**_UCX, "UCX_NET_DEVICES": "eth0"}, False),
    Setting("mpich", "UCX, both NICs", _UCX),
    Setting("mpich", "UCX, both NICs, 2 eager and rendezvous rails", _UCX_RAILS),
    Setting("mpich", "2 rails, pipelined chain of 64 KiB", {**_UCX_RAILS, **_MPICH_CHAIN}, True, "broadcast"),
    Setting("mpich", "OFI, 2 NICs striped", _OFI_RAILS),
)


def one_rail(description: Description) -> Description:
    """What is left of it for who knows one NIC."""
    first = {s.name for s in description.segments if s.rail == 0}
    joints = {j.name: j for j in description.joints}
    kept: set[str] = set()
    for _ in joints:  # as far as the rail's segments lead
        kept |= {j.name for j in joints.values() if any(p.to in first | kept for p in j.ports)}
        kept |= {p.to for name in kept for p in joints[name].ports if p.to in joints}
    return dataclasses.replace(
        description,
        segments=tuple(s for s in description.segments if s.rail == 0),
        joints=tuple(j for j in description.joints if j.name in kept),
    )


def rates_mbit(description: Description) -> list[float]:
    """Of a host's NICs."""
    by_rail = {s.rail: s.rate_mbit for s in description.segments}
    return [by_rail[rail] for rail in sorted(by_rail)]


def shares_of(rates: Sequence[float]) -> str:
    """In proportion, as a recipe has them."""
    steps = [round(16 * rate / min(rates)) for rate in rates]
    divisor = math.gcd(*steps)
    return ",".join(str(step // divisor) for step in steps)


def recipes_for(description: Description, operation: str) -> list[str]:
    """On one rail and on all; where rails differ also in equal shares, as libraries stripe."""
    rates = rates_mbit(description)
    shares = dict.fromkeys([shares_of(rates), ",".join("1" * len(rates))])
    texts = [recipe.format(shares=s) for recipe in RECIPES[operation] for s in shares]
    return list(dict.fromkeys(texts))


def is_on_all_rails(recipe: str) -> bool:
    return "striped" in recipe or "rail_trees" in recipe


def gain_cells(
    description: Description, operations: Iterable[str], sizes: Sequence[int]
) -> list[tuple[int, str]]:
    """Small sizes first: what an interrupt cuts off is the long ones."""
    recipes = [recipe for o in operations for recipe in recipes_for(description, o)]
    return [(size, recipe) for size in sorted(sizes) for recipe in recipes]


@dataclass(frozen=True)
class Row:
    """One way for one operation and size, over all of its launches."""

    part: str
    network: str
    way: str  # a recipe, a way of the paper, or a library's setting
    operation: str
    bytes: int
    rails: int
    seconds: float  # median over launches of the median call
    launches: tuple[float, ...]
    predicted_s: float | None
    bound_s: float  # that no algorithm beats on so many rails
    late_us: float  # the relay's, the worst of the launches' averages


def rows_of(records: Iterable[Record], descriptions: Mapping[str, Description]) -> list[Row]:
    """In the order in which ways appeared."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        key = tuple(record[k] for k in ("part", "network", "way", "operation", "bytes"))
        found.setdefault(key, []).append(record)
    rows = []
    for (part, network, way, operation, size), launches in found.items():
        whole = descriptions[network]
        rails = launches[0]["rails"]
        known = whole if rails > 1 else one_rail(whole)
        medians = tuple(statistics.median(record["seconds"]) for record in launches)
        rows.append(
            Row(
                part, network, way, operation, size, rails, statistics.median(medians), medians,
                launches[-1].get("predicted_s"), bound_s(known, "block", operation, size).seconds,
                max(record["relay_late_us"]["average"] for record in launches),
            )
        )  # fmt: skip
    return rows


def best(rows: Iterable[Row]) -> Row | None:
    return min(rows, key=lambda row: row.seconds, default=None)


def verdict(rows: Sequence[Row]) -> dict[str, Any]:
    """Of each network, operation and size with ECO's times on all rails: what these gain, and over whom.

    gain: the best on one rail / the best on all; of_bound: that / the bound of all rails; over_LIBRARY: the library's
    best setting / that, and which setting it is.
    """
    found: dict[str, Any] = {}
    keys = dict.fromkeys((row.network, row.operation, row.bytes) for row in rows if row.part == "gain")
    for network, operation, size in keys:
        cell = [row for row in rows if (row.network, row.operation, row.bytes) == (network, operation, size)]
        ours = [row for row in cell if row.part == "gain"]
        on_all = best(row for row in ours if row.rails > 1)
        on_one = best(row for row in ours if row.rails == 1)
        if on_all is None:
            continue
        said: dict[str, Any] = {
            "best": on_all.way,
            "seconds": on_all.seconds,
            "of_bound": on_all.seconds / on_all.bound_s,
            "late_us": on_all.late_us,
        }
        if on_one is not None:
            said["gain"] = on_one.seconds / on_all.seconds
        for library in dict.fromkeys(setting.library for setting in STOCK):
            theirs = best(row for row in cell if row.part == "stock" and row.way.startswith(f"{library}:"))
            if theirs is not None:
                said[f"over_{library}"] = theirs.seconds / on_all.seconds
                said[f"{library}_setting"] = theirs.way
        found.setdefault(network, {}).setdefault(operation, {})[size] = said
    return found
