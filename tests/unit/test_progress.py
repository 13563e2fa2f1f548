"""eco.report.progress: what is said of long work where there is no terminal."""

import io
from typing import Any

import pytest
from rich.console import Console

from eco.report import progress


def told(console: Console, capsys: pytest.CaptureFixture[str]) -> str:
    with progress.launch_progress(console, 4) as launch:
        launch("stock launch")
        launch("eco launch")
    with progress.task_progress(console, "verify", 3) as task:
        task("broadcast/chain")
    with progress.rank_progress(console) as begin:
        watch = begin("tuning")
        watch("nothing of it")
        watch("eco-rank: 25 % allreduce of 8 B")
    out, err = capsys.readouterr()
    assert not out
    return err


def test_a_pipe_gets_lines_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe: Any = Console(file=io.StringIO())
    assert told(pipe, capsys) == ""
    monkeypatch.setattr(progress, "SAYS_EVERY_S", 0.0)
    assert told(pipe, capsys).splitlines() == [
        "stock launch, launch 1 of 4",
        "eco launch, launch 2 of 4",
        "verify: broadcast/chain, 1 of 3",
        "tuning: allreduce of 8 B, 25%",
    ]
    assert told(Console(file=io.StringIO(), force_terminal=True), capsys) == "", "it has a bar"
