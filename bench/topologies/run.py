"""Exchanges with neighbours through a communicator with a topology, by the library and with ECO under it: through one
that may be reordered, and by neighbourhood collectives.

    python bench/topologies/run.py [--json F.json] [--library openmpi,mpich] [--launches 3] [--only ring]

Brings up emulated networks. Stock and ECO launches of exchange.c alternate; of each launch the median call counts, the
ratio is the median over pairs, as in docs/benchmarking.md. The network is measured before the first launch. `bound` is
what the emulated links need to carry one message along each edge for the order that was used, headers included: no
exchange in that order is faster, but for an allgather whose blocks do not cross for each edge.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from eco import jobs, stats
from eco.characterize import characterize_place
from eco.collectives import COLLECTIVES
from eco.lab import Lab, load
from eco.lab.bounds import wire_bytes
from eco.lab.fabric import Fabric
from eco.provenance import provenance
from eco.report.records import seconds_text, size_text, write_json

sys.path.insert(0, str(Path(__file__).parents[1]))
from compiled import compiled

SOURCE = Path(__file__).with_name("exchange.c")
MODES = ("stock", "eco")
TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Exchange:
    """One topology on one network, ranks shuffled."""

    name: str
    network: str
    dims: tuple[int, ...]
    edges: str  # closed, open: of a grid; dense: all nodes but one, see exchange.c
    bytes: int
    placement: str = "shuffled:1"
    how: str = "sends"  # or by a neighbourhood collective, the ranks left in order

    def words(self) -> list[str]:
        return ["x".join(map(str, self.dims)), self.edges, self.how, str(self.bytes)]

    def settings(self) -> dict[str, str]:
        """Nothing but what is compared differs: the order of the ranks, or what the calls are made of."""
        # One of the whole job's; others are armed when that has paid.
        by_calls = {
            "ECO_DISABLE": "topology," + ",".join(COLLECTIVES),
            "ECO_ARM_AFTER": "0",
            "ECO_BUDGET": "30",
        }
        return {"ECO_DISABLE": ",".join(COLLECTIVES)} if self.how == "sends" else by_calls

    def messages(self) -> list[tuple[int, int]]:
        """From node to node, edge by edge."""
        found: list[tuple[int, int]] = []
        n = 1
        for extent in self.dims:
            n *= extent
        if self.edges == "dense":
            return [(a, b) for a in range(n) for b in range(n) if b not in (a, (a + 1 + a * 5 % (n - 1)) % n)]
        stride = n
        for extent in self.dims:
            stride //= extent
            for node in range(n):
                at = node // stride % extent
                for to in (at - 1, at + 1):
                    if self.edges == "closed" or 0 <= to < extent:
                        found.append((node, node + (to % extent - at) * stride))
        return [(a, b) for a, b in found if a != b]


EXCHANGES = (
    Exchange("ring", "dome-20", (20,), "closed", 64 << 10),
    Exchange("halo", "three-subnets", (2, 4), "open", 64 << 10),
    Exchange("halo", "three-subnets", (2, 4), "open", 1 << 20),
    Exchange("dense", "three-subnets", (8,), "dense", 64 << 10, how="allgather"),
    Exchange("dense", "three-subnets", (8,), "dense", 256, how="alltoall"),
    Exchange("collective halo", "three-subnets", (2, 4), "open", 64 << 10, how="allgather"),
    Exchange("collective halo", "three-subnets", (2, 4), "open", 256, how="alltoall"),
)


def bound_s(fabric: Fabric, hosts: Sequence[str], exchange: Exchange) -> float:
    """The busiest server of the emulated network, or the longest way of a message alone.

    What a node tells all of its neighbours alike need not pass anything twice.
    """
    carried: set[tuple[int, int]] = set()
    busy_s: dict[int, float] = defaultdict(float)
    longest_s = 0.0
    for source, target in exchange.messages():
        hops = fabric.path(hosts[source], hosts[target])
        if hops is None:  # on one host
            continue
        servers = [fabric.servers[hop.server] for hop in hops]
        way_s = sum(server.delay_s for server in servers)
        for hop, server in zip(hops, servers, strict=True):
            again = exchange.how == "allgather" and (source, hop.server) in carried
            carried.add((source, hop.server))
            if server.rate_bit and not again:
                busy_s[hop.server] += wire_bytes(exchange.bytes) * 8 / server.rate_bit
        slowest = min((server.rate_bit for server in servers if server.rate_bit), default=0.0)
        if slowest:
            way_s += wire_bytes(exchange.bytes) * 8 / slowest
        longest_s = max(longest_s, way_s)
    return max([longest_s, *busy_s.values()])


def one_launch(
    place: jobs.LabPlace, program: Path, exchange: Exchange, calls: int, mode: str
) -> dict[str, Any]:
    with jobs.scratch("topologies") as folder:
        out, report = folder / "out.json", folder / "report.json"
        words = [str(program), *exchange.words(), str(calls), str(out)]
        settings = {"ECO_QUIET": "1", "ECO_REPORT": str(report), **exchange.settings()}
        command = place.stock(words) if mode == "stock" else place.with_eco(words, settings)
        ended = place.start(command, TIMEOUT_S)
        jobs.check(ended, f"{mode} launch of the exchange", "start it by hand to see more")
        told: dict[str, Any] = json.loads(out.read_text())
        if mode == "eco":
            counted = json.loads(report.read_text())
            told["topologies"], told["totals"] = counted["topologies"], counted["totals"]
    return told


def measured(lab: Lab, exchange: Exchange, options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """All launches of one exchange with the library that the lab has."""
    place = jobs.LabPlace(lab)
    program = compiled(lab.library, SOURCE, "-Wno-stringop-overread")
    characterize_place(place, None, None, TIMEOUT_S, None)
    launches: list[dict[str, Any]] = []
    for number in range(options.launches):
        for mode in MODES if number % 2 == 0 else MODES[::-1]:
            launches.append(
                {"mode": mode, "launch": number, **one_launch(place, program, exchange, options.calls, mode)}
            )
    fabric = Fabric(lab.description)
    seconds = {mode: [launch["seconds"] for launch in launches if launch["mode"] == mode] for mode in MODES}
    bounds = {
        mode: max(bound_s(fabric, launch["hosts"], exchange) for launch in launches if launch["mode"] == mode)
        for mode in MODES
    }
    ratio = stats.ratio_of_launches(seconds["stock"], seconds["eco"])
    medians = {mode: stats.median([stats.median(calls) for calls in seconds[mode]]) for mode in MODES}
    console.print(
        f"{exchange.name:15} {exchange.how:9} {exchange.words()[0]:>5} {size_text(exchange.bytes):>7} "
        f"{exchange.network:14} "
        f"{lab.library:8} stock {seconds_text(medians['stock'])} (bound {seconds_text(bounds['stock'])}), "
        f"ECO {seconds_text(medians['eco'])} (bound {seconds_text(bounds['eco'])}), "
        f"ratio {ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f}, {ratio.launches} launches)",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    return {
        **asdict(exchange), "library": lab.library, "stock_median_s": medians["stock"], "eco_median_s": medians["eco"],
        "stock_bound_s": bounds["stock"], "eco_bound_s": bounds["eco"], "ratio": ratio.to_dict(), "launches": launches,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--library", default="openmpi,mpich")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--only", default="", help="exchanges of this name")
    options = parser.parse_args()
    console = Console()
    records = []
    for exchange in EXCHANGES:
        if options.only and options.only != exchange.name:
            continue
        for library in options.library.split(","):
            with Lab(load(exchange.network), library=library, placement=exchange.placement) as lab:
                records.append(measured(lab, exchange, options, console))
            # After each, so that an interrupt keeps what there is.
            if options.json:
                document = {
                    "schema": "eco.bench.topologies",
                    "version": 1,
                    **provenance(),
                    "records": records,
                }
                write_json(options.json, document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
