"""The description as servers and paths: what every packet has to pass, in order.

    Fabric(description).path("h1", "h5")      -> hops [h1.up, a>router, router>b, h5.down]

A server serialises each packet at its rate, then delays it. The relay runs these servers, bounds and checks
are computed from them: there is one place where a description gets its meaning.

- A host on a switch has two servers, `HOST.up` and `HOST.down`, at the segment's rate.
- A bus is one server for all its stations, in both directions; a joint on it is a station too.
- A joint's port is one server per direction, `SEGMENT>JOINT` and `JOINT>SEGMENT`; on a bus only if the port
  has a rate or delay of its own, since there the bus does the serialising.
"""

from __future__ import annotations

import dataclasses
from collections import deque

from eco.errors import InvalidArgument
from eco.lab.description import Description, Segment


@dataclasses.dataclass(frozen=True)
class Server:
    """One thing that carries one packet at a time. `rate_bit` 0 means that it only delays."""

    name: str
    rate_bit: float
    delay_s: float
    stations: tuple[str, ...] = ()  # of a bus; a plain FIFO has none

    @property
    def is_bus(self) -> bool:
        """Whether several stations share it, half duplex."""
        return bool(self.stations)


@dataclasses.dataclass(frozen=True)
class Hop:
    """A server on a path, and on a bus whose turn it uses."""

    server: int
    station: int = 0


@dataclasses.dataclass(frozen=True)
class Nic:
    """One host's interface on one rail."""

    host: str
    rail: int
    interface: str  # inside the host
    peer: str  # the other end, in the lab's own namespace
    ip: str
    mac: str


class Fabric:
    """Servers, NICs and paths of a description. Raises InvalidArgument if a rail is no tree."""

    def __init__(self, description: Description, source: str | None = None) -> None:
        self.description = description
        self._source = source or description.name
        self.servers: list[Server] = []
        self._index: dict[str, int] = {}
        self._paths: dict[tuple[str, str, int], list[Hop] | None] = {}
        self._segments: dict[str, Segment] = {s.name: s for s in description.segments}
        self._neighbours: dict[str, list[str]] = {s.name: [] for s in description.segments}
        self._neighbours.update({j.name: [] for j in description.joints})
        self._add_host_servers()
        self._add_joint_servers()
        self._check_trees()
        self.nics = self._make_nics()

    def server(self, name: str) -> Server:
        """The server of that name."""
        return self.servers[self._index[name]]

    def has_server(self, name: str) -> bool:
        """Whether there is a server of that name."""
        return name in self._index

    def neighbours(self, node: str) -> list[str]:
        """Segments and joints linked to a segment or joint."""
        return list(self._neighbours[node])

    def nodes_between(self, first: str, last: str) -> list[str] | None:
        """Segments and joints from one to the other, both included."""
        came_from: dict[str, str | None] = {first: None}
        queue = deque([first])
        while queue:
            node = queue.popleft()
            if node == last:
                nodes = [node]
                while (previous := came_from[nodes[-1]]) is not None:
                    nodes.append(previous)
                return nodes[::-1]
            for n in self._neighbours[node]:
                if n not in came_from:
                    came_from[n] = node
                    queue.append(n)
        return None

    def path(self, source: str, target: str, rail: int = 0) -> list[Hop] | None:
        """The hops from host to host over one rail; None where one of them has no NIC there."""
        key = (source, target, rail)
        if key not in self._paths:
            self._paths[key] = self._find_path(source, target, rail)
        return self._paths[key]

    def _find_path(self, source: str, target: str, rail: int) -> list[Hop] | None:
        a = self.description.segment_of(source, rail)
        b = self.description.segment_of(target, rail)
        if a is None or b is None or source == target:
            return None
        nodes = self.nodes_between(a.name, b.name)
        if nodes is None:
            return None
        hops: list[Hop] = []
        entered_by = source
        for k, node in enumerate(nodes):
            segment = self._segments.get(node)
            if segment is not None and segment.kind == "bus":
                index = self._index[node]
                hops.append(Hop(index, self.servers[index].stations.index(entered_by)))
            elif node == a.name:
                hops.append(Hop(self._index[self._nic_server(source, rail, "up")]))
            if k + 1 < len(nodes):
                link = f"{node}>{nodes[k + 1]}"
                if link in self._index:
                    hops.append(Hop(self._index[link]))
            entered_by = node
        if b.kind == "switch":
            hops.append(Hop(self._index[self._nic_server(target, rail, "down")]))
        return hops

    def nic_rate_bit(self, host: str, rail: int) -> float:
        """The rate at which a host can send (and receive) on a rail; 0 without a NIC there."""
        segment = self.description.segment_of(host, rail)
        return 0.0 if segment is None else segment.rate_mbit * 1e6

    @staticmethod
    def _nic_server(host: str, rail: int, direction: str) -> str:
        return f"{host}.{direction}" if rail == 0 else f"{host}/{rail}.{direction}"

    def _add(self, server: Server) -> None:
        self._index[server.name] = len(self.servers)
        self.servers.append(server)

    def _add_host_servers(self) -> None:
        joints = self.description.joints
        for s in self.description.segments:
            rate = s.rate_mbit * 1e6
            if s.kind == "bus":
                stations = s.hosts + tuple(j.name for j in joints if any(p.to == s.name for p in j.ports))
                self._add(Server(s.name, rate, s.delay_us * 1e-6, stations))
                continue
            for h in s.hosts:
                self._add(Server(self._nic_server(h, s.rail, "up"), rate, s.delay_us * 1e-6))
                self._add(Server(self._nic_server(h, s.rail, "down"), rate, 0.0))

    def _add_joint_servers(self) -> None:
        for joint in self.description.joints:
            for port in joint.ports:
                if port.to in self._neighbours[joint.name]:
                    raise self._fail(f"joint {joint.name}", f"two links to {port.to}", "describe a link once")
                self._neighbours[joint.name].append(port.to)
                self._neighbours[port.to].append(joint.name)
                segment = self._segments.get(port.to)
                rate_mbit = port.rate_mbit
                if rate_mbit is None:
                    rate_mbit = segment.rate_mbit if segment is not None and segment.kind == "switch" else 0.0
                # Forwarding takes its time once per crossing: it is charged on the way in.
                inward = port.delay_ms + joint.delay_ms
                far_joint = next((j for j in self.description.joints if j.name == port.to), None)
                outward = port.delay_ms + (far_joint.delay_ms if far_joint is not None else 0.0)
                for name, delay_ms in (
                    (f"{port.to}>{joint.name}", inward),
                    (f"{joint.name}>{port.to}", outward),
                ):
                    if rate_mbit > 0 or delay_ms > 0:
                        self._add(Server(name, rate_mbit * 1e6, delay_ms * 1e-3))

    def _check_trees(self) -> None:
        for rail in range(self.description.n_rails):
            segments = [s.name for s in self.description.segments if s.rail == rail]
            reached = self._walk(segments[0], rail)
            lost = [s for s in segments if s not in reached]
            if lost:
                raise self._fail(
                    f"rail {rail}",
                    f"segments {', '.join(lost)} cannot be reached from {segments[0]}",
                    "join them by a [[joint]] with a port on each",
                )
        for joint in self.description.joints:
            if not any(self._walk(joint.name, None) & {s.name} for s in self.description.segments):
                raise self._fail(f"joint {joint.name}", "leads to no segment", "give it a port on one")

    def _walk(self, start: str, rail: int | None) -> set[str]:
        """All that hangs together with `start`; refuses loops and joints between rails."""
        seen = {start}
        stack: list[tuple[str, str | None]] = [(start, None)]
        while stack:
            node, parent = stack.pop()
            for n in self._neighbours[node]:
                if n == parent:
                    continue
                if n in seen:
                    raise self._fail(
                        f"joint {n}", f"a loop through {node}", "there must be one way between two hosts"
                    )
                segment = self._segments.get(n)
                if rail is not None and segment is not None and segment.rail != rail:
                    raise self._fail(
                        f"segment {n}", f"rail {segment.rail} is joined to rail {rail}", "keep rails apart"
                    )
                seen.add(n)
                stack.append((n, node))
        return seen

    def _fail(self, where: str, why: str, remedy: str) -> InvalidArgument:
        return InvalidArgument(f"{self._source}: {where}: {why}; {remedy}")

    def _make_nics(self) -> list[Nic]:
        nics = []
        for rail in range(self.description.n_rails):
            for i, host in enumerate(self.description.hosts):
                if self.description.segment_of(host, rail) is None:
                    continue
                nics.append(
                    Nic(
                        host=host,
                        rail=rail,
                        interface=f"eth{rail}",
                        peer=f"p{i}r{rail}",
                        ip=f"10.{77 + rail}.0.{i + 1}",
                        mac=f"02:ec:00:00:{rail:02x}:{i + 1:02x}",
                    )
                )
        return nics

    def relay_config(self) -> str:
        """The orders for eco-relay (lab/relay/config.h documents them)."""
        queue = self.description.queue_bytes
        lines = ["eco-relay 1"]
        for s in self.servers:
            kind = "bus" if s.is_bus else "fifo"
            lines.append(
                f"server {s.name} {kind} {s.rate_bit:.0f} {round(s.delay_s * 1e9)} {queue} {max(1, len(s.stations))}"
            )
        lines += [f"port {n.peer} {n.mac}" for n in self.nics]
        for i, a in enumerate(self.nics):
            for k, b in enumerate(self.nics):
                hops = self.path(a.host, b.host, a.rail) if a.rail == b.rail else None
                if hops:
                    words = (
                        f"{h.server}.{h.station}" if self.servers[h.server].is_bus else str(h.server)
                        for h in hops
                    )
                    lines.append(f"path {i} {k} {' '.join(words)}")
        port = {(n.host, n.rail): i for i, n in enumerate(self.nics)}
        for t in self.description.traffic:
            ends = f"{port[t.source, t.rail]} {port[t.target, t.rail]}"
            on_off = f"{round(t.on_ms * 1e6)} {round(t.off_ms * 1e6)}"
            lines.append(
                f"traffic {ends} {t.rate_mbit * 1e6:.0f} {t.packet_bytes} {t.kind} {on_off} {t.seed}"
            )
        return "\n".join(lines) + "\n"
