"""tools/mpi4py-suite: what it makes of runs of mpi4py's tests, without running any."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

LIMIT_S = 60.0
SERVED = "eco: served 3 of 4 collective calls"


@pytest.fixture(name="suite")
def _suite(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("mpi4py-suite")


def _rank(suite: ModuleType, *said: tuple[str, str], now_s: float = 10.0) -> Any:
    return suite.read_rank("".join(json.dumps([*words, 2.0]) + "\n" for words in said), now_s)


def _test(name: str, outcome: str) -> list[tuple[str, str]]:
    return [(name, "started"), (name, outcome), (name, "stopped")]


def _run(
    suite: ModuleType, code: int | None, *outcomes: str, ended: bool = True, errors: str = SERVED
) -> Any:
    """Of one rank, whose tests are called a, b, ..."""
    said = [
        words for name, outcome in zip("abcdef", outcomes, strict=False) for words in _test(name, outcome)
    ]
    ranks = {"0": _rank(suite, *said, *([("", "ended")] if ended else []))}
    return suite.Outcome(code, ranks, 1, 1.0, errors)


def test_a_rank_is_read_from_what_it_wrote_until_now(suite: ModuleType) -> None:
    said = [*_test("a", "ok"), ("b", "started"), ("b (i=1)", "failure"), ("b", "stopped"), ("c", "started")]
    found = _rank(suite, *said)
    assert found.tests == {"a": "ok", "b (i=1)": "failure", "b": "failing sub-tests"}
    assert (found.ended, found.within) == (False, "c")
    assert found.took_s == {"a": 0.0, "b": 0.0, "c": 8.0}
    assert _rank(suite, *said[:3], ("", "ended")).ended


def test_of_a_run_at_its_limit_the_tests_that_took_a_part_of_it_are_slow(suite: ModuleType) -> None:
    stuck = _rank(suite, *_test("a", "ok"), ("b", "started"), now_s=50.0)
    between = _rank(suite, *_test("a", "ok"), now_s=50.0)
    run = suite.Outcome(None, {"0": stuck, "1": between}, 2, 60.0)
    assert run.slow(LIMIT_S) == {"b"}
    assert run.slow(200.0) == set()
    assert run.where() == "1 in b, 1 in no test"


def test_equal_runs_are_the_same(suite: ModuleType) -> None:
    pairs = suite.Pairs([_run(suite, 1, "ok", "error")], [_run(suite, 1, "ok", "error")])
    record = suite.record_of(pairs, LIMIT_S)
    assert record["verdict"] == "same"
    assert (record["tests"], record["outcomes"]) == (2, {"error": 1, "ok": 1})
    assert (record["served"], record["calls"]) == (3, 4)
    assert "unlike" not in record


@pytest.mark.parametrize(
    "eco",
    [
        {"code": 0, "outcomes": ["ok", "failure"]},
        {"code": 0, "outcomes": ["ok"]},
        {"code": None, "outcomes": ["ok"], "ended": False},
        {"code": 1, "outcomes": ["ok", "ok"]},
        {"code": 0, "outcomes": ["ok", "ok"], "errors": ""},
    ],
    ids=["another outcome", "a test not run", "no end", "another exit code", "no ECO"],
)
def test_what_stock_never_does_differs(suite: ModuleType, eco: dict[str, Any]) -> None:
    code, outcomes = eco.pop("code"), eco.pop("outcomes")
    pairs = suite.Pairs([_run(suite, 0, "ok", "ok")] * 3, [_run(suite, code, *outcomes, **eco)] * 3)
    record = suite.record_of(pairs, LIMIT_S)
    assert record["verdict"] == "differs"
    assert record["unlike"]
    # Once is enough, even if the next pair is the same.
    pairs.eco[1:] = [_run(suite, 0, "ok", "ok")] * 2
    assert pairs.verdict(LIMIT_S) == "differs"


def test_what_stock_does_at_times_is_told_and_no_difference(suite: ModuleType) -> None:
    good, bad = _run(suite, 0, "ok", "ok"), _run(suite, 0, "ok", "error")
    record = suite.record_of(suite.Pairs([good, bad], [bad, bad]), LIMIT_S)
    assert record["verdict"] == "stock varies"
    assert record["unlike"] == ["rank 0, b: ok and error"]


def test_jobs_that_break_off_as_stock_does_may_do_so_at_another_test(suite: ModuleType) -> None:
    stock = [_run(suite, 255, "ok", ended=False), _run(suite, 0, "ok", "ok", "ok")]
    eco = [_run(suite, 255, "ok", "ok", ended=False), _run(suite, 0, "ok", "ok", "ok")]
    assert suite.Pairs(stock, eco).verdict(LIMIT_S) == "stock varies"
    eco[0] = _run(suite, 139, "ok", "ok", ended=False)
    assert suite.Pairs(stock, eco).verdict(LIMIT_S) == "differs"
    assert suite.Pairs(stock[:1], [stock[0]]).verdict(LIMIT_S) == "same, to where stock breaks off"


def test_stock_without_an_end_is_named(suite: ModuleType) -> None:
    record = suite.record_of(suite.Pairs([_run(suite, None, "ok", ended=False)]), LIMIT_S)
    assert record["verdict"] == "stock did not end in 60 s"
    assert record["where"] == "1 in no test"


def test_a_run_in_which_nothing_was_served_is_wrong(suite: ModuleType) -> None:
    record = {"library": "mpich", "ranks": 2, "module": "m", "left_out": ["x"]}
    record |= suite.record_of(suite.Pairs([_run(suite, 0, "ok")], [_run(suite, 0, "ok")]), LIMIT_S)
    records = {("mpich", 2, "m"): record}
    assert suite.wrong(records) == []
    assert "mpich 2 ranks, 1 modules, 1 tests: 1 same; 3 calls served" in suite.summary(records)
    assert "left_out: ['x']" in suite.summary(records)
    records["mpich", 2, "m"] = record | {"served": 0}
    assert suite.wrong(records) == ["mpich 2 ranks: ECO SERVED NOTHING in all modules"]
    records["mpich", 1, "m"] = record | {"served": 0, "ranks": 1, "verdict": "differs"}
    assert suite.wrong(records)[0] == "mpich 1 m"


def test_what_differed_or_was_cut_short_by_a_shorter_limit_runs_again(suite: ModuleType) -> None:
    same = {"verdict": "same", "left_out": [], "limit_s": 60}
    assert suite.settled(same, 600)
    for record in (same | {"left_out": ["x"]}, same | {"verdict": "stock did not end in 60 s"}):
        assert suite.settled(record, 60)
        assert not suite.settled(record, 61)
    assert not suite.settled(same | {"verdict": "differs"}, 60)
