"""Who is late: the ranks' arrivals at the same calls, by one clock.

    for late in lateness(document): late.operation, late.rank, late.share, late.behind_s

Every rank kept when it came to some of its calls (preload/backend/arrivals.h). On one machine all ranks read one clock.
Between machines their clocks are compared after some barriers, in MPI_Init and in MPI_Finalize, and taken to drift
evenly between; ranks leave a barrier a message's time apart, and what is less than that is not seen.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Brackets of sizes end here, as those of the profile's rows do.
MOST_BITS = 40


@dataclass(frozen=True)
class Late:
    """Calls of one operation and size on communicators of so many ranks: how far apart their ranks came."""

    operation: str
    communicator_ranks: int
    up_to_bytes: int
    calls: int  # that all of their ranks have kept
    spread_s: float  # median over calls: the last rank after the first
    rank: int  # who came last most often
    share: float  # of the calls
    behind_s: float  # median over the calls in which it came last: after the middle one of the ranks
    waiting_s: float  # of a call and the mean rank: until the last has come, as far as the call took so long
    waited_for_s: Mapping[int, float] = field(default_factory=dict)  # all ranks and calls: by culprits()

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.operation, self.communicator_ranks, self.up_to_bytes)


@dataclass(frozen=True)
class Arrival:
    """One rank at one call."""

    rank: int
    at_ns: float  # by rank 0's clock
    took_ns: float


def bracket(size: int) -> int:
    """The largest size of the bracket that holds this one: a power of two."""
    return 0 if size == 0 else 1 << min((size - 1).bit_length(), MOST_BITS)


def clock_of(profile: Mapping[str, Any], first: Mapping[str, Any]) -> Callable[[float], float] | None:
    """From a rank's clock to that of the first one; None where there are no readings at both ends."""
    names = ("clock_at_start_ns", "clock_at_end_ns")
    mine, others = ([one.get(name, []) for name in names] for one in (profile, first))
    if not all(all(readings) and readings for readings in (*mine, *others)):
        return None
    ahead = [
        statistics.median(m - o for m, o in zip(of_mine, of_other, strict=True))
        for of_mine, of_other in zip(mine, others, strict=True)
    ]
    began, ended = mine[0][0], mine[1][-1]
    drift = (ahead[1] - ahead[0]) / max(1, ended - began)
    return lambda at: at - ahead[0] - drift * (at - began)


def clock_error_s(profiles: Sequence[Mapping[str, Any]]) -> float:
    """How far readings at the same instants differ from each other, at most: what arrivals are uncertain by."""
    worst = 0.0
    for name in ("clock_at_start_ns", "clock_at_end_ns"):
        for profile in profiles:
            ahead = [m - o for m, o in zip(profile.get(name, []), profiles[0].get(name, []), strict=False)]
            worst = max(worst, max(ahead) - min(ahead)) if ahead else worst
    return worst * 1e-9


def lateness(document: Mapping[str, Any]) -> tuple[Late, ...]:
    """Of a file of ECO_PROFILE; the calls that wait most come first. Nothing where arrivals can't be compared."""
    profiles = [profile for profile in document["profiles"] if "arrivals" in profile]
    if not profiles:
        return ()
    one_clock = bool(document.get("one_clock", False))
    calls: dict[tuple[tuple[int, ...], int, str], list[tuple[Arrival, int]]] = defaultdict(list)
    for profile in profiles:
        clock = (lambda at: at) if one_clock else clock_of(profile, profiles[0])
        if clock is None:
            return ()
        groups = [tuple(group) for group in profile["arrivals"]["groups"]]
        for group, number, operation, size, began_ns, took_ns in profile["arrivals"]["calls"]:
            arrival = Arrival(int(profile["rank"]), clock(began_ns), took_ns)
            calls[groups[group], number, operation].append((arrival, size))
    whole = {key: arrivals for key, arrivals in calls.items() if len(arrivals) == len(key[0])}
    of_calls = [[arrival for arrival, _ in arrivals] for arrivals in whole.values()]
    rows: dict[tuple[str, int, int], list[tuple[Sequence[Arrival], int]]] = defaultdict(list)
    for ((ranks, _, operation), arrivals), call, culprit in zip(
        whole.items(), of_calls, culprits(of_calls), strict=True
    ):
        size = max(size for _, size in arrivals)
        rows[operation, len(ranks), bracket(size)].append((call, culprit))
    found = [_late(key, *zip(*of_row, strict=True)) for key, of_row in rows.items()]
    return tuple(sorted(found, key=lambda late: -late.calls * late.waiting_s))


def last_of(call: Sequence[Arrival]) -> Arrival:
    return max(call, key=lambda arrival: arrival.at_ns)


def culprits(calls: Sequence[Sequence[Arrival]]) -> list[int]:
    """Whom each call waited for: who came last, or, where that one was held up, whom it had waited for itself.

    It was held up if in its own call before it waited for somebody for half of what it came late by, and for longer
    than it then did anything else: the root of a reduce, say, which broadcasts what came of it.
    """
    lasts = [last_of(call) for call in calls]
    own: dict[int, list[tuple[float, int, float]]] = defaultdict(list)
    for index, call in enumerate(calls):
        for arrival in call:
            own[arrival.rank].append((arrival.at_ns, index, arrival.took_ns))
    for of_rank in own.values():
        of_rank.sort()
    found = [last.rank for last in lasts]
    for index in sorted(range(len(calls)), key=lambda index: lasts[index].at_ns):
        last = lasts[index]
        place = bisect_left(own[last.rank], (last.at_ns,)) - 1
        if place < 0:
            continue
        at_ns, before, took_ns = own[last.rank][place]
        waited_ns = min(took_ns, lasts[before].at_ns - at_ns)
        late_ns = last.at_ns - min(arrival.at_ns for arrival in calls[index])
        if waited_ns > 0 and 2 * waited_ns >= late_ns and last.at_ns - (at_ns + took_ns) <= waited_ns:
            found[index] = found[before]
    return found


def waited_for(late: Iterable[Late], clock_error_s: float = 0.0) -> dict[int, float]:
    """Seconds that all ranks together waited for each rank to come, the most first.

    Not of rows whose ranks come as close together as clocks can be compared.
    """
    seconds: dict[int, float] = defaultdict(float)
    for row in late:
        if row.spread_s > clock_error_s:
            for rank, waited_s in row.waited_for_s.items():
                seconds[rank] += waited_s
    return dict(sorted(seconds.items(), key=lambda of: -of[1]))


def _late(key: tuple[str, int, int], calls: Sequence[Sequence[Arrival]], waited_for: Sequence[int]) -> Late:
    last = [last_of(call) for call in calls]
    spreads = [
        one.at_ns - min(arrival.at_ns for arrival in call) for one, call in zip(last, calls, strict=True)
    ]
    rank, times = Counter(one.rank for one in last).most_common(1)[0]
    behind = [
        one.at_ns - statistics.median_low(arrival.at_ns for arrival in call)
        for one, call in zip(last, calls, strict=True)
        if one.rank == rank
    ]
    waits = [
        math.fsum(min(arrival.took_ns, one.at_ns - arrival.at_ns) for arrival in call)
        for one, call in zip(last, calls, strict=True)
    ]
    waited_for_s: dict[int, float] = defaultdict(float)
    for culprit, wait in zip(waited_for, waits, strict=True):
        waited_for_s[culprit] += wait * 1e-9
    return Late(
        *key,
        calls=len(calls),
        spread_s=statistics.median(spreads) * 1e-9,
        rank=rank,
        share=times / len(calls),
        behind_s=statistics.median(behind) * 1e-9,
        waiting_s=statistics.fmean(waits) / key[1] * 1e-9,
        waited_for_s=dict(waited_for_s),
    )
