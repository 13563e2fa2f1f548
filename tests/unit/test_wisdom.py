"""Wisdom: kept, merged, added, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eco import plans, wisdom
from eco.errors import CorruptFile

# As files have them.
CHAIN, BINOMIAL = (
    f"broadcast/{name} segment=0 head=0 window=0 between=chain inside=chain" for name in ("chain", "binomial")
)


def row(size: int, recipe: str | None, **more: Any) -> dict[str, Any]:
    evidence = {"predicted_s": 0.0, "measured_s": 0.001, "native_s": 0.002, "reason": "measured 2.00x"}
    return {"up_to_bytes": size, "recipe": recipe, **evidence, **more}


def plan(*rows: dict[str, Any], **more: Any) -> wisdom.Plan:
    text = plans.by_hand(4, {"broadcast": []})
    made = json.loads(text) | {"network": "n1", "library": "Open MPI 5.0.11", "made_by": "0.1 plans 3"} | more
    made["entries"][0]["rows"] = list(rows)
    return wisdom.checked(made, "test")


def merged(*plans_of: wisdom.Plan) -> tuple[list[dict[str, Any]], list[wisdom.Conflict]]:
    made, conflicts = wisdom.merge((name, [one]) for name, one in zip("ABC", plans_of, strict=False))
    assert len(made) == 1
    rows = made[0]["entries"][0]["rows"]
    return rows, conflicts


def between(size: int, recipe: str | None) -> dict[str, Any]:
    return row(size, recipe, native_s=0.0, measured_s=0.0, reason="between: ECO won at both measured ends")


def test_better_evidence_wins_and_conflicts_are_told() -> None:
    a = plan(row(64, CHAIN, effort="measure"), between(1023, CHAIN), row(1024, CHAIN), proof="p")
    b = plan(row(64, BINOMIAL), between(1023, BINOMIAL), row(1024, BINOMIAL))
    rows, conflicts = merged(a, b)
    assert [one["recipe"] for one in rows] == [CHAIN] * 3
    assert [(one.bytes, "A" in one.kept, "B" in one.left) for one in conflicts] == [(1024, True, True)]
    rows, conflicts = merged(b, a)
    assert [(one["up_to_bytes"], one["recipe"]) for one in rows] == [
        (64, CHAIN),
        (1023, None),
        (1024, BINOMIAL),
    ]
    assert "native" not in conflicts[0].text()
    assert merged(a, a)[1] == []


def test_what_only_one_has_measured_is_taken_and_nothing_serves_unmeasured_between() -> None:
    a = plan(row(64, CHAIN), row(4096, None, open=True, native_s=0.0))
    b = plan(row(1024, CHAIN), between(4095, CHAIN), row(4096, CHAIN))
    rows, conflicts = merged(a, b)
    assert conflicts == []
    assert [(one["up_to_bytes"], one["recipe"]) for one in rows] == [
        (64, CHAIN), (1023, None), (1024, CHAIN), (4095, CHAIN), (4096, CHAIN)
    ]  # fmt: skip


def test_what_nobody_has_measured_stays_open_and_native() -> None:
    a = plan(row(64, None, open=True, native_s=0.0), row(1024, CHAIN))
    b = plan(row(1024, CHAIN), row(4096, CHAIN))
    rows, _ = merged(a, b)
    assert [(one["up_to_bytes"], one["recipe"], one.get("open", False)) for one in rows] == [
        (64, None, True), (1024, CHAIN, False), (4095, None, False), (4096, CHAIN, False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        {"network": "n2"},
        {"library": "MPICH 5.0.2"},
        {"made_by": "0.2 plans 4"},
        {"host_of_rank": [0, 0, 1, 1]},
    ],
)
def test_plans_of_other_groups_stand_beside_each_other(other: dict[str, Any]) -> None:
    made, conflicts = wisdom.merge([("A", [plan(row(64, CHAIN))]), ("B", [plan(row(64, BINOMIAL), **other)])])
    assert (len(made), conflicts) == (2, [])


def test_files_of_wisdom_and_plans_are_read_and_others_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    wisdom.write(path, [plan(row(64, CHAIN))])
    assert wisdom.read(path) == [plan(row(64, CHAIN))]
    path.write_text(json.dumps(plan(row(64, CHAIN))))
    assert wisdom.read(path) == [plan(row(64, CHAIN))]
    good = {"schema": "eco.wisdom", "version": 1, "plans": [plan(row(64, CHAIN))]}
    for bad, says in [
        ({**good, "version": 2}, "version 2"),
        ({**good, "plans": [{"schema": "eco.plan", "version": 2}]}, "plan 0.*version 2"),
        ({**good, "plans": [plan(row(64, CHAIN)) | {"entries": 3}]}, "plan 0.*entries"),
        ({**good, "plans": {}}, "no list"),
        ({"schema": "eco.network", "version": 1}, "eco.network"),
        ({**plan(), "version": 7}, "version 7"),
    ]:
        path.write_text(json.dumps(bad))
        with pytest.raises(CorruptFile, match=says):
            wisdom.read(path)
    path.write_text(json.dumps(good)[:-9])
    with pytest.raises(CorruptFile, match="truncated"):
        wisdom.read(path)


def test_what_is_added_is_remembered_and_collected(tmp_path: Path) -> None:
    one = plan(row(64, CHAIN))
    assert wisdom.add(tmp_path, "w.json", [one, plan(row(64, CHAIN), network="n2")])[0] == 2
    added, conflicts, useless = wisdom.add(tmp_path, "w.json", [plan(row(64, BINOMIAL), row(1024, BINOMIAL))])
    assert (added, len(conflicts), useless) == (1, 1, [])
    found, bad = wisdom.collect(tmp_path)
    assert (len(found), bad) == (2, [])
    rows = next(p for p in found if p["network"] == "n1")["entries"][0]["rows"]
    assert [(r["up_to_bytes"], r["recipe"]) for r in rows] == [(64, CHAIN), (1023, None), (1024, BINOMIAL)]
    nameless = plan(row(64, CHAIN))
    del nameless["made_by"]
    added, _, useless = wisdom.add(tmp_path, "w.json", [nameless])
    assert (added, len(useless)) == (0, 1)
    (tmp_path / "plans" / "spoilt.json").write_text("{")
    assert len(wisdom.collect(tmp_path)[1]) == 1


def test_what_no_job_would_use_is_replaced_and_told(tmp_path: Path) -> None:
    one, better = plan(row(64, CHAIN)), plan(row(64, BINOMIAL, effort="measure"))
    assert wisdom.add(tmp_path, "w.json", [one])[0] == 1
    (path,) = (tmp_path / "plans").iterdir()
    for spoilt, says in [
        (path.read_text()[:-9], "truncated"),
        (json.dumps(plan(row(64, CHAIN), network="n2")), "another network"),
        (json.dumps(plan(row(64, CHAIN), made_by="0.0 plans 1")), "or ECO"),
    ]:
        path.write_text(spoilt)
        added, conflicts, left_out = wisdom.add(tmp_path, "w.json", [better])
        assert (added, conflicts, len(left_out)) == (1, [], 1)
        assert says in left_out[0]
        assert wisdom.collect(tmp_path) == ([better], [])


def test_a_remembered_plan_that_does_not_say_who_made_it_is_its_names(tmp_path: Path) -> None:
    nameless = plan(row(1024, CHAIN))
    assert wisdom.add(tmp_path, "w.json", [nameless])[0] == 1
    (path,) = (tmp_path / "plans").iterdir()
    del nameless["made_by"]
    path.write_text(json.dumps(nameless))
    assert wisdom.add(tmp_path, "w.json", [plan(row(64, BINOMIAL))]) == (1, [], [])
    ((made,), bad) = wisdom.collect(tmp_path)
    assert (made["made_by"], bad) == ("0.1 plans 3", [])
    assert [one["up_to_bytes"] for one in made["entries"][0]["rows"]] == [64, 1023, 1024]
