"""Guidelines asked of what was measured."""

import json
from pathlib import Path

import pytest

from eco import _core, guidelines, plans
from eco.collectives import COLLECTIVES
from eco.errors import CorruptFile


def test_the_table_is_the_planners() -> None:
    rules = guidelines.table()
    texts = [rule.text for rule in rules.rules]
    assert "allreduce <= reduce + broadcast" in texts
    assert len(set(texts)) == len(texts)
    assert {op for rule in rules.rules for op in (rule.left, *rule.right)} <= set(COLLECTIVES)


def test_what_takes_longer_than_its_parts_is_broken_by_its_whole_interval() -> None:
    parts = {("reduce", 1024): [0.004] * 6, ("broadcast", 1024): [0.004] * 6}
    assert guidelines.violations({**parts, ("allreduce", 1024): [0.008] * 6}) == []
    assert guidelines.violations({**parts, ("allreduce", 4096): [0.020] * 6}) == [], "other bytes"
    broken = guidelines.violations({**parts, ("allreduce", 1024): [0.016, 0.017, 0.016, 0.015, 0.016, 0.016]})
    assert [(one.text, one.bytes) for one in broken] == [("allreduce <= reduce + broadcast", 1024)]
    assert broken[0].ratio.ratio == pytest.approx(2.0)
    wild = [0.002, 0.03, 0.002, 0.03, 0.003, 0.03]
    assert guidelines.violations({**parts, ("allreduce", 1024): wild}) == [], "it may as well be faster"


def test_fewer_bytes_take_no_longer_than_the_next_more() -> None:
    seconds = {("scan", 8): [0.010], ("scan", 1024): [0.004], ("scan", 4096): [0.011]}
    broken = guidelines.violations(seconds)
    assert [(one.text, one.operation, one.bytes, one.bound_s) for one in broken] == [
        (guidelines.table().monotone, "scan", 8, 0.004)
    ]


def plan_of(allreduce_s: float) -> str:
    recipe = "allreduce/reduce+broadcast"
    plan = json.loads(plans.by_hand(4, {"allreduce": [(1024, recipe)], "reduce": [(1024, None)],
                                        "broadcast": [(1024, None)]}))  # fmt: skip
    for entry in plan["entries"]:
        entry["rows"][0] |= {"native_s": 0.01, "measured_s": allreduce_s}
    plan["entries"][0]["rows"][0]["native_s"] = 0.05
    return json.dumps(plan)


def test_a_plan_is_asked_for_the_library_and_for_what_it_serves(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_of(0.012))
    native, served = guidelines.read(path)
    assert [one.text for one in guidelines.violations(native.seconds)] == ["allreduce <= reduce + broadcast"]
    assert guidelines.violations(served.seconds) == []
    path.write_text(plan_of(0.03))
    assert [one.seconds for one in guidelines.violations(guidelines.read(path)[1].seconds)] == [0.03]
    plan = json.loads(plan_of(0.03))
    for entry in plan["entries"]:
        entry["rows"][0]["native_is_least"] = True
    path.write_text(json.dumps(plan))
    (served,) = guidelines.read(path)  # of what the library takes a bound is known alone
    assert served.seconds == {("allreduce", 1024): [0.03]}


def test_what_is_timed_in_a_row_is_compared_with_its_like_alone(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = json.loads(plan_of(0.012))
    for entry in plan["entries"]:
        if entry["collective"] == "allreduce":
            entry["rows"][0]["in_a_row"] = True
    path.write_text(json.dumps(plan))
    apart = guidelines.read(path)
    assert len(apart) == 4
    assert all(guidelines.violations(one.seconds) == [] for one in apart)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "eco.network", "version": 1}'])
def test_other_files_are_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(CorruptFile, match=r"x\.json"):
        guidelines.read(path)
    with pytest.raises(CorruptFile, match="absent"):
        guidelines.read(tmp_path / "absent.json")


def test_the_binding_says_the_allowance() -> None:
    assert 0 < json.loads(_core.guidelines())["allowance"] < 0.2
