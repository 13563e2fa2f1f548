"""bench/rails.py: what its tables make of records, and its formulas. No network, no MPI."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from eco import _core
from eco.lab import load
from eco.lab.bounds import bound_s

MIB = 1 << 20


@pytest.fixture(scope="module")
def cells(load_tool: Callable[..., ModuleType]) -> ModuleType:
    return load_tool("rails_cells.py", folder="bench")


@pytest.fixture(scope="module")
def paper(load_tool: Callable[..., ModuleType]) -> ModuleType:
    return load_tool("rails_paper.py", folder="bench")


@pytest.fixture(scope="module")
def rails(load_tool: Callable[..., ModuleType]) -> ModuleType:
    return load_tool("rails.py", folder="bench")


def record(part: str, way: str, rails: int, *seconds: float, late_us: float = 5.0) -> dict[str, Any]:
    return {
        "part": part, "network": "rails-8", "way": way, "operation": "broadcast", "bytes": MIB, "rails": rails,
        "seconds": list(seconds), "relay_late_us": {"average": late_us},
    }  # fmt: skip


RECORDS = [
    record("gain", "broadcast/chain", 1, 0.50, 0.46, 0.48),
    record("gain", "broadcast/striped", 2, 0.25),
    record("gain", "broadcast/chain", 1, 0.52),
    record("gain", "broadcast/striped", 2, 0.23, late_us=9.0),
    record("stock", "openmpi: one NIC", 1, 0.9),
    record("stock", "openmpi: both NICs", 2, 0.6),
    record("stock", "mpich: UCX, both NICs", 2, 0.48),
]


def test_a_row_is_the_median_over_launches_with_the_bound_of_its_rails(cells: ModuleType) -> None:
    whole = load("rails-8")
    rows = {row.way: row for row in cells.rows_of(RECORDS, {"rails-8": whole})}
    assert rows["broadcast/chain"].launches == (0.48, 0.52)
    assert rows["broadcast/chain"].seconds == pytest.approx(0.50)
    assert rows["broadcast/striped"].late_us == 9.0
    both = bound_s(whole, "block", "broadcast", MIB).seconds
    assert rows["broadcast/striped"].bound_s == both
    assert rows["broadcast/chain"].bound_s == pytest.approx(2 * both, rel=0.01)


def test_the_verdict_holds_the_best_on_all_rails_against_the_best_of_others(cells: ModuleType) -> None:
    said = cells.verdict(cells.rows_of(RECORDS, {"rails-8": load("rails-8")}))["rails-8"]["broadcast"][MIB]
    assert said["best"] == "broadcast/striped"
    assert said["gain"] == pytest.approx(0.50 / 0.24)
    assert said["over_openmpi"] == pytest.approx(0.6 / 0.24)
    assert said["openmpi_setting"] == "openmpi: both NICs"
    assert said["over_mpich"] == pytest.approx(2.0)
    alone = cells.verdict(cells.rows_of(RECORDS[1:2], {"rails-8": load("rails-8")}))["rails-8"]["broadcast"][
        MIB
    ]
    assert "gain" not in alone
    assert "over_mpich" not in alone


@pytest.mark.parametrize("network", ["rails-8", "rails-2x8", "rails-unequal"])
def test_every_recipe_can_be_run_on_its_network(cells: ModuleType, rails: ModuleType, network: str) -> None:
    description = load(network)
    view = _core.synthetic_network(rails.predictors_words(description))
    ranks = list(range(len(description.hosts)))
    for size, recipe in cells.gain_cells(description, cells.OPERATIONS, [MIB // 4]):
        assert _core.predict(view, ranks, recipe, recipe.split("/")[0], size, 0) > 0, recipe


def test_shares_are_in_proportion_and_unequal_rails_are_tried_in_equal_shares_too(cells: ModuleType) -> None:
    assert cells.shares_of([20, 20]) == "1,1"
    assert cells.shares_of([20, 8]) == "5,2"
    assert cells.shares_of([8, 20, 8]) == "2,5,2"
    striped = [r for r in cells.recipes_for(load("rails-unequal"), "allgather") if "striped" in r]
    assert ["shares=5,2" in r for r in striped] == [True, False]
    assert len([r for r in cells.recipes_for(load("rails-8"), "allgather") if "striped" in r]) == 1


def test_one_rail_is_a_network_of_its_own(cells: ModuleType) -> None:
    alone = cells.one_rail(load("rails-2x8"))
    assert {s.name for s in alone.segments} == {"east-0", "west-0"}
    assert {j.name for j in alone.joints} == {"gate-east-0", "gate-west-0"}
    assert alone.n_rails == 1


def test_settings_have_names_of_their_own_and_say_what_they_set(cells: ModuleType) -> None:
    assert len({s.way for s in cells.STOCK}) == len(cells.STOCK)
    assert all(s.variables for s in cells.STOCK)
    assert {s.library for s in cells.STOCK if not s.on_all_rails} == {s.library for s in cells.STOCK}


def test_formulas_are_the_papers(paper: ModuleType) -> None:
    """32 nodes, l = 1, b = 1 a node: Table 1 and section 6.2.2, worked out by hand."""
    one = paper.Place(clusters=1, ranks=32, n_rails=2, rail_bytes_per_s=0.5, latency_s=1.0)
    two = paper.Place(clusters=2, ranks=32, n_rails=2, rail_bytes_per_s=0.5, latency_s=1.0, between_s=10.0)
    for way, in_one, in_two in (
        ("rail trees", 5 + 100, 5 + 100 + 10),
        ("chain, striped", 31 + 100, 31 + 100 + 10),
        ("chain, one rail", 31 + 200, 31 + 200 + 10),
        ("binary tree, striped", 5 + 200, 5 + 300 + 10),
        ("binomial, striped", 5 * 101, 5 * 101 + 10),
    ):
        assert paper.WAYS[way].formula_s(one, 100) == in_one, way
        assert paper.WAYS[way].formula_s(two, 100) == in_two, way
    assert paper.WAYS["van de Geijn, one rail"].formula_s(one, 100) == pytest.approx(10 + 2 * 31 / 32 * 200)
    assert math.isnan(paper.WAYS["van de Geijn, one rail"].formula_s(two, 100))
    assert paper.formula_ratio("binary tree, striped", one, 100) == pytest.approx(205 / 105)


def test_a_labs_place_is_what_its_description_says(paper: ModuleType) -> None:
    place = paper.lab_place(load("rails-2x8"))
    assert (place.clusters, place.ranks, place.n_rails) == (2, 16, 2)
    assert place.rail_bytes_per_s == pytest.approx(10e6 / 8 * 1448 / 1514)
    assert place.latency_s == pytest.approx(1514 * 8 / 10e6)
    assert 0.010 < place.between_s < 0.016
    assert paper.lab_place(load("rails-8")).between_s == 0


def test_predictions_choose_their_segment_and_long_messages_follow_the_formulas(paper: ModuleType) -> None:
    place = paper.lab_place(load("rails-8"))
    for name in (
        "rail trees",
        "chain, striped",
        "chain, one rail",
        "binary tree, striped",
        "binomial, striped",
    ):
        way = paper.WAYS[name]
        recipe, seconds = paper.predicted(way, place, 4 * MIB)
        assert recipe in paper.recipes_of(way, place, 4 * MIB)
        assert seconds == pytest.approx(way.formula_s(place, 4 * MIB), rel=0.1), name
    # A message shorter than every segment is one.
    assert paper.recipes_of(paper.WAYS["rail trees"], place, 100) == [
        f"broadcast/rail_trees segment={paper.SEGMENTS[-1]} window=4"
    ]


def test_curves_say_who_wins_and_by_how_much_and_are_drawn(paper: ModuleType) -> None:
    seconds = {name: {} for name in paper.WAYS}
    seconds |= {"rail trees": {16: 1.0, 64: 2.0}, "chain, striped": {16: 3.0, 64: 1.5}}
    curve = paper.Curve(paper.paper_place("one cluster"), seconds, "measured")
    assert curve.winner(16) == "rail trees"
    assert curve.winner(64) == "chain, striped"
    assert curve.over_rail_trees("chain, striped") == {16: 3.0, 64: 0.75}
    drawn = [trace.name for trace in paper.chart({"a": curve, "b": curve}).data]
    assert drawn.count("rail trees") == 2
    assert drawn.count("chain, striped: formula") == 2
    assert not any("binomial" in name for name in drawn)
