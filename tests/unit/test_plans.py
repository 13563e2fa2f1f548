"""Plans by hand are plans."""

import json

import pytest

from eco import _core, plans
from eco.errors import CorruptFile


def test_a_plan_by_hand_is_one_that_ranks_read() -> None:
    text = plans.by_hand(3, {"broadcast": [(8, None), (1024, "broadcast/binomial")], "barrier": [(0, None)]})
    plan = json.loads(_core.check_plan(text))
    assert plan["host_of_rank"] == [0, 0, 0]
    rows = {entry["collective"]: entry["rows"] for entry in plan["entries"]}
    assert [row["up_to_bytes"] for row in rows["broadcast"]] == [8, 1024]
    assert rows["broadcast"][0]["recipe"] is None
    assert rows["broadcast"][1]["recipe"].startswith("broadcast/binomial")
    assert len(rows["barrier"]) == 1


def test_a_recipe_that_nobody_knows_is_refused() -> None:
    with pytest.raises(CorruptFile, match="broadcast/pigeons"):
        _core.check_plan(plans.by_hand(2, {"broadcast": [(8, "broadcast/pigeons")]}))
