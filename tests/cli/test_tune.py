"""eco tune with a launcher and an eco-rank that are scripts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eco.collectives import COLLECTIVES


def test_it_tunes_what_is_asked_for_and_leaves_no_files(fakes: Any, eco: Any) -> None:
    ended = eco("tune", "--sizes", "8,16KiB", "--", "mpirun", "-n", "8")
    assert ended.returncode == 0, ended.stderr
    assert "network and plan are remembered; of 3 cells ECO serves 1, the library 2" in ended.stdout
    network, told = fakes.told()
    assert "--network-only" in network["words"]
    words = told["words"]
    assert words[0] == "tune"
    assert words[words.index("--sizes") + 1] == "8,16384"
    assert words[words.index("--ops") + 1].split(",") == list(COLLECTIVES)
    assert told["ECO"] == "off"  # eco-rank tunes by itself; nothing is under it
    assert list(Path().iterdir()) == []


def test_it_plans_for_the_operations_that_are_named(fakes: Any, eco: Any) -> None:
    assert eco("tune", "--ops", "allgather,scan", "--", "mpirun").returncode == 0
    words = fakes.told()[-1]["words"]
    assert words[words.index("--ops") + 1] == "allgather,scan"
    ended = eco("tune", "--ops", "bcast", "--", "mpirun")
    assert ended.returncode == 2
    assert "bcast" in ended.stderr


def test_a_budget_is_shared_by_network_and_plan(fakes: Any, eco: Any) -> None:
    assert eco("tune", "--budget", "600", "--", "mpirun").returncode == 0
    network, plan = (one["words"] for one in fakes.told())
    assert "--budget" not in network
    assert 0 < float(plan[plan.index("--budget") + 1]) < 600
    assert eco("tune", "--", "mpirun").returncode == 0
    assert "--budget" not in fakes.told()[-1]["words"]


def test_a_profile_says_what_is_tuned(fakes: Any, eco: Any) -> None:
    row = {"communicator_ranks": 8, "up_to_bytes": 4096, "calls": 8, "ranks": 8, "least_s": 0.1, "most_s": 0.2,
           "most_rank": 0, "fates": {}}  # fmt: skip
    rows = [
        {"operation": "scan", "bytes": 800, "largest_bytes": 100, "seconds": 1.0, **row},
        {"operation": "alltoall", "bytes": 32768, "seconds": 3.0, **row},
    ]
    document = {"schema": "eco.profile", "version": 1, "library": "Open MPI 5", "mode": "observe", "ranks": 8,
                "times": [], "communicators": [], "rows": rows}  # fmt: skip
    Path("profile.json").write_text(json.dumps(document))
    ended = eco("tune", "--profile", "profile.json", "--budget", "6000", "--", "mpirun", "-n", "8")
    assert ended.returncode == 0, ended.stderr
    plans = [told["words"] for told in fakes.told() if "--network-only" not in told["words"]]
    asked = [[words[words.index(name) + 1] for name in ("--ops", "--sizes", "--budget")] for words in plans]
    assert [words[:2] for words in asked] == [["alltoall", "4096"], ["scan", "100"]]
    # Of what finding the network has left of it, which on a slow machine is seconds less.
    assert 4000 < float(asked[0][2]) <= 4500, "three quarters of the time, so of the budget"
    assert len(fakes.told()) == len(plans) + 1, "the network is looked for once"
    Path("profile.json").write_text(json.dumps({**document, "rows": []}))
    ended = eco("tune", "--profile", "profile.json", "--", "mpirun", "-n", "8")
    assert (ended.returncode, "no collective of all 8 ranks" in ended.stderr) == (2, True)
    ended = eco("tune", "--profile", "profile.json", "--ops", "scan", "--", "mpirun", "-n", "8")
    assert (ended.returncode, "give no --ops" in ended.stderr) == (2, True)


def test_more_effort_is_asked_for_and_what_is_known_is_kept_unless_anew(fakes: Any, eco: Any) -> None:
    assert eco("tune", "--", "mpirun").returncode == 0
    words = fakes.told()[-1]["words"]
    assert (words[words.index("--effort") + 1], "--anew" in words) == ("measure", False)
    assert eco("tune", "--effort", "exhaustive", "--anew", "--", "mpirun").returncode == 0
    words = fakes.told()[-1]["words"]
    assert (words[words.index("--effort") + 1], "--anew" in words) == ("exhaustive", True)


def test_what_goes_on_does_not_begin_anew(fakes: Any, eco: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RANK", "dies")
    assert "and the same command goes on from there" in eco("tune", "--", "mpirun").stderr
    assert "eco tune without --anew goes on from there" in eco("tune", "--anew", "--", "mpirun").stderr


def test_an_estimate_measures_no_network_and_is_written(fakes: Any, eco: Any) -> None:
    ended = eco("tune", "--effort", "estimate", "--out", "plan.json", "--", "mpirun")
    assert ended.returncode == 0, ended.stderr
    assert "nothing was measured" in ended.stdout
    assert ["--network-only" in one["words"] for one in fakes.told()] == [False]
    assert len(json.loads(Path("plan.json").read_text())["entries"]) == 1
    ended = eco("tune", "--effort", "estimate", "--", "mpirun")
    assert (ended.returncode, "--out" in ended.stderr) == (2, True)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_the_ranks_and_says_that_it_goes_on(
    fakes: Any, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    monkeypatch.setenv("FAKE_RANK", "hangs")
    monkeypatch.setenv("FAKE_PID", str(fakes.log.with_name("pid")))
    # Jobs in the background of a shell begin with SIGINT ignored, and so do their children.
    command = [
        "env",
        "--default-signal=INT",
        sys.executable,
        "-m",
        "eco.cli.main",
        "tune",
        "--",
        "mpirun",
        "-n",
        "8",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            _until(lambda: (fakes.log.with_name("pid")).exists())
            process.send_signal(number)
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == code
    assert "goes on from there" in errors
    rank = int(fakes.log.with_name("pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(rank, 0)
    assert list(Path().iterdir()) == []


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")


@pytest.mark.parametrize(
    ("mode", "code", "said"),
    [
        ("refuses", 1, "ranks run different versions of ECO"),
        ("fails", 1, "no space in the cache"),
        ("dies", 1, "host b vanished"),
        ("useless", 0, ""),
    ],
)
def test_it_says_why_there_is_no_plan(
    fakes: Any, eco: Any, monkeypatch: pytest.MonkeyPatch, mode: str, code: int, said: str
) -> None:
    monkeypatch.setenv("FAKE_RANK", mode)
    ended = eco("tune", "--", "mpirun", "-n", "8")
    assert ended.returncode == code
    assert said in ended.stderr


def test_it_brings_its_own_program(fakes: Any, eco: Any) -> None:
    ended = eco("tune", "--", "mpirun", "-n", "8", "./app")
    assert ended.returncode == 2
    assert "brings its own" in ended.stderr
    assert fakes.told() == []
