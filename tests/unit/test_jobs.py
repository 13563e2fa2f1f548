"""eco.jobs: what becomes of a job that does not end."""

from __future__ import annotations

import time

import pytest

from eco import jobs
from eco.errors import Timeout


def has_ended(pid: int) -> bool:
    stat = jobs._stat(pid)
    return not stat or stat[0] == "Z"  # which nobody has waited for


def test_ranks_that_their_launcher_leaves_behind_are_ended_with_it() -> None:
    # As of a launcher that is killed: in a session of their own, and holding on to its output.
    left_behind = "setsid sleep 40 & echo $!; wait"
    began_s = time.monotonic()
    with pytest.raises(Timeout, match="no end after 1 s") as raised:
        jobs.run_to_end(["sh", "-c", left_behind], 1)
    assert time.monotonic() - began_s < 30
    rank = int(str(raised.value).splitlines()[-1])
    # It lets go of its output a moment before it has ended.
    while not has_ended(rank) and time.monotonic() - began_s < 30:
        time.sleep(0.01)
    assert has_ended(rank)
