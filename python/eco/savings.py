"""What a plan would save a program, by its profile and the plan's own measurements.

    for saving in savings(profile, plan): saving.operation, saving.seconds

Of a row's time what its ranks wait for late ones stays; the rest shrinks as the plan measured its recipe against the
library's own at that size. Only rows of a profile of the stock library, on communicators of as many ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eco.profile import Profile
from eco.profile import Row as Calls
from eco.wisdom import Plan, Row, is_measured


@dataclass(frozen=True)
class Saving:
    """What one row of a profile would take less, of the mean rank."""

    operation: str
    bytes: float | None  # mean; None where it isn't known
    seconds: float
    of_s: float  # that it takes now
    recipe: str | None  # None: the library's own stays
    why: str = ""  # where the plan says nothing of it
    is_least: bool = False  # may be more: the plan's library was not timed at this size, only at smaller ones


def plan_for(profile: Profile, plans: Iterable[Plan]) -> Plan | None:
    """Of those for as many ranks of the same library the one that knows most of the calls, by their time.

    A profile doesn't say on which hosts its ranks were: plans of another order of ranks are of other programs' calls.
    """
    fitting = [
        plan for plan in plans
        if len(plan["host_of_rank"]) == profile.ranks and plan["library"] == profile.library
    ]  # fmt: skip
    return max(fitting, key=lambda plan: _known_s(profile, plan), default=None)


def _known_s(profile: Profile, plan: Plan) -> float:
    return sum(saving.of_s for saving in savings(profile, plan) if not saving.why)


def serving(rows: Sequence[Row], size: int) -> tuple[Row | None, Row | None]:
    """The row that serves a size, and the nearest one at or above it that was measured."""
    above = [row for row in rows if row["up_to_bytes"] >= size]
    return (above[0] if above else None), next(filter(is_measured, above), None)


def savings(profile: Profile, plan: Plan) -> list[Saving]:
    """The greatest first. None of a profile whose calls ECO served already."""
    if profile.mode != "observe":
        return []
    waits: Mapping[tuple[str, int, int], float] = {late.key: late.waiting_s for late in profile.late}
    found = []
    for calls in profile.rows:
        if calls.communicator_ranks != profile.ranks:
            continue
        entry = next((one for one in plan["entries"] if one["collective"] == calls.operation), None)
        wait_s = waits.get((calls.operation, calls.communicator_ranks, calls.up_to_bytes), 0.0)
        found.append(_saving(calls, entry["rows"] if entry else None, wait_s))
    return sorted(found, key=lambda saving: -saving.seconds)


def _saving(calls: Calls, rows: Sequence[Row] | None, wait_s: float) -> Saving:
    if rows is None:
        return Saving(calls.operation, calls.mean_bytes, 0.0, calls.mean_s, None, "not planned")
    if calls.mean_bytes is None:
        return Saving(calls.operation, None, 0.0, calls.mean_s, None, "size not known")
    serves, evidence = serving(rows, round(calls.mean_bytes))
    if serves is None or evidence is None:
        return Saving(calls.operation, calls.mean_bytes, 0.0, calls.mean_s, None, "not measured at this size")
    if serves["recipe"] is None:
        return Saving(calls.operation, calls.mean_bytes, 0.0, calls.mean_s, None)
    share = max(0.0, 1 - evidence["measured_s"] / evidence["native_s"])
    working_s = max(0.0, calls.mean_s - calls.calls_of_a_rank * wait_s)
    return Saving(
        calls.operation,
        calls.mean_bytes,
        share * working_s,
        calls.mean_s,
        serves["recipe"],
        is_least=bool(evidence.get("native_is_least")),
    )
