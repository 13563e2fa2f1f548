"""eco export with a launcher and an eco-rank that are scripts; tests/unit/test_export.py has its parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WORDS = ("export", "--to", "openmpi", "--out", "rules", "--ops", "broadcast", "--sizes", "8,16KiB")
LAUNCHER = ("--", "mpirun", "-n", "8")


def test_it_measures_writes_and_says_how_to_use_it(fakes: Any, eco: Any) -> None:
    ended = eco(*WORDS, *LAUNCHER)
    assert ended.returncode == 0, ended.stderr
    assert "source rules/env.sh" in ended.stdout
    assert "4.00" in ended.stdout
    assert "basic_linear" in Path("rules/openmpi.rules").read_text()
    assert json.loads(Path("rules/record.json").read_text())["library"] == "Open MPI 5.0.11"
    assert {told["ECO"] for told in fakes.told()} == {"off"}, "the library alone"
    assert sorted(path.name for path in Path("rules").iterdir()) == ["env.sh", "openmpi.rules", "record.json"]
    assert [path.name for path in Path().iterdir()] == ["rules"]
    # All is there already: only a look at the ranks, and the same files.
    launches = len(fakes.told())
    assert eco(*WORDS, *LAUNCHER).returncode == 0
    assert len(fakes.told()) == launches + 1
    # And without any rank.
    Path("rules/env.sh").unlink()
    ended = eco("export", "--from", "rules/record.json")
    assert ended.returncode == 0, ended.stderr
    assert Path("rules/env.sh").exists()
    assert len(fakes.told()) == launches + 1


def test_a_budget_ends_it_and_the_same_command_goes_on(fakes: Any, eco: Any) -> None:
    for seen in range(3):
        ended = eco(*WORDS, "--budget", "0", *LAUNCHER)
        assert ended.returncode == 0, ended.stderr
        assert "goes on" in ended.stdout
        record = json.loads(Path("rules/record.json").read_text())
        assert len(record["launches"]) == seen + 1, "one launch is made, whatever the budget"
    ended = eco(*WORDS, *LAUNCHER)
    assert "goes on" not in ended.stdout
    assert Path("rules/env.sh").exists()


def test_nothing_gained_is_said(fakes: Any, eco: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LINEAR_S", "0.004")
    ended = eco(*WORDS, *LAUNCHER)
    assert ended.returncode == 0, ended.stderr
    assert "the library's own choices are as good" in ended.stdout
    assert [path.name for path in Path("rules").iterdir()] == ["record.json"]


def test_an_unknown_version_is_refused_before_anything_is_measured(
    fakes: Any, eco: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_LIBRARY", "Open MPI 8.0.0")
    ended = eco(*WORDS, *LAUNCHER)
    assert ended.returncode == 1
    assert "Open MPI 8.0.0 is a version whose decision files nobody has looked at" in ended.stderr
    assert len(fakes.told()) == 1
    assert not Path("rules").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", *LAUNCHER), "--to (openmpi, mpich, ucc) and --out DIR are needed"),
        (("export", "--to", "nccl", "--out", "rules", *LAUNCHER), "expected one of openmpi, mpich, ucc"),
        (("export", "--to", "openmpi", "--out", "rules"), "give either --lab F.toml, or a launcher"),
        (("export", "--to", "mpich", "--out", "rules", *LAUNCHER), "give a launcher of that library"),
        ((*WORDS[:5], "--ops", "bcast", *LAUNCHER), "operation 'bcast'"),
        ((*WORDS, *LAUNCHER, "./app"), "brings its own"),
        (("export", "--from", "none.json"), "none.json"),
        (("export", "--from", "none.json", "--to", "openmpi"), "give no launcher, --lab or --to"),
    ],
)
def test_what_is_wrong_is_said(fakes: Any, eco: Any, words: tuple[str, ...], said: str) -> None:
    ended = eco(*words)
    assert ended.returncode in (1, 2)
    assert said in ended.stderr
    assert not Path("rules").exists()


def test_a_record_of_another_task_is_not_mixed_in(fakes: Any, eco: Any) -> None:
    assert eco(*WORDS, "--budget", "0", *LAUNCHER).returncode == 0
    ended = eco(*WORDS[:-1], "8", *LAUNCHER)
    assert ended.returncode == 2
    assert "give another --out" in ended.stderr


def test_a_candidate_with_wrong_results_ends_the_default_only(
    fakes: Any, eco: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_RANK", "wrong")
    ended = eco(*WORDS, *LAUNCHER)
    assert ended.returncode == 1
    assert "wrong results of broadcast, run as default" in ended.stderr
