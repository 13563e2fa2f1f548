"""What no algorithm can beat on a platform of one rank a host: latency, and bytes through links, media and processors.

    bound_s(Platform(path).network(), "allgather", 65536)        # 64 KiB from every rank

eco/lab/bounds.py does the same for ethernet with frames and any tree; here a flow takes its whole route at once,
after the route's latency. Bytes are the message's (broadcast, allreduce), one contribution's (allgather), one pair's
(alltoall).
"""

import heapq
import math
from typing import Any

Network = dict[str, Any]


def _told_all_s(n_ranks: int, latency_s: float, send_s: float, receive_s: float) -> float:
    """The least in which one rank's word reaches all: whoever knows it tells another one after each send's time (Karp
    et al. 1993), with every pair as near as the nearest."""
    if n_ranks < 2:
        return 0.0
    ready = [0.0]
    last = 0.0
    for _ in range(n_ranks - 1):
        sender = heapq.heappop(ready)
        last = sender + send_s + latency_s + receive_s
        heapq.heappush(ready, sender + send_s)
        heapq.heappush(ready, last)
    return last


class _Bounds:
    def __init__(self, network: Network, operation: str, n_bytes: int) -> None:
        self.subnets = network["subnets"]
        self.sizes = [len(subnet["hosts"]) for subnet in self.subnets]
        self.n_ranks = sum(self.sizes)
        self.uplink = {uplink["subnet"]: uplink["bytes_per_s"] for uplink in network["uplinks"]}
        self.operation = operation
        self.n = n_bytes
        overheads = network["overheads"]
        self.send_s, self.receive_s = overheads["send_s"], overheads["receive_s"]
        self.combine = overheads["combine_bytes_per_s"]
        self.latency: dict[tuple[int, int], float] = {}
        for s, subnet in enumerate(self.subnets):
            if self.sizes[s] > 1:
                self.latency[s, s] = subnet["latency_s"]
        for pair in network["between"]:
            self.latency[pair["from"], pair["to"]] = self.latency[pair["to"], pair["from"]] = pair[
                "latency_s"
            ]

    def _nearest_s(self, s: int, outside: bool) -> float:
        """From or to the subnet's nearest rank, in another subnet or in any."""
        return min(way_s for (a, b), way_s in self.latency.items() if a == s and (not outside or b != s))

    def latency_s(self) -> float:
        one_message_s = self.send_s + self.receive_s
        ways = [way_s for (a, _), way_s in self.latency.items() if self.operation != "broadcast" or a == 0]
        told_s = _told_all_s(self.n_ranks, min(self.latency.values()), self.send_s, self.receive_s)
        return float(max(one_message_s + max(ways), told_s))

    def through_ports(self, s: int) -> tuple[float, float]:
        """Bytes into and out of one host of the subnet; of the broadcast's root only out, of the others only in."""
        others = self.n_ranks - 1
        return {
            "broadcast": (self.n, self.n),
            "allreduce": (self.n, self.n),
            "allgather": (others * self.n, self.n),
            "alltoall": (others * self.n, others * self.n),
        }[self.operation]

    def through_uplink(self, s: int) -> tuple[float, float]:
        """Into and out of the subnet."""
        mine, others = self.sizes[s], self.n_ranks - self.sizes[s]
        return {
            "broadcast": (0 if s == 0 else self.n, self.n if s == 0 else 0),
            "allreduce": (self.n, self.n),
            "allgather": (others * self.n, mine * self.n),
            "alltoall": (mine * others * self.n, mine * others * self.n),
        }[self.operation]

    def over_bus(self, s: int) -> float:
        """All that a medium carries: what its hosts must hear, and what must leave it."""
        k = self.sizes[s]
        into, out = self.through_uplink(s) if len(self.sizes) > 1 else (0, 0)
        return {
            "broadcast": (k if s != 0 else k - 1) * self.n + out,
            # Everybody's word reaches everybody, the rest of the network being one more (Harary and Schwenk 1974).
            "allreduce": 2 * (k if len(self.sizes) > 1 else k - 1) * self.n,
            "allgather": k * (self.n_ranks - 1) * self.n + out,
            "alltoall": k * (k - 1) * self.n + into + out,
        }[self.operation]

    def seconds(self) -> float:
        found = [self.latency_s()]
        for s, subnet in enumerate(self.subnets):
            ports = max(self.through_ports(s))
            found.append(self._nearest_s(s, False) + ports / subnet["bytes_per_s"])
            if s in self.uplink:
                found.append(self._nearest_s(s, True) + max(self.through_uplink(s)) / self.uplink[s])
            if subnet["kind"] == "bus":
                found.append(self._nearest_s(s, False) + self.over_bus(s) / subnet["bytes_per_s"])
        if self.operation == "allreduce":
            # K parties, hosts or subnets, exchange 2 (K - 1) n through what they have together.
            for rates in (
                list(self.uplink.values()),
                [s["bytes_per_s"] for s in self.subnets for _ in s["hosts"]],
            ):
                if len(rates) > 1:
                    together = 2 * (len(rates) - 1) * self.n / sum(rates)
                    found.append(min(self.latency.values()) + together)
            found.append((self.n_ranks - 1) / self.n_ranks * self.n / self.combine)
        return max(found)


def bound_s(network: Network, operation: str, n_bytes: int) -> float:
    seconds = _Bounds(network, operation, n_bytes).seconds()
    assert math.isfinite(seconds)
    return seconds
