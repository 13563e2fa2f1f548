"""bench/papers.py: what its tables make of recorded launches. No network, no MPI."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from eco import _core, plans
from eco.errors import EcoError


@pytest.fixture(scope="module")
def tables(load_tool: Callable[..., ModuleType]) -> ModuleType:
    return load_tool("paper_tables.py", folder="bench")


@pytest.fixture(scope="module")
def papers(load_tool: Callable[..., ModuleType]) -> ModuleType:
    return load_tool("papers.py", folder="bench")


def launch(way: str, library: str, number: int, *seconds: float, **more: Any) -> dict[str, Any]:
    return {"table": "T4", "way": way, "library": library, "launch": number, "seconds": list(seconds), **more}


#: Two rounds; round 1 was slow for everybody.
RECORDED = [
    launch("ECO", "openmpi", 0, 2.0, set_up_s=0.25),
    launch("tree (k = 2)", "openmpi", 0, 3.0),
    launch("tree (k = 3)", "openmpi", 0, 2.5),
    launch("star", "openmpi", 0, 5.0),
    launch("butterfly", "openmpi", 0, 2.6),
    launch("stock", "openmpi", 0, 4.0, set_up_s=None),
    launch("ECO", "mpich", 0, 1.0),
    launch("stock", "mpich", 0, 1.4),
    launch("ECO", "openmpi", 1, 4.0, set_up_s=0.75),
    launch("tree (k = 2)", "openmpi", 1, 6.4),
    launch("stock", "openmpi", 1, 8.0),
]


def test_a_row_is_the_median_over_launches_paired_with_eco_by_round(tables: ModuleType) -> None:
    rows = tables.outcome_of(tables.TABLES["T4"], RECORDED).rows
    assert list(rows)[:2] == ["ECO, openmpi", "tree (k = 2), openmpi"]
    assert rows["ECO, openmpi"].median_s == 3.0
    assert rows["ECO, openmpi"].over_eco is None
    assert rows["ECO, openmpi"].set_up_s == 0.5
    assert rows["stock, openmpi"].set_up_s is None
    tree = rows["tree (k = 2), openmpi"]
    assert tree.launches == (3.0, 6.4)
    assert tree.over_eco.ratio == pytest.approx((1.5 + 1.6) / 2)
    # The star ran in round 0 alone, and is held against ECO of that round.
    assert rows["star, openmpi"].over_eco.ratio == pytest.approx(2.5)
    assert rows["stock, mpich"].over_eco.ratio == pytest.approx(1.4)


def test_verdicts_hold_the_best_of_them_against_eco(tables: ModuleType) -> None:
    verdicts = {v.what: v for v in tables.outcome_of(tables.TABLES["T4"], RECORDED).verdicts}
    best = verdicts["the best of trees and star"]
    assert best.measured == pytest.approx(2.5 / 3.0)
    assert not best.is_met
    stock = verdicts["the better stock library"]
    assert stock.measured == pytest.approx(1.4 / 1.0)  # the better library against the better ECO
    assert not stock.is_met


def test_what_was_not_measured_is_no_row_and_no_verdict(tables: ModuleType) -> None:
    outcome = tables.outcome_of(tables.TABLES["T4"], RECORDED[:2])
    assert list(outcome.rows) == ["ECO, openmpi", "tree (k = 2), openmpi"]
    assert [verdict.what for verdict in outcome.verdicts] == ["the best of trees and star"]
    assert tables.outcome_of(tables.TABLES["T5"], RECORDED).rows == {}
    assert tables.outcome_of(tables.TABLES["T4"], RECORDED, "balancing").rows == {}


def test_another_result_is_told(tables: ModuleType) -> None:
    alike = [
        launch("ECO", "openmpi", 0, 1.0, steps=4, results=[-4.5, 0.25]),
        launch("stock", "mpich", 0, 1.0, steps=4, results=[-4.5 + 1e-8, 0.25]),
        launch("ECO", "openmpi", 1, 1.0, steps=8, results=[-4.4, 0.5]),
    ]
    assert tables.differing(alike) == []
    wrong = tables.differing([*alike, launch("star", "openmpi", 2, 1.0, steps=4, results=[-4.5, 0.2501])])
    assert len(wrong) == 1
    assert "T4, star, openmpi, launch 2" in wrong[0]


@pytest.mark.parametrize("ranks", [8, 20])
def test_ways_by_hand_are_recipes_that_ranks_can_run(tables: ModuleType, ranks: int) -> None:
    network = _core.synthetic_network("hosts=8+12 rate_mbit=10")
    for way in tables.BY_HAND:
        rows = tables.rows_by_hand(way, ranks)
        _core.check_plan(plans.by_hand(ranks, rows))
        for name, of_this in rows.items():
            for up_to, recipe in of_this:
                size = min(up_to, 480)
                asked = _core.predict_recipe(network, list(range(ranks)), recipe, name, size, 0)
                assert json.loads(asked)["predicted_s"] > 0, recipe


def test_a_rings_short_sums_go_along_the_chain(tables: ModuleType) -> None:
    """Two elements of 20 ranks have no block for each."""
    rows = tables.rows_by_hand("ring", 20)["allreduce"]
    assert next(recipe for size, recipe in rows if size >= 16) == "allreduce/chain"
    assert rows[-1] == (tables.ALL_SIZES, "allreduce/ring")


def test_what_the_program_prints_is_read(papers: ModuleType) -> None:
    output = (
        "864 atoms on 8 ranks, 40 steps: energy of an atom -3.12345678, changed by at most 1.2e-04; "
        "mean square way 0.01234567\npairs 1 2\n"
        "communication 1.500000 s, balancing 0.250000 s, of 2.000000 s; set up in 0.125000 s\n"
    )
    assert papers.read_output(output) == ([-3.12345678, 0.01234567], [1.5, 0.25, 2.0, 0.125])
    with pytest.raises(EcoError, match="without its results"):
        papers.read_output(output[:60])


def test_every_row_has_its_recipes_and_the_papers_figures_name_rows(tables: ModuleType) -> None:
    for table in tables.TABLES.values():
        ways = {way for way, _ in table.rows()}
        assert ways - {"ECO", "stock"} <= set(tables.BY_HAND)
        assert set(table.paper) <= ways
        assert all(set(want.ways) <= ways for want in table.wants)
