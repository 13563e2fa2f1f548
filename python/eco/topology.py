"""A program's topology on a network: which rank is to play which node, and files that tell launchers so.

topology = grid("4x5", periodic=True)
choice = choose(network_text, host_of_rank, topology, sizes=())
text = openmpi_rankfile(host_names_of_ranks)

The C++ core decides (eco/map), as it does for MPI_Cart_create under ECO.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eco import _core
from eco.errors import CorruptFile, InvalidArgument
from eco.report.records import read_text

#: Beyond this a number in a graph file is no rank that anybody starts.
MOST_NODES = 1 << 20


@dataclass(frozen=True)
class Grid:
    """Nodes row by row, as MPI numbers them."""

    dims: tuple[int, ...]
    periodic: bool

    @property
    def n_nodes(self) -> int:
        n = 1
        for extent in self.dims:
            n *= extent
        return n

    def title(self) -> str:
        if len(self.dims) == 1:
            return f"a {'ring' if self.periodic else 'line'} of {self.dims[0]}"
        return f"a {'torus' if self.periodic else 'grid'} of {'x'.join(map(str, self.dims))}"


@dataclass(frozen=True)
class Graph:
    """Messages (from, to, weight); as many nodes as the largest number in them says, or more."""

    n_nodes: int
    messages: tuple[tuple[int, int, float], ...]
    name: str

    def title(self) -> str:
        return f"{self.name}: {self.n_nodes} nodes, {len(self.messages)} message{'s' * (len(self.messages) != 1)}"


@dataclass(frozen=True)
class Candidate:
    """What a strategy proposes; seconds by size."""

    strategy: str
    predicted_s: tuple[float, ...]
    rank_of_node: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """The identity is the first candidate."""

    sizes: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    chosen: int

    @property
    def best(self) -> Candidate:
        return self.candidates[self.chosen]

    @property
    def unordered(self) -> Candidate:
        return self.candidates[0]


def grid(text: str, periodic: bool, option: str = "--grid") -> Grid:
    """From "4x5". Raises InvalidArgument."""
    try:
        dims = tuple(int(word) for word in text.split("x"))
    except ValueError:
        dims = ()
    if not dims or any(extent < 1 for extent in dims):
        raise InvalidArgument(f"{option} {text!r}: write the nodes of each dimension, like 4x5")
    made = Grid(dims, periodic)
    if made.n_nodes > MOST_NODES:
        raise InvalidArgument(f"{option} {text!r}: more than {MOST_NODES} nodes")
    return made


def hypercube(n_ranks: int) -> Grid:
    """Of all ranks. Raises InvalidArgument unless they are a power of two."""
    if n_ranks < 2 or n_ranks & (n_ranks - 1):
        raise InvalidArgument(f"--hypercube with {n_ranks} ranks: give a power of two with --ranks")
    return Grid((2,) * (n_ranks.bit_length() - 1), periodic=False)


def read_graph(path: Path) -> Graph:
    """A line for each message, "from to" or "from to weight"; # begins a comment. Raises InvalidArgument."""
    try:
        lines = read_text(path).splitlines()
    except CorruptFile as error:
        raise InvalidArgument(f"cannot read graph file {error}") from error
    messages: list[tuple[int, int, float]] = []
    for number, line in enumerate(lines, start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            ends, weight = [int(word) for word in words[:2]], float(words[2] if len(words) == 3 else 1)
        except ValueError:
            ends, weight = [], 0.0
        if len(ends) != 2 or len(words) > 3 or not all(0 <= end < MOST_NODES for end in ends):
            raise InvalidArgument(
                f"{path}:{number}: {line.strip()!r}: write FROM TO or FROM TO WEIGHT, nodes from 0 on"
            )
        if not 0 <= weight < float("inf"):
            raise InvalidArgument(f"{path}:{number}: weight {words[2]}: write a number from 0 on")
        messages.append((ends[0], ends[1], weight))
    if not messages:
        raise InvalidArgument(f"graph file {path}: no messages in it; write FROM TO lines")
    return Graph(1 + max(max(a, b) for a, b, _ in messages), tuple(messages), path.name)


def choose(
    network: str, host_of_rank: Sequence[int], topology: Grid | Graph, sizes: Sequence[int] = ()
) -> Choice:
    """Predicted on the network file's text. Raises InvalidArgument where there are more nodes than ranks."""
    hosts = list(host_of_rank)
    if topology.n_nodes > len(hosts):
        raise InvalidArgument(
            f"{topology.title()} on {len(hosts)} ranks; give --ranks {topology.n_nodes} or more"
        )
    if isinstance(topology, Grid):
        periodic = [topology.periodic] * len(topology.dims)
        text = _core.map_grid(network, hosts, list(topology.dims), periodic, list(sizes))
    else:
        text = _core.map_graph(network, hosts, topology.n_nodes, list(topology.messages), list(sizes))
    data = json.loads(text)
    candidates = tuple(
        Candidate(each["strategy"], tuple(each["predicted_s"]), tuple(each["rank_of_node"]))
        for each in data["candidates"]
    )
    return Choice(tuple(data["sizes"]), candidates, data["chosen"])


def openmpi_rankfile(hosts: Sequence[str]) -> str:
    """For `mpirun --map-by rankfile:file=FILE`: the k-th rank on a host takes its k-th slot."""
    taken: Counter[str] = Counter()
    lines = []
    for rank, host in enumerate(hosts):
        lines.append(f"rank {rank}={host} slot={taken[host]}\n")
        taken[host] += 1
    return "".join(lines)


def hydra_machinefile(hosts: Sequence[str]) -> str:
    """For `mpiexec -f FILE` of MPICH, and `mpirun --hostfile FILE --map-by seq` of Open MPI takes its first column:
    a line for each rank, in their order; neighbours on one host share one."""
    lines: list[tuple[str, int]] = []
    for host in hosts:
        if lines and lines[-1][0] == host:
            lines[-1] = (host, lines[-1][1] + 1)
        else:
            lines.append((host, 1))
    return "".join(f"{host}:{n}\n" for host, n in lines)
