"""How fast a collective can possibly be on a described network: a lower bound that holds for any algorithm.

    bound_s(description, placement, "broadcast", 1 << 20).seconds        -> 0.2227... on three-subnets

A bound is the worst over all resources of

    (what must have happened before) + (bytes that must pass) / rate + (what must still happen after).

**Bytes on the wire.** TCP over ethernet carries at most 1448 bytes in a frame of 1514 (14 ethernet + 20 IP + 32 TCP
with timestamps + 1448), and rates count the bytes of frames, as token buckets and netem do. n bytes need at least
ceil(n / 1448) frames, hence n + 66 ceil(n / 1448) bytes: a factor of 1514 / 1448 = 1.0456 for large n.
MPI's own headers are left out.

**Acknowledgements** take time on a half-duplex bus, but how many a receiver sends is its own choice (a window's worth
of data may go unacknowledged), so none is certain and none is counted: a bound must hold.

**Which bytes.** Segments and joints form a tree. Each of its nodes splits the hosts into groups, one per branch,
and whatever goes from one group to another passes that node: in through the branch it comes from, out
through the one it goes to. A host with several ranks is one party: its ranks may share memory.
For a collective, two counts are needed: what must go from the ranks S on one side of a link to the ranks T on
the other (`_cut_bytes`), and what must be exchanged between K groups in all (`_exchanged_bytes`); each
function says why. A switch's or joint's branches carry the latter together, a bus carries it alone,
since a packet on a bus is heard by its destination only.

**Before and after.** The first byte reaches a resource no sooner than a smallest packet from the nearest rank that
may have it; the last leaves for the nearest rank that needs it. A packet with any content has 67 wire bytes.

**Rails.** Data may be split over rails as an algorithm likes. A cut's capacity is that of the cut on the rail looked
at, plus all that the NICs of the smaller side can do on the others.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import lru_cache

from eco.collectives import COLLECTIVES as COLLECTIVES
from eco.errors import InvalidArgument
from eco.lab.description import Description
from eco.lab.fabric import Fabric, Hop
from eco.lab.placement import place

PAYLOAD_BYTES = 1448  # of a full frame: MTU 1500 less 20 (IP) and 32 (TCP with timestamps)
OVERHEAD_BYTES = 66  # 14 (ethernet) + 20 + 32
SMALLEST_BYTES = OVERHEAD_BYTES + 1


@dataclasses.dataclass(frozen=True)
class Bound:
    """No algorithm takes less than `seconds`; `binding_resource` is why."""

    seconds: float
    binding_resource: str
    explanation: str


def wire_bytes(payload: float) -> float:
    """The least that `payload` bytes to one destination cost on every link they cross."""
    return payload + OVERHEAD_BYTES * math.ceil(payload / PAYLOAD_BYTES)


def bound_s(
    description: Description,
    placement: str | Sequence[str],
    collective: str,
    total_bytes: int,
    n_ranks: int | None = None,
    root: int = 0,
) -> Bound:
    """The bound for one collective; `placement` is a name (`block`, ...) or the host of every rank.

    `total_bytes`: broadcast, reduce, allreduce, scan and exscan the buffer; scatter and gather the root's buffer;
    allgather the total result; reduce_scatter one rank's input; alltoall one rank's send buffer; barrier ignores it.
    """
    hosts = place(description, placement, n_ranks) if isinstance(placement, str) else tuple(placement)
    if collective not in COLLECTIVES:
        raise InvalidArgument(f"bound: no collective {collective!r}; choose one of {', '.join(COLLECTIVES)}")
    if n_ranks is not None:
        hosts = hosts[:n_ranks]
    if not 0 <= root < len(hosts):
        raise InvalidArgument(f"bound: root {root} of {len(hosts)} ranks; choose 0 to {len(hosts) - 1}")
    if total_bytes < 0:
        raise InvalidArgument(f"bound: {total_bytes} bytes; give 0 or more")
    return _Bounds(_fabric(description), hosts, _Problem(collective, total_bytes, len(hosts), root)).worst()


@lru_cache(maxsize=16)
def _fabric(description: Description) -> Fabric:
    return Fabric(description)


@dataclasses.dataclass(frozen=True)
class _Problem:
    """The collective, as far as bytes across cuts depend on it."""

    collective: str
    n: int
    n_ranks: int
    root: int

    def needs(self, source: int, target: int) -> bool:
        """Whether rank `target`'s result depends on what rank `source` has before."""
        if source == target:
            return False
        if self.collective in ("broadcast", "scatter"):
            return source == self.root
        if self.collective in ("reduce", "gather"):
            return target == self.root
        if self.collective in ("scan", "exscan"):
            return source < target
        return True

    def cut_bytes(self, s: Sequence[int], t: Sequence[int]) -> float:
        """What must go from the ranks `s` to the ranks `t`, which are all the others.

        broadcast           n, if the root is in s: t has nothing of it otherwise.
        reduce              n, if the root is in t: its result depends on every element of s's combination.
        allreduce           n, for the same reason, in both directions of every cut.
        scan, exscan        n for every run of ranks in t that comes after a run in s: what s has made together up
                            to there is a new combination of its elements each time, and t knows none of them.
        allgather           n |s|/P: the blocks that start in s.
        reduce_scatter      n |t|/P: the elements that end in t each depend on s's contribution.
        alltoall            (n/P) |s| |t|: one block from each to each.
        scatter, gather     n |t|/P from the root's side, n |s|/P to it.
        barrier             nothing but word of it: one byte.
        """
        if not any(self.needs(a, b) for a in s for b in t):
            return 0.0
        if self.collective == "barrier":
            return 1.0
        part = self.n / self.n_ranks
        if self.collective in ("allgather", "gather"):
            return part * len(s)
        if self.collective in ("reduce_scatter", "reduce_scatter_block", "scatter"):
            return part * len(t)
        if self.collective == "alltoall":
            return part * len(s) * len(t)
        if self.collective in ("scan", "exscan"):
            inside = set(t)
            return float(self.n * sum(r in inside and r - 1 not in inside for r in range(1, self.n_ranks)))
        return float(self.n)

    def exchanged_bytes(self, groups: Sequence[Sequence[int]]) -> float:
        """What must go from group to group in all, for K groups with ranks in them.

        allreduce       2 (K-1) n. For one element this is one-way gossip, where everybody's word must reach
                        everybody: no way has fewer than 2K - 2 messages (Harary and Schwenk 1974).
        reduce_scatter  (K-1) n: for each element, every group but the one that keeps it must send once.
        others          what the groups must receive, or what they must send, whichever is more; a group's
                        share is its cut against all the others.
        """
        if len(groups) < 2:
            return 0.0
        if self.collective == "allreduce":
            return 2.0 * (len(groups) - 1) * self.n
        if self.collective in ("reduce_scatter", "reduce_scatter_block"):
            return float((len(groups) - 1) * self.n)
        everyone = [r for g in groups for r in g]
        received = sent = 0.0
        for group in groups:
            mine = set(group)
            others = [r for r in everyone if r not in mine]
            received += self.cut_bytes(others, group)
            sent += self.cut_bytes(group, others)
        return max(received, sent)


class _Bounds:
    """All bounds of one problem on one network; `worst` picks."""

    def __init__(self, fabric: Fabric, hosts: tuple[str, ...], problem: _Problem) -> None:
        self.fabric = fabric
        self.description = fabric.description
        self.hosts = hosts
        self.problem = problem

    def worst(self) -> Bound:
        """The largest lower bound is the lower bound."""
        best = Bound(0.0, "nothing", "all ranks are on one host, which needs no network")
        if len(set(self.hosts)) < 2:
            return best
        for candidate in (self._latency(), *self._nodes()):
            if candidate is not None and candidate.seconds > best.seconds:
                best = candidate
        return best

    def _latency(self) -> Bound | None:
        worst: tuple[float, int, int] = (0.0, 0, 0)
        for a in range(len(self.hosts)):
            for b in range(len(self.hosts)):
                if self.hosts[a] != self.hosts[b] and self.problem.needs(a, b):
                    worst = max(worst, (self._fastest_packet(self.hosts[a], self.hosts[b]), a, b))
        if worst[0] == 0.0:
            return None
        where = f"{self.hosts[worst[1]]} to {self.hosts[worst[2]]}"
        return Bound(worst[0], f"latency {where}", f"a smallest packet from {where} takes {_ms(worst[0])}")

    def _fastest_packet(self, source: str, target: str) -> float:
        times = [
            self._packet_s(hops)
            for rail in range(self.description.n_rails)
            if (hops := self.fabric.path(source, target, rail)) is not None
        ]
        return min(times, default=0.0)

    def _packet_s(self, hops: Sequence[Hop]) -> float:
        servers = [self.fabric.servers[h.server] for h in hops]
        return sum(s.delay_s + (SMALLEST_BYTES * 8 / s.rate_bit if s.rate_bit else 0.0) for s in servers)

    def _nodes(self) -> list[Bound]:
        found: list[Bound | None] = []
        nodes = [(s.name, s.rail) for s in self.description.segments]
        nodes += [(j.name, self._rail_of_joint(j.name)) for j in self.description.joints]
        for node, rail in nodes:
            branches = self._branches(node, rail)
            groups = {
                b: g for b in branches if (g := [r for r, h in enumerate(self.hosts) if h in branches[b]])
            }
            stranded = [r for r, h in enumerate(self.hosts) if all(h not in b for b in branches.values())]
            if stranded or len(groups) < 2:  # hosts without a NIC on this rail: its cuts do not separate them
                continue
            bus = node in {s.name for s in self.description.segments if s.kind == "bus"}
            if bus:
                found.append(self._shared(node, rail, groups))
            else:
                found.append(self._together(node, rail, groups, "in"))
                found.append(self._together(node, rail, groups, "out"))
            for branch, group in groups.items():
                others = [r for r in range(len(self.hosts)) if r not in set(group)]
                for s, t, inward in ((group, others, True), (others, group, False)):
                    found.append(self._cut(node, branch, rail, s, t, inward))
        return [b for b in found if b is not None]

    def _rail_of_joint(self, name: str) -> int:
        for s in self.description.segments:
            if self.fabric.nodes_between(name, s.name) is not None:
                return s.rail
        return 0

    def _branches(self, node: str, rail: int) -> dict[str, set[str]]:
        """The hosts behind each neighbour of a node, a host on it being its own neighbour."""
        branches: dict[str, set[str]] = {}
        for host in self.description.hosts:
            segment = self.description.segment_of(host, rail)
            if segment is None:
                continue
            way = self.fabric.nodes_between(node, segment.name)
            if way is not None:
                branches.setdefault(host if len(way) == 1 else way[1], set()).add(host)
        return branches

    def _link(self, node: str, branch: str, inward: bool, rail: int) -> str | None:
        """The server from a branch into a node, or back; None where nothing serialises (a bus's station)."""
        if branch in self.description.hosts:
            end = branch if rail == 0 else f"{branch}/{rail}"
            name = f"{end}.{'up' if inward else 'down'}"
        else:
            name = f"{branch}>{node}" if inward else f"{node}>{branch}"
        return name if self.fabric.has_server(name) else None

    def _cut(
        self, node: str, branch: str, rail: int, s: Sequence[int], t: Sequence[int], inward: bool
    ) -> Bound | None:
        name = self._link(node, branch, inward, rail)
        rate = self.fabric.server(name).rate_bit if name is not None else 0.0
        n = self.problem.cut_bytes(s, t)
        if name is None or rate == 0.0 or n == 0.0:
            return None
        return self._bound(name, n, rate + self._other_rails(s, t, rail), {name}, [(s, t)], rail)

    def _together(self, node: str, rail: int, groups: dict[str, list[int]], direction: str) -> Bound | None:
        names = [self._link(node, b, direction == "in", rail) for b in groups]
        rates = [self.fabric.server(n).rate_bit if n is not None else 0.0 for n in names]
        n = self.problem.exchanged_bytes(list(groups.values()))
        if n == 0.0 or 0.0 in rates:  # a branch with no rate of its own (a bus behind it) limits nothing here
            return None
        what = f"all links {'into' if direction == 'in' else 'out of'} {node}"
        capacity = sum(rates) + self._other_rails_in_all(rail)
        return self._bound(what, n, capacity, {x for x in names if x}, self._ways(groups), rail)

    def _shared(self, node: str, rail: int, groups: dict[str, list[int]]) -> Bound | None:
        n = self.problem.exchanged_bytes(list(groups.values()))
        if n == 0.0:
            return None
        capacity = self.fabric.server(node).rate_bit + self._other_rails_in_all(rail)
        return self._bound(f"bus {node}", n, capacity, {node}, self._ways(groups), rail)

    def _ways(self, groups: dict[str, list[int]]) -> list[tuple[Sequence[int], Sequence[int]]]:
        everyone = [r for g in groups.values() for r in g]
        return [(g, [r for r in everyone if r not in set(g)]) for g in groups.values()]

    def _bound(
        self,
        what: str,
        n: float,
        capacity: float,
        servers: set[str],
        ways: list[tuple[Sequence[int], Sequence[int]]],
        rail: int,
    ) -> Bound:
        wire = wire_bytes(n)
        sending = wire * 8 / capacity
        # With several rails the first and last packet may take another one than the resource looked at.
        before, after = self._around(servers, ways, rail) if self.description.n_rails == 1 else (0.0, 0.0)
        seconds = before + sending + after
        around = f", and {_ms(before + after)} before and after" if before + after > 0 else ""
        return Bound(
            seconds,
            what,
            f"{n:.0f} bytes ({wire:.0f} on the wire) through {what} at {capacity / 1e6:g} Mbit/s: "
            f"{_ms(sending)}{around}",
        )

    def _around(
        self, servers: set[str], ways: list[tuple[Sequence[int], Sequence[int]]], rail: int
    ) -> tuple[float, float]:
        """The least time before the first packet can reach these servers, and after the last has left them."""
        before = after = math.inf
        for s, t in ways:
            for a in s:
                for b in t:
                    if self.hosts[a] == self.hosts[b]:
                        continue
                    hops = self.fabric.path(self.hosts[a], self.hosts[b], rail) or []
                    at = [i for i, h in enumerate(hops) if self.fabric.servers[h.server].name in servers]
                    if not at:
                        continue
                    # Only ranks that had something to begin with can be first; only those that lack it last.
                    if any(self.problem.needs(a, x) for x in range(len(self.hosts))):
                        before = min(before, self._packet_s(hops[: at[0]]))
                    if any(self.problem.needs(x, b) for x in range(len(self.hosts))):
                        here = self.fabric.servers[hops[at[-1]].server].delay_s
                        after = min(after, here + self._packet_s(hops[at[-1] + 1 :]))
        return (0.0 if math.isinf(before) else before, 0.0 if math.isinf(after) else after)

    def _other_rails(self, s: Sequence[int], t: Sequence[int], rail: int) -> float:
        total = 0.0
        for other in range(self.description.n_rails):
            if other != rail:
                sides = [
                    sum(self.fabric.nic_rate_bit(h, other) for h in {self.hosts[r] for r in x})
                    for x in (s, t)
                ]
                total += min(sides)
        return total

    def _other_rails_in_all(self, rail: int) -> float:
        hosts = set(self.hosts)
        return sum(
            self.fabric.nic_rate_bit(h, other)
            for other in range(self.description.n_rails)
            if other != rail
            for h in hosts
        )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"
