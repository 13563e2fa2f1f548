"""A failing case made small: steps are taken out, then words, ranks and plans, as long as it fails.

    small, fault = Shrinker(place, timeout_s=20, until_s=time.monotonic() + 300).shrink(case, fault)

What a step gives does not depend on the others, so the library's own results are known for every case that has fewer
steps and are asked for anew only where a step or the number of ranks has changed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from eco.fuzz.recipes import Layout
from eco.fuzz.runs import Case, Entry, Fault, Place, RankSeen, Seen, compare, run
from eco.fuzz.steps import Step, members, repaired

#: Words that make a step harder, and what takes their place.
PLAINER: dict[str, str | None] = {
    "late": None, "layout": None,
    "alike": None, "wild": None, "holes": None, "turned": None, "uneven": None, "free": None,
    "in_place": None, "real": None, "root": None, "side": None, "type": "int",
}  # fmt: skip
#: Faults that come and go are looked for so often.
TRIES = 2


@dataclass
class Shrinker:
    """Shared by the attempts on one case."""

    place: Place
    timeout_s: float
    until_s: float  # time.monotonic()
    say: Callable[[str], None] = lambda text: None
    launches: int = 0
    _stock: dict[tuple[int, str], tuple[Entry | None, ...]] = field(default_factory=dict)

    def shrink(self, case: Case, fault: Fault) -> tuple[Case, Fault]:
        """Smaller, and failing; the case itself where its fault does not come again."""
        again = self._fault_of(case, fault.kind)
        if again is None:
            self.say("it did not fail again: kept as it is")
            return case, fault
        best, fault = case, again
        while True:
            before = best
            for smaller in (self._fewer_steps, self._fewer_ranks, self._plainer_steps, self._smaller_counts,
                            self._fewer_plans):  # fmt: skip
                best, fault = smaller(best, fault)
                self.say(f"{len(best.program)} steps, {best.ranks} ranks after {self.launches} launches")
            if best == before or self._is_late():
                return best, fault

    def _is_late(self) -> bool:
        return time.monotonic() > self.until_s

    def _first_failing(
        self, candidates: Iterable[Case], best: Case, fault: Fault
    ) -> tuple[Case, Fault, bool]:
        for candidate in candidates:
            if self._is_late():
                break
            found = self._fault_of(candidate, fault.kind)
            if found is not None:
                return candidate, found, True
        return best, fault, False

    def _until_none_fails(self, candidates: Callable[[Case, Fault], Iterable[Case]], best: Case, fault: Fault
                          ) -> tuple[Case, Fault]:  # fmt: skip
        more = True
        while more:
            best, fault, more = self._first_failing(candidates(best, fault), best, fault)
        return best, fault

    def _fewer_steps(self, best: Case, fault: Fault) -> tuple[Case, Fault]:
        best, fault, _ = self._first_failing(_guesses(best, fault), best, fault)
        pieces = 2
        while len(best.program) > 1 and not self._is_late():
            best, fault, fewer = self._first_failing(_without_a_piece(best, pieces), best, fault)
            if fewer:
                pieces = max(2, pieces - 1)
            elif pieces >= len(best.program):
                break
            else:
                pieces = min(len(best.program), pieces * 2)
        return best, fault

    def _fewer_ranks(self, best: Case, fault: Fault) -> tuple[Case, Fault]:
        best, fault, _ = self._first_failing(
            (_of_ranks(best, ranks) for ranks in range(2, best.ranks)), best, fault)  # fmt: skip
        return best, fault

    def _plainer_steps(self, best: Case, fault: Fault) -> tuple[Case, Fault]:
        return self._until_none_fails(lambda case, _: _plainer(case), best, fault)

    def _smaller_counts(self, best: Case, fault: Fault) -> tuple[Case, Fault]:
        return self._until_none_fails(lambda case, _: _smaller(case), best, fault)

    def _fewer_plans(self, best: Case, fault: Fault) -> tuple[Case, Fault]:
        return self._until_none_fails(lambda case, _: _less_planned(case), best, fault)

    def _fault_of(self, case: Case, kind: str) -> Fault | None:
        """Of this kind alone: among hundreds of launches one may end for reasons of its own."""
        stock = self._stock_of(case)
        if stock is None:
            return None
        for _ in range(TRIES):
            self.launches += 1
            found = compare(case, stock, run(case, self.place, True, self.timeout_s))
            if found is not None and found.kind == kind:
                return found
        return None

    def _stock_of(self, case: Case) -> Seen | None:
        """What the library alone gives; None where it does not run this."""
        keys = [(case.ranks, step.text()) for step in case.program]
        if not all(key in self._stock for key in keys):
            self.launches += 1
            seen = run(case, self.place, False, self.timeout_s)
            if not seen.is_good:
                return None
            for key, step in zip(keys, case.program, strict=True):
                self._stock[key] = tuple(rank.entries.get(step.id) for rank in seen.ranks)
            return seen
        return Seen(tuple(
            RankSeen(0, False, True, {
                step.id: entry for key, step in zip(keys, case.program, strict=True)
                if (entry := self._stock[key][rank]) is not None
            }) for rank in range(case.ranks)
        ))  # fmt: skip


def _with(case: Case, steps: Iterable[Step]) -> Case:
    return replace(case, program=repaired(tuple(steps)))


def _guesses(case: Case, fault: Fault) -> Iterator[Case]:
    """The step that failed with what it needs; all up to it."""
    needed, comms = set[int](), set[int]()
    for step in reversed(case.program):
        if step.id == fault.step or (step.verb == "comm" and step.number("id") in comms):
            needed.add(step.id)
            comms.add(step.number("of" if step.verb == "comm" else "on"))
    for steps in ([step for step in case.program if step.id in needed],
                  [step for step in case.program if step.id <= fault.step]):  # fmt: skip
        guess = _with(case, steps)
        if guess.program and len(guess.program) < len(case.program):
            yield guess


def _without_a_piece(case: Case, pieces: int) -> Iterator[Case]:
    """Each of so many runs of steps taken out, the last first: late steps seldom matter."""
    n = len(case.program)
    for i in reversed(range(pieces)):
        start, end = i * n // pieces, (i + 1) * n // pieces
        fewer = _with(case, case.program[:start] + case.program[end:])
        if start < end and fewer.program:
            yield fewer


def _of_ranks(case: Case, ranks: int) -> Case:
    """Plans are for groups of ranks: those of groups that lose some are written for the ranks that are left."""
    layout = Layout(case.layout.network, case.layout.hosts[:ranks])
    before, now = members(case.program, case.ranks), members(case.program, ranks)
    hosts_of: dict[tuple[int, ...], tuple[int, ...]] = {}
    for comm, groups in before.items():
        for old, new in zip(groups, now.get(comm, []), strict=False):
            hosts_of.setdefault(_hosts(case.layout, old), _hosts(layout, new))
    plans = []
    for text in case.plans:
        plan = json.loads(text)
        hosts = tuple(plan["host_of_rank"])
        plans.append(json.dumps({**plan, "host_of_rank": list(hosts_of.get(hosts, hosts))}))
    return replace(case, ranks=ranks, layout=layout, plans=tuple(plans))


def _hosts(layout: Layout, group: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(layout.hosts[rank] for rank in group)


def _changed(case: Case, old: Step, **words: object) -> Case:
    return _with(case, (step.changed(**words) if step is old else step for step in case.program))


def _plainer(case: Case) -> Iterator[Case]:
    for step in case.program:
        if not step.is_call:
            continue
        if step.words.get("form", "blocking") != "blocking":
            yield _changed(case, step, form="blocking", request=None, free=None)
        for name, plain in PLAINER.items():
            if name in step.words and step.words[name] != plain:
                yield _changed(case, step, **{name: plain})


def _smaller(case: Case) -> Iterator[Case]:
    for step in case.program:
        count = step.number("count")
        # Halfway to the count, and halfway again: the least that fails is found in as many steps as it has digits.
        halfway = {count - (count >> k) for k in range(1, count.bit_length() + 1)}
        for fewer in sorted({0, 1, count // 16, *halfway}):
            if step.is_call and 0 <= fewer < count:
                yield _changed(case, step, count=fewer)


def _less_planned(case: Case) -> Iterator[Case]:
    for i, text in enumerate(case.plans):
        plan = json.loads(text)
        rest = [case.plans[:i], case.plans[i + 1 :]]
        if len(case.plans) > 1:
            yield replace(case, plans=rest[0] + rest[1])
        entries = plan["entries"]
        for entry in entries if len(entries) > 1 else ():
            for fewer in ([entry], [other for other in entries if other is not entry]):
                if len(fewer) < len(entries):
                    yield _replanned(case, i, {**plan, "entries": fewer})
        for k, entry in enumerate(entries if len(entries) == 1 else ()):
            for row in entry["rows"] if len(entry["rows"]) > 1 else ():
                yield _replanned(case, i, {**plan, "entries": [
                    {**other, "rows": [row]} if j == k else other for j, other in enumerate(entries)
                ]})  # fmt: skip


def _replanned(case: Case, i: int, plan: object) -> Case:
    return replace(case, plans=(*case.plans[:i], json.dumps(plan), *case.plans[i + 1 :]))
