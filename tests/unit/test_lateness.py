"""Who is late, from ranks' arrivals; and what a plan would save."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eco import plans
from eco.lateness import Arrival, Late, bracket, culprits, lateness, waited_for
from eco.profile import merge
from eco.savings import plan_for, savings

MS = 1_000_000


def of_rank(
    rank: int, late_ns: int, ahead_ns: int = 0, drift: float = 0.0, calls: int = 10
) -> dict[str, Any]:
    """A rank that comes so late to every call, by a clock that is ahead and drifts."""

    def clock(at: int) -> int:
        return round(at + ahead_ns + drift * at)

    arrivals = [
        [0, i, "allreduce", 1000, clock(100 * MS * (i + 1) + late_ns), 30 * MS - late_ns]
        for i in range(calls)
    ]
    return {
        "rank": rank, "wall_s": 2.0, "arming_s": 0.0, "communicators": [],
        "clock_at_start_ns": [clock(i + 1) for i in range(5)],
        "clock_at_end_ns": [clock(2000 * MS + i) for i in range(5)],
        "arrivals": {"stride": 1, "groups": [[0, 1, 2]], "calls": arrivals},
        "calls": [{"operation": "allreduce", "communicator_ranks": 3, "up_to_bytes": 1024, "fate": "communicator",
                   "calls": calls, "bytes": 1000 * calls, "seconds": 0.03 * calls}],
    }  # fmt: skip


def document(*profiles: dict[str, Any], one_clock: bool = False) -> dict[str, Any]:
    return {"library": "Open MPI 5.0.11", "mode": "observe", "ranks": len(profiles), "one_clock": one_clock,
            "profiles": list(profiles)}  # fmt: skip


def test_the_late_rank_has_a_name() -> None:
    (late,) = lateness(document(of_rank(0, 0), of_rank(1, 20 * MS), of_rank(2, 2 * MS), one_clock=True))
    assert (late.operation, late.communicator_ranks, late.up_to_bytes, late.calls) == (
        "allreduce",
        3,
        1024,
        10,
    )
    assert (late.rank, late.share) == (1, 1.0)
    assert late.spread_s == pytest.approx(0.020)
    assert late.behind_s == pytest.approx(0.018)
    assert late.waiting_s == pytest.approx((20 + 0 + 18) / 3 * 1e-3)
    assert late.waited_for_s == pytest.approx({1: 10 * 0.038})


def test_who_was_held_up_itself_is_not_to_blame() -> None:
    """A reduce to rank 0, to which rank 2 comes 20 ms late, and a broadcast by rank 0 of what came of it."""
    calls = []
    for turn in range(4):
        at = 100 * turn * MS
        calls.append([Arrival(0, at, 21 * MS), Arrival(1, at, MS), Arrival(2, at + 20 * MS, MS)])
        calls.append([
            Arrival(0, at + 22 * MS, MS), Arrival(1, at + 2 * MS, 21 * MS), Arrival(2, at + 21 * MS, 2 * MS)
        ])  # fmt: skip
    assert culprits(calls) == [2] * 8
    # Its own work is what makes it late if that is longer than it had waited.
    calls[1][0] = Arrival(0, 60 * MS, MS)
    assert culprits(calls) == [2, 0] + [2] * 6
    # Nor is anybody else to blame for who did not wait in the call before.
    assert culprits(
        [[Arrival(0, 0, MS), Arrival(1, 0, MS)], [Arrival(0, 50 * MS, MS), Arrival(1, 2 * MS, 50 * MS)]]
    ) == [0, 0]


def test_clocks_that_are_ahead_and_drift_are_put_right() -> None:
    far = 10**15
    apart = document(of_rank(0, 0), of_rank(1, 5 * MS, far, 1e-4), of_rank(2, 0, -far, -1e-4))
    (late,) = lateness(apart)
    assert (late.rank, late.share) == (1, 1.0)
    assert late.spread_s == pytest.approx(0.005, abs=2e-5)
    for profile in apart["profiles"]:
        profile["clock_at_end_ns"] = [0] * 5  # the job ended otherwise than by MPI_Finalize
    assert lateness(apart) == ()


def test_only_calls_that_all_ranks_have_kept_count() -> None:
    some = of_rank(2, 0)
    some["arrivals"]["calls"] = some["arrivals"]["calls"][::4]
    (late,) = lateness(document(of_rank(0, 0), of_rank(1, MS), some, one_clock=True))
    assert late.calls == 3
    assert lateness(document(of_rank(0, 0), of_rank(1, MS), one_clock=True)) == (), (
        "one rank reported nothing"
    )
    older = {key: value for key, value in of_rank(0, 0).items() if key != "arrivals"}
    assert lateness(document(older)) == ()


def test_whom_others_wait_for_is_told_by_seconds_and_not_by_calls() -> None:
    late = {"behind_s": 0.0, "share": 0.5}
    rows = [
        Late("broadcast", 8, 65536, 40, 0.08, 5, waiting_s=0.06, waited_for_s={5: 19.0, 3: 0.2}, **late),
        Late("allreduce", 8, 8, 400, 0.001, 3, waiting_s=0.0005, waited_for_s={3: 0.8, 5: 0.8}, **late),
        Late("barrier", 8, 0, 9000, 1e-6, 1, waiting_s=1e-6, waited_for_s={1: 0.07}, **late),
    ]
    assert waited_for(rows) == pytest.approx({5: 19.8, 3: 1.0, 1: 0.07})
    assert list(waited_for(rows)) == [5, 3, 1]
    assert list(waited_for(rows, clock_error_s=2e-6)) == [5, 3], "what clocks can't tell apart"


def test_brackets_are_those_of_the_profiles_rows() -> None:
    assert [bracket(size) for size in (0, 1, 2, 3, 1000, 1024, 1025)] == [0, 1, 2, 4, 1024, 1024, 2048]
    assert bracket(1 << 60) == 1 << 40


def plan(recipe: str | None) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(plans.by_hand(3, {"allreduce": [(1023, None), (4096, recipe)]}))
    made["library"] = "Open MPI 5.0.11"
    made["entries"][0]["rows"][0]["up_to_bytes"] = 512
    made["entries"][0]["rows"][1] |= {"native_s": 0.02, "measured_s": 0.005}
    return made


def test_what_is_waited_for_is_not_saved() -> None:
    found = merge(document(of_rank(0, 0), of_rank(1, 0), of_rank(2, 20 * MS), one_clock=True))
    assert plan_for(found, [{**plan(None), "library": "MPICH 5.0.2"}]) is None
    other = plan("allreduce/ring")
    other["entries"] = []
    assert plan_for(found, [other, plan("allreduce/ring")]) == plan("allreduce/ring"), "it knows more calls"
    chosen = plan_for(found, [plan("allreduce/ring")])
    assert chosen is not None
    (saving,) = savings(found, chosen)
    assert saving.of_s == pytest.approx(0.3)
    assert saving.seconds == pytest.approx(0.75 * 10 * (0.030 - 0.040 / 3))
    assert saving.recipe == "allreduce/ring"
    assert not saving.is_least
    least = plan("allreduce/ring")
    least["entries"][0]["rows"][1]["native_is_least"] = True
    assert savings(found, least)[0].is_least, "the plan's library was not timed at this size"
    (native,) = savings(found, plan(None))
    assert (native.seconds, native.recipe, native.why) == (0.0, None, "")
    assert savings(found, {**plan(None), "entries": []})[0].why == "not planned"
