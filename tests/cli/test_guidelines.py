"""eco guidelines over a plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eco import plans


def write_plan(path: Path, allreduce_s: float) -> Path:
    """The library's allreduce takes `allreduce_s`, its reduce and its broadcast 10 ms each."""
    names = ("allreduce", "reduce", "broadcast")
    plan = json.loads(plans.by_hand(4, {name: [(1024, None)] for name in names}))
    for entry in plan["entries"]:
        entry["rows"][0] |= {"native_s": allreduce_s if entry["collective"] == "allreduce" else 0.01}
    path.write_text(json.dumps(plan))
    return path


def test_what_a_plan_breaks_is_shown_and_written(
    eco: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = eco("guidelines", str(write_plan(tmp_path / "plan.json", 0.05)), "--json", "broken.json")
    assert ended.returncode == 0, ended.stderr
    assert "allreduce <= reduce + broadcast" in ended.stdout
    assert "2.50" in ended.stdout, "50 ms for what 20 ms do"
    found = json.loads(Path("broken.json").read_text())
    assert found["schema"] == "eco.guidelines"
    assert any(one for one in found["broken"].values())


def test_where_all_hold_nothing_is_listed(eco: Any, tmp_path: Path) -> None:
    ended = eco("guidelines", str(write_plan(tmp_path / "plan.json", 0.015)))
    assert ended.returncode == 0, ended.stderr
    assert "all hold" in ended.stdout
    assert "0 broken" in ended.stdout


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_what_holds_no_times_is_refused_in_a_line(eco: Any, tmp_path: Path, text: str) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    ended = eco("guidelines", str(bad))
    assert ended.returncode == 2
    assert "bad.json" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_words_it_says_what_to_give(eco: Any) -> None:
    ended = eco("guidelines")
    assert ended.returncode == 2
    assert "eco guidelines -- mpirun -n 8" in ended.stderr


@pytest.mark.parametrize("name", ["nope.json", "nope"])
def test_a_file_that_is_not_there_is_no_launcher(eco: Any, name: str) -> None:
    ended = eco("guidelines", name)
    assert (ended.returncode, f"{name}: neither a file nor a launcher" in ended.stderr) == (2, True)
