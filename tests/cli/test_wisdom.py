"""eco wisdom over a cache of its own: show, collect, merge, add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eco import plans

CHAIN, BINOMIAL = (
    f"broadcast/{name} segment=0 head=0 window=0 between=chain inside=chain" for name in ("chain", "binomial")
)


def write_plan(path: Path, recipe: str | None, **more: Any) -> Path:
    """A plan of four ranks for broadcasts of up to 1 KiB, measured."""
    plan = json.loads(plans.by_hand(4, {"broadcast": [(1024, recipe)]}))
    plan |= {"network": "n1", "library": "Open MPI 5.0.11", "made_by": "0.1 plans 3"} | more
    for row in plan["entries"][0]["rows"]:
        row |= {"predicted_s": 0.0, "measured_s": 0.001, "native_s": 0.002, "reason": "measured 2.00x"}
    path.write_text(json.dumps(plan))
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("ECO_CACHE_DIR", str(path))
    monkeypatch.chdir(tmp_path)
    return path


def test_a_plan_is_added_shown_and_collected(eco: Any, cache: Path, tmp_path: Path) -> None:
    ended = eco("wisdom", "show")
    assert ended.returncode == 0, ended.stderr
    assert "no plan" in ended.stdout
    ended = eco("wisdom", "collect", "-o", "all.json")
    assert ended.returncode == 1
    assert "eco tune makes one" in ended.stderr

    ended = eco("wisdom", "add", str(write_plan(tmp_path / "plan.json", CHAIN)))
    assert ended.returncode == 0, ended.stderr
    assert f"1 plans added to {cache}, 0 conflicts" in ended.stdout
    shown = eco("wisdom", "show").stdout
    assert "Open MPI 5.0.11" in shown
    ended = eco("wisdom", "collect", "-o", "all.json")
    assert ended.returncode == 0, ended.stderr
    assert eco("wisdom", "show", "all.json").stdout == shown


def test_files_are_merged_and_what_they_disagree_on_is_told(eco: Any, tmp_path: Path) -> None:
    a = write_plan(tmp_path / "a.json", CHAIN)
    b = write_plan(tmp_path / "b.json", BINOMIAL)
    ended = eco("wisdom", "merge", str(a), str(b), "-o", str(tmp_path / "both.json"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("1 plans in ")
    assert "both.json, 1 conflicts" in ended.stdout
    assert "conflict: " in ended.stderr
    assert "broadcast" in ended.stderr
    other = write_plan(tmp_path / "other.json", BINOMIAL, network="n2")
    ended = eco("wisdom", "merge", str(a), str(other), "-o", str(tmp_path / "two.json"))
    assert ended.stdout.startswith("2 plans in ")
    assert "two.json, 0 conflicts" in ended.stdout


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "eco.network", "version": 1}'])
@pytest.mark.parametrize("words", [("show",), ("add",), ("merge", "-o", "out.json")])
def test_what_is_no_wisdom_is_refused_in_a_line(
    eco: Any, cache: Path, tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    ended = eco("wisdom", words[0], str(bad), *words[1:])
    assert ended.returncode == 2
    assert "bad.json" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not cache.exists()
    assert not Path("out.json").exists()


def test_a_damaged_remembered_plan_is_left_out_and_named(eco: Any, cache: Path, tmp_path: Path) -> None:
    assert eco("wisdom", "add", str(write_plan(tmp_path / "plan.json", CHAIN))).returncode == 0
    (cache / "plans" / "damaged.json").write_text("{")
    ended = eco("wisdom", "show")
    assert ended.returncode == 0
    assert "left out" in ended.stderr
    assert "damaged.json" in ended.stderr
    assert "Open MPI 5.0.11" in ended.stdout
