"""Plans that nobody would choose: any proved recipe for any size, so that calls meet more than the winners.

layout = Layout(network_text, (0, 0, 1, 1))
edges = throw_edges(dice, most_bytes=1 << 17)
files = [plan_text(dice, layout, group, edges) for group in groups]
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eco import _core
from eco.collectives import COLLECTIVES, ROOTED
from eco.fuzz.generate import COMBINING
from eco.plans import SCHEMA

#: Calls whose operation has another name.
OPERATION_OF = {"bcast": "broadcast", "allgatherv": "allgather"}
#: Recipes of calls that follow a graph, which is known when the program runs; what does not fit it is refused then.
ALONG_EDGES = {
    "neighbor_allgather": (
        "flat",
        "flat segment=999",
        "subnets",
        "subnets segment=1392 between=flat inside=flat",
    ),
    "neighbor_alltoall": ("flat", "flat segment=999 window=1", "leaders"),
}
EDGES = (8, 60, 500, 999, 1392, 4096, 5000, 16384, 40000, 65536)

Edges = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Layout:
    """Hosts as a network file has them, and the host of each rank."""

    network: str
    hosts: tuple[int, ...]

    def roots(self, group: Sequence[int]) -> list[int]:
        """Of each subnet that the group has ranks in, one of those."""
        subnets = json.loads(self.network)["subnets"]
        inside = [
            [i for i, rank in enumerate(group) if self.hosts[rank] in subnet["hosts"]] for subnet in subnets
        ]
        return [ranks[0] for ranks in inside if ranks]


def throw_edges(dice: random.Random, most_bytes: int) -> Edges:
    """Bytes up to which each row of an operation's plan holds."""
    edges: dict[str, list[int]] = {}
    for operation in (*COLLECTIVES, *ALONG_EDGES):
        some = [edge for edge in dice.sample(EDGES, dice.randint(1, 3)) if edge < most_bytes]
        edges[operation] = sorted({*some, most_bytes if dice.random() < 0.8 else EDGES[-1]})
    return edges | {"barrier": [0]}


def edges_of_calls(edges: Edges) -> Edges:
    """By the names of calls."""
    return {**edges, **{call: edges[operation] for call, operation in OPERATION_OF.items()}}


def plan_text(dice: random.Random, layout: Layout, group: Sequence[int], edges: Edges) -> str:
    """A plan file for the communicator of these ranks; where dice find no recipe the call stays native."""
    hosts = [layout.hosts[rank] for rank in group]
    entries: list[dict[str, Any]] = []
    for operation, sizes in edges.items():
        if operation in ALONG_EDGES:
            rows = [_row(size, f"{operation}/{dice.choice(ALONG_EDGES[operation])}") for size in sizes]
            entries.append({"collective": operation, "root_subnet": 0, "rows": rows})
            continue
        for subnet, root in enumerate(layout.roots(group) if operation in ROOTED else [0]):
            rows = []
            for size in sizes:
                throw = functools.partial(_core.recipe_by_dice, layout.network, hosts, operation, size, root)
                recipe = throw(dice.getrandbits(60)) if dice.random() < 0.95 else None
                row = _row(size, recipe)
                if recipe and operation in COMBINING and dice.random() < 0.7:
                    in_order = throw(dice.getrandbits(60), commutative=False)
                    row |= {"in_order": in_order} if in_order else {}
                rows.append(row)
            entries.append({"collective": operation, "root_subnet": subnet, "rows": rows})
    schema, version = SCHEMA
    document = {"schema": schema, "version": version, "network": "", "library": "", "host_of_rank": hosts}
    return json.dumps({**document, "entries": entries})


def _row(size: int, recipe: str | None) -> dict[str, Any]:
    return {
        "up_to_bytes": size, "recipe": recipe, "predicted_s": 0.0, "measured_s": 0.0, "native_s": 0.0,
        "reason": "by dice",
    }  # fmt: skip


def plans_for(
    dice: random.Random, layout: Layout, groups: Sequence[Sequence[int]], edges: Edges, most: int
) -> list[str]:
    """One plan for each different row of hosts, for at most so many of them."""
    done: dict[tuple[int, ...], str] = {}
    for group in groups:
        hosts = tuple(layout.hosts[rank] for rank in group)
        if len(group) > 1 and hosts not in done and len(done) < most:
            done[hosts] = plan_text(dice, layout, group, edges)
    return list(done.values())
