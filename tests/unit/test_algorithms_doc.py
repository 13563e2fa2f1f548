"""docs/algorithms.md is what tools/algorithms-doc writes from the schedules of today."""

import json
from collections.abc import Callable
from types import ModuleType

import pytest

from eco import _core


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("algorithms-doc")


def test_the_page_is_current(tool: ModuleType) -> None:
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run tools/algorithms-doc"


def test_every_algorithm_has_a_row_and_a_file(tool: ModuleType) -> None:
    names = {name for name, _, _ in _core.proof_tasks([2])}
    rows = [line.split("`")[1] for line in tool.page().splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(names)
    assert {tool.source_of(name).parent for name in names} == {tool.FOLDER}


def test_figures_are_those_of_textbooks(tool: ModuleType) -> None:
    network = _core.synthetic_network(tool.NETWORK)
    found = {
        record["name"]: record for record in json.loads(_core.traffic(network, tool.IN_A_ROW, tool.BYTES))
    }
    n = tool.BYTES

    def figures(name: str, *keys: str) -> list[int]:
        return [found[name][key] for key in keys]

    assert figures("broadcast/binomial", "rounds", "chain", "messages", "sent_bytes") == [3, 3, 7, 7 * n]
    assert figures("broadcast/flat", "rounds", "chain", "most_sent_bytes") == [7, 1, 7 * n]
    # A subnet is entered once: two crossings; of the binomial tree's edges, those that leave a subnet.
    assert figures("broadcast/subnets", "between_bytes") == [2 * n]
    ring = figures("allreduce/ring", "rounds", "chain", "most_sent_bytes", "most_combined_bytes")
    assert ring == [14, 14, 2 * 7 * n // 8, 7 * n // 8]
    assert figures("allreduce/doubling", "rounds", "chain", "most_sent_bytes") == [3, 3, 3 * n]
    assert figures("alltoall/flat", "rounds", "chain", "sent_bytes") == [7, 1, 56 * n // 8]
    assert found["allreduce/ring"]["why_not_ordered"]
    assert found["allreduce/doubling"]["why_not_ordered"] == ""
    assert found["broadcast/flat"]["why_not_ordered"] is None
