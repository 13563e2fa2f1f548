"""The multirail paper's comparison: its ways of broadcasting as recipes, its formulas as functions, and their chart.

    here = paper_place("one cluster")                                # 32 nodes with two NICs of 1 Gbit/s
    WAYS["rail trees"].formula_s(here, 1 << 20)
    recipe, seconds = predicted(WAYS["rail trees"], here, 1 << 20)

Chiba, Endo and Matsuoka, "MPI Collective Operations Algorithm by using Multirails", 2007: Table 1 and section 6. In
it l is the latency of a hop, L that between clusters, b a node's rate over all its NICs, p the ranks. The
scan leaves open what l was on their machines. Pure: bench/rails.py measures.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eco import _core
from eco.lab.bounds import OVERHEAD_BYTES, PAYLOAD_BYTES
from eco.lab.description import Description
from eco.report.picture import PALETTE

KIB, MIB = 1 << 10, 1 << 20
PACKET_BYTES = PAYLOAD_BYTES + OVERHEAD_BYTES
#: Section 6: 16 kB to 64 MB; what is measured ends where the lab's rails would take minutes.
PREDICTED_SIZES = tuple(16 * KIB * 4**i for i in range(7))
#: The pipelines' units that are tried: runs of full packets, with room for a message's header.
SEGMENTS = (2_832, 4_272, 8_624, 15_872, 31_744, 64_512, 130_176)
#: Beyond that a finer pipeline gains nothing on paper, and costs the lab's machine and the predictor their time.
MOST_SEGMENTS = 520


@dataclass(frozen=True)
class Place:
    """A network as the formulas see it, and as ECO's predictor does."""

    clusters: int
    ranks: int  # in all
    n_rails: int
    rail_bytes_per_s: float  # payload, of one rail, and of the line between clusters on each rail
    latency_s: float  # l
    between_s: float = 0.0  # L

    def words(self) -> str:
        """The same for _core.synthetic_network."""
        rate_mbit = self.rail_bytes_per_s * 8e-6
        words = [
            "hosts=" + "+".join([str(self.ranks // self.clusters)] * self.clusters),
            f"rate_mbit={rate_mbit:.4f}",
            f"latency_us={self.latency_s * 1e6:.1f}",
        ]
        if self.n_rails > 1:
            words.append("rail_mbit=" + "+".join([f"{rate_mbit:.4f}"] * (self.n_rails - 1)))
        if self.clusters > 1:
            words += [f"uplink_mbit={rate_mbit:.4f}", f"between_us={self.between_s * 1e6:.1f}"]
        return " ".join(words)


def payload_bytes_per_s(rate_mbit: float) -> float:
    return rate_mbit * 1e6 / 8 * PAYLOAD_BYTES / PACKET_BYTES


def paper_place(name: str) -> Place:
    """Section 6: 32 nodes with two NICs of 1 Gbit/s, in one cluster, or in two 10 ms apart. l is our guess."""
    clusters, between_s = {"one cluster": (1, 0.0), "two clusters": (2, 10e-3)}[name]
    return Place(clusters, 32, 2, payload_bytes_per_s(1000), 50e-6, between_s)


def lab_place(description: Description) -> Place:
    """A lab whose rails are alike. A packet goes through two links in turn; the second of them is its latency."""
    rails = {s.rail for s in description.segments}
    first = [s for s in description.segments if s.rail == 0]
    rate_bytes = first[0].rate_mbit * 1e6 / 8
    delays_s = [p.delay_ms * 1e-3 for j in description.joints for p in j.ports]
    # Five links lead to another cluster's host: out, to the gate, along the line, from the gate, in.
    between_s = max(delays_s) + 4 * PACKET_BYTES / rate_bytes if delays_s else 0.0
    return Place(
        len(first), len(description.hosts), len(rails), payload_bytes_per_s(first[0].rate_mbit),
        PACKET_BYTES / rate_bytes, between_s,
    )  # fmt: skip


Formula = Callable[[Place, float, float], float]


def _log2(place: Place) -> int:
    return math.ceil(math.log2(place.ranks))


def multirail_s(place: Place, m: float, b: float) -> float:
    """log p l + M/b (Table 1); over clusters + L for each further one (section 6.2.2)."""
    return _log2(place) * place.latency_s + m / b + (place.clusters - 1) * place.between_s


def chain_s(place: Place, m: float, b: float) -> float:
    """(p - 1) l + M/b (Table 1); over clusters + L for each crossing (section 6.1)."""
    return (place.ranks - 1) * place.latency_s + m / b + (place.clusters - 1) * place.between_s


def binary_s(place: Place, m: float, b: float) -> float:
    """log p l + 2M/b (Table 1): who passes on does so twice. Over clusters + L + M/b: the root a third time (6.2.2)."""
    crossing_s = place.between_s + m / b
    return _log2(place) * place.latency_s + 2 * m / b + (place.clusters - 1) * crossing_s


def binomial_s(place: Place, m: float, b: float) -> float:
    """log p (l + M/b) (Table 1, section 4.1); over clusters + L, which the paper does not write down."""
    return _log2(place) * (place.latency_s + m / b) + (place.clusters - 1) * place.between_s


def van_de_geijn_s(place: Place, m: float, b: float) -> float:
    """2 log p l + 2 (p-1)/p M/b (section 4.2): M/2b + M/4b + ... to scatter, the same to gather.

    The paper's print has p/(p-1), which is not that sum. Of one cluster: between two the allgather's messages share a
    line, of which Table 1 knows nothing.
    """
    if place.clusters > 1:
        return math.nan
    return 2 * _log2(place) * place.latency_s + 2 * (place.ranks - 1) / place.ranks * m / b


def two_tree_s(place: Place, m: float, b: float) -> float:
    """2 log p l + M/b, of Sanders, Speck and Traeff (2009); of one cluster."""
    if place.clusters > 1:
        return math.nan
    return 2 * _log2(place) * place.latency_s + m / b


@dataclass(frozen=True)
class Way:
    """One way to broadcast: ECO's recipe, and the paper's formula for it."""

    recipe: str  # with {segment} where it is a pipeline
    formula: Formula
    on_all_rails: bool = True

    def rails(self, place: Place) -> int:
        return place.n_rails if self.on_all_rails else 1

    def formula_s(self, place: Place, m: float) -> float:
        """b is what this way uses of a node."""
        return self.formula(place, m, self.rails(place) * place.rail_bytes_per_s)


_STRIPED = "broadcast/striped shares=1,1"
WAYS: Mapping[str, Way] = {
    "rail trees": Way("broadcast/rail_trees segment={segment} window={window}", multirail_s),
    "chain, one rail": Way("broadcast/chain segment={segment} window={window}", chain_s, False),
    "chain, striped": Way(f"{_STRIPED} segment={{segment}} window={{window}} parts=broadcast/chain", chain_s),
    "binary tree, striped": Way(
        f"{_STRIPED} segment={{segment}} window={{window}} between=flat inside=kary parts=broadcast/subnets",
        binary_s,
    ),
    # Whole messages, as the paper has them. Formula and predictor send to one child after the other; TCP shares the NIC
    # among them, so that the child with the most below it has its message last.
    "binomial, striped": Way(f"{_STRIPED} between=flat inside=binomial parts=broadcast/subnets", binomial_s),
    "van de Geijn, one rail": Way(
        "broadcast/scatter+allgather parts=scatter/binomial,allgather/recursive_doubling",
        van_de_geijn_s,
        False,
    ),
    # Not the paper's: no swap of halves.
    "two-tree, striped": Way(
        f"{_STRIPED} segment={{segment}} window={{window}} parts=broadcast/two_tree", two_tree_s
    ),
}
#: What section 6 claims of the multirail algorithm; the scan's words, with "times as fast" for "% better".
CLAIMS = {
    "one cluster": {"chain, one rail": 1.4, "binary tree, striped": 1.6},
    "two clusters": {"binary tree, striped": 3.0},
}


@lru_cache(maxsize=8)
def _network(words: str) -> str:
    return str(_core.synthetic_network(words))


def window_of(place: Place, segment: int) -> int:
    """Segments under way that fill the longest line both ways, and one to spare; at least four."""
    return max(4, 2 + math.ceil(2 * place.between_s * place.rail_bytes_per_s / segment))


def recipes_of(way: Way, place: Place, m: int) -> list[str]:
    """The way's recipes for a size, one for each segment worth trying."""
    if "{segment}" not in way.recipe:
        return [way.recipe]
    segments = [s for s in SEGMENTS if m / MOST_SEGMENTS <= s <= m] or [SEGMENTS[-1]]
    return [way.recipe.format(segment=s, window=window_of(place, s)) for s in segments]


def predicted(way: Way, place: Place, m: int) -> tuple[str, float]:
    """The recipe with the best segment, and what it is predicted to take."""
    ranks = list(range(place.ranks))
    times = {
        recipe: _core.predict(_network(place.words()), ranks, recipe, "broadcast", m, 0)
        for recipe in recipes_of(way, place, m)
    }
    best = min(times, key=lambda recipe: times[recipe])
    return best, times[best]


@dataclass(frozen=True)
class Curve:
    """Seconds by size, of every way, at one place."""

    place: Place
    seconds: Mapping[str, Mapping[int, float]]
    what: str  # predicted, measured

    def over_rail_trees(self, way: str) -> dict[int, float]:
        """How many times as long as the rail trees."""
        trees = self.seconds["rail trees"]
        return {m: s / trees[m] for m, s in self.seconds[way].items() if m in trees}

    def winner(self, m: int) -> str:
        """The fastest way of those that have a time."""
        return min((s[m], way) for way, s in self.seconds.items() if m in s)[1]


def formula_ratio(way: str, place: Place, m: float) -> float:
    """How many times as long as the rail trees, by the paper's formulas."""
    return WAYS[way].formula_s(place, m) / WAYS["rail trees"].formula_s(place, m)


def predict_all(place: Place, sizes: Sequence[int] = PREDICTED_SIZES) -> Curve:
    return Curve(
        place,
        {name: {m: predicted(way, place, m)[1] for m in sizes} for name, way in WAYS.items()},
        "predicted",
    )


def chart(curves: Mapping[str, Curve]) -> go.Figure:
    """Each curve in a picture of its own: points are predicted or measured, dotted lines the formulas."""
    columns = 2
    rows = math.ceil(len(curves) / columns)
    page = make_subplots(rows=rows, cols=columns, subplot_titles=list(curves), vertical_spacing=0.25 / rows)
    for number, curve in enumerate(curves.values()):
        where: dict[str, Any] = {"row": number // columns + 1, "col": number % columns + 1}
        for colour, (name, of_way) in zip(PALETTE, curve.seconds.items(), strict=False):
            if not of_way:
                continue
            sizes = sorted(of_way)
            page.add_scatter(
                x=sizes, y=[of_way[m] for m in sizes], mode="lines+markers", name=name, legendgroup=name,
                showlegend=number == 0, line={"color": colour}, **where,
            )  # fmt: skip
            fine = [sizes[0] * (sizes[-1] / sizes[0]) ** (i / 60) for i in range(61)]
            page.add_scatter(
                x=fine, y=[WAYS[name].formula_s(curve.place, m) for m in fine], mode="lines", name=f"{name}: formula",
                legendgroup=name, showlegend=False, line={"color": colour, "dash": "dot", "width": 1}, **where,
            )  # fmt: skip
    page.update_xaxes(type="log", title_text="bytes")
    page.update_yaxes(type="log", title_text="seconds")
    page.update_layout(
        title="Broadcast on two rails; dotted: the paper's formulas",
        template="plotly_white",
        height=480 * rows,
    )
    return page
