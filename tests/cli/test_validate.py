"""The scores of `eco validate`, on records made by hand, and its bookkeeping with a place that is scripted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eco import _core, jobs
from eco.errors import InvalidArgument
from eco.report import curves
from eco.validate import (
    NATIVE,
    Outcome,
    Record,
    ValidateOptions,
    choose_trials,
    closed_s,
    gain,
    hosts_in_network,
    records_of,
    regret,
    score,
)


def record(recipe: str, predicted: float | None, *measured: float, size: int = 1024) -> Record:
    return Record("net", "openmpi", "block", "broadcast", size, recipe, predicted, None, measured)


def test_errors_are_shares_of_what_was_measured() -> None:
    cell = [
        record(NATIVE, None, 9.0, 9.0),
        record("broadcast/chain segment=0", 1.1, 1.0, 1.0),
        record("broadcast/flat segment=0", 3.0, 4.0, 4.0),
    ]
    scores = score(cell, "simulate")
    assert scores is not None
    assert scores.median_abs_error == pytest.approx((0.1 + 0.25) / 2)
    assert scores.p90_abs_error == pytest.approx(0.1 + 0.9 * 0.15)
    assert (scores.mean_regret, scores.records, scores.cells) == (0.0, 2, 1)


def test_the_oracle_is_scored_on_launches_it_was_not_chosen_on() -> None:
    cell = [
        record(NATIVE, None, 5.0, 5.0, 5.0, 5.0),
        record("broadcast/chain segment=0", 1.0, 2.0, 2.2, 2.0, 2.2),  # the model's choice
        record("broadcast/flat segment=0", 1.5, 1.0, 2.0, 1.0, 2.0),  # had luck on the even launches
    ]
    assert regret(cell, "simulate") == pytest.approx(2.2 / 2.0 - 1)


def test_the_choice_of_the_simulation_is_the_planners() -> None:
    """Which prefers, of what is predicted to be as fast, what sends less."""
    cheapest = record("broadcast/chain segment=0", 1.0, 2.0, 2.2)
    planned = replace(record("broadcast/flat segment=0", 1.01, 1.0, 1.1), chosen=True, closed_s=1.2)
    assert regret([cheapest, planned], "simulate") == pytest.approx(0.0)
    both_closed = [replace(cheapest, closed_s=1.1), planned]
    assert regret(both_closed, "closed") == pytest.approx(2.2 / 1.1 - 1)


def test_native_can_be_the_oracle_and_is_never_predicted() -> None:
    cell = [record(NATIVE, None, 1.0, 1.0), record("broadcast/chain segment=0", 1.0, 2.0, 2.0)]
    assert regret(cell, "simulate") == pytest.approx(1.0)
    assert regret([record(NATIVE, None, 1.0, 1.0)], "simulate") is None
    assert score([record(NATIVE, None, 1.0, 1.0)], "simulate") is None


def test_one_launch_cannot_be_halved() -> None:
    with pytest.raises(InvalidArgument, match="--launches 1"):
        ValidateOptions(["broadcast"], [8], launches=1)


class Scripted(jobs.Place):
    library, placement, network = "openmpi", "block", "net"


def launched(native: list[float], *recipes: list[float]) -> list[dict[str, Any]]:
    return [{"native": native, "recipes": [{"seconds": seconds} for seconds in recipes]}]


def test_what_a_launch_gave_no_time_for_is_left_out() -> None:
    recipes = {
        "broadcast/chain": {"simulate": 1.0, "closed": 0.5},
        "broadcast/flat": {"simulate": 2.0, "closed": None},
    }
    trials = [{"collective": "broadcast", "bytes": 8, "recipes": recipes}]
    found = records_of(
        Scripted(), trials, [launched([3.0], [1.0, 5.0, 2.0], [4.0]), launched([3.0], [2.5], [])]
    )
    assert [(each.recipe, each.simulate_s, each.closed_s, each.measured_s) for each in found] == [
        (NATIVE, None, None, (3.0, 3.0)),
        ("broadcast/chain", 1.0, 0.5, (2.0, 2.5)),
    ]
    assert records_of(Scripted(), trials, [launched([], [1.0], [1.0])]) == []


def test_a_file_of_other_hosts_is_refused() -> None:
    text = json.dumps({"hosts": [{"name": "a"}, {"name": "b"}]})
    assert hosts_in_network(text, ["b", "a", "a"], Path("n.json")) == [1, 0, 0]
    with pytest.raises(InvalidArgument, match="no host c in it; it has a, b"):
        hosts_in_network(text, ["a", "c"], Path("n.json"))


def test_it_is_written_with_its_scores_and_drawn(tmp_path: Path) -> None:
    outcome = Outcome([record(NATIVE, None, 1.0, 1.0), record("broadcast/chain", 1.0, 2.0, 2.0)], {})
    outcome.write(tmp_path / "v.json")
    written = json.loads((tmp_path / "v.json").read_text())
    assert written["simulate"]["max_regret"] == pytest.approx(1.0)
    assert [entry["algorithm"] for entry in written["records"]] == [NATIVE, "broadcast/chain"]
    curves.write_html(outcome.records, tmp_path / "v.html")
    assert "dashed: closed form" in (tmp_path / "v.html").read_text()


def test_curves_have_one_entry_for_each_algorithm_over_all_charts() -> None:
    def of(op: str, name: str, size: int, predicted: float | None, closed: float | None = None) -> Record:
        recipe = f"{op}/{name} segment=0" if name != NATIVE else NATIVE
        return Record("net", "openmpi", "block", op, size, recipe, predicted, closed, (0.002, 0.004))

    records = [
        of(op, name, size, None if name == NATIVE else 0.0045, 0.0015 if name == "chain" else None)
        for op in ("broadcast", "reduce")
        for name in (NATIVE, "flat", "chain")
        for size in (4096, 1024)
    ]
    page = curves.figure(records)
    assert [trace.name for trace in page.data if trace.showlegend] == ["chain", "flat", NATIVE]
    colours = {trace.legendgroup: trace.line.color or trace.marker.color for trace in page.data}
    assert len(set(colours.values())) == 3
    lines = [trace for trace in page.data if trace.line.dash == "dash"]
    assert [(list(trace.x), list(trace.y)) for trace in lines] == [([1024, 4096], [1.5, 1.5])] * 2
    measured = next(trace for trace in page.data if trace.name == "flat")
    assert list(measured.y) == [3.0, 3.0]
    assert "predicted 4.5 ms (+50 %)" in measured.hovertext[0]
    assert (page.layout.xaxis.type, list(page.layout.xaxis.ticktext)) == ("log", ["1 KiB", "4 KiB"])
    assert page.layout.yaxis2.title.text == "ms"


def test_curves_of_barriers_and_of_nothing_are_drawn(tmp_path: Path) -> None:
    barrier = Record("net", "mpich", "block", "barrier", 0, "barrier/flat", 0.001, None, (0.002,))
    page = curves.figure([barrier])
    assert page.layout.xaxis.type == "linear", "a logarithmic axis would lose what has no size"
    assert [list(trace.x) for trace in page.data] == [[0], [0]]
    curves.write_html([], tmp_path / "none.html")
    assert "nothing was measured" in (tmp_path / "none.html").read_text()


def test_what_is_predicted_far_behind_the_best_is_not_run() -> None:
    network = _core.synthetic_network("hosts=8 rate_mbit=48 latency_us=60")

    def algorithms(most_times: float) -> set[str]:
        options = ValidateOptions(["broadcast"], [65536], most_times=most_times)
        (trial,) = choose_trials(network, list(range(8)), options, lambda what, share: None)
        (chosen,) = (recipe for recipe, predicted in trial["recipes"].items() if predicted["chosen"])
        best: dict[str, str] = {}
        for recipe in trial["recipes"]:
            if best.setdefault(recipe.partition(" ")[0], recipe) != recipe:
                assert recipe == chosen, (
                    "of each algorithm the best, and the planner's choice where that is another"
                )
        named = [
            name for recipe, predicted in trial["recipes"].items() for name in (recipe, *predicted["same"])
        ]
        return {recipe.partition(" ")[0] for recipe in named}

    assert "broadcast/flat" in algorithms(1000.0)
    assert "broadcast/flat" not in algorithms(2.0)
    assert "broadcast/chain" in algorithms(2.0)


def test_recipes_that_come_to_the_same_schedules_are_timed_once() -> None:
    network = _core.synthetic_network("hosts=8 rate_mbit=48 latency_us=60")
    everyone = list(range(8))
    (trial,) = choose_trials(
        network, everyone, ValidateOptions(["broadcast"], [65536]), lambda what, share: None
    )

    def schedules(recipe: str) -> str:
        return _core.schedule_text(network, everyone, recipe, "broadcast", 65536, 0)

    texts = [schedules(recipe) for recipe in trial["recipes"]]
    assert len(set(texts)) == len(texts)
    same = {recipe: predicted["same"] for recipe, predicted in trial["recipes"].items() if predicted["same"]}
    assert same, "one switch: a chain along subnets is a chain"
    for recipe, others in same.items():
        assert {schedules(other) for other in others} == {schedules(recipe)}
        assert not set(others) & set(trial["recipes"])


def test_the_closed_form_is_of_any_of_equal_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"broadcast/chain": 2.0}
    monkeypatch.setattr(
        _core, "closed_prediction", lambda network, hosts, recipe, op, size, root: known.get(recipe)
    )
    tree, chain = {"recipe": "broadcast/subnets"}, {"recipe": "broadcast/chain"}
    assert closed_s("", [], [tree, chain], "broadcast", 1024) == 2.0
    assert closed_s("", [], [tree], "broadcast", 1024) is None


def test_what_a_found_pattern_wins_is_scored_where_the_best_algorithm_was_not_chosen() -> None:
    cell = [
        record(NATIVE, None, 1.0, 1.0),
        record("broadcast/chain", 2.0, 2.0, 5.0),
        record("broadcast/flat", 4.0, 3.0, 3.0),
        replace(record("broadcast/tree", 1.5, 9.0, 4.0), found=True),
    ]
    won = gain(cell)
    assert won is not None
    assert won.predicted == pytest.approx(0.25)
    assert won.measured == pytest.approx(0.2)
    assert gain(cell[:3]) is None


def test_the_search_adds_what_it_finds() -> None:
    network = _core.synthetic_network("hosts=3+3+2 rate_mbit=200 uplink_mbit=10+20+40")
    options = ValidateOptions(["allgather"], [1 << 20], search=300)
    (trial,) = choose_trials(network, list(range(8)), options, lambda what, share: None)
    found = [recipe for recipe, predicted in trial["recipes"].items() if predicted["found"]]
    assert len(found) == 1
    assert trial["recipes"][found[0]]["simulate"] < min(
        predicted["simulate"] for predicted in trial["recipes"].values() if not predicted["found"]
    )
