"""tools/plant: that its bugs can still be planted. Whether `eco fuzz` finds them takes minutes: docs/fuzzing.md."""

from collections.abc import Callable
from types import ModuleType


def test_what_a_bug_replaces_is_in_its_file_once(load_tool: Callable[[str], ModuleType]) -> None:
    plant = load_tool("plant")
    assert {"executor", "table", "wrapper"} <= set(plant.BUGS), "which the documentation names"
    for name, bug in plant.BUGS.items():
        assert (plant.ROOT / bug.file).read_text().count(bug.right) == 1, f"{name}: write the bug anew"
        assert bug.wrong != bug.right, name
