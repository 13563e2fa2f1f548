"""Programs, plans and launches until enough calls have been compared.

    outcome = Campaign(place, Options(calls=3000, seed=1, ranks=4), identity, console).run()
    outcome.faults[0].file                     # the case, made small, for `eco fuzz --replay`

Each program runs once without ECO and some times with it, each time on another plan by dice.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eco import _core, jobs
from eco.errors import EcoError
from eco.fuzz import recipes, runs
from eco.fuzz.generate import Generator, Quirks
from eco.fuzz.recipes import Layout
from eco.fuzz.runs import NATIVE, Case, Fault, Place
from eco.fuzz.shrink import Shrinker
from eco.fuzz.steps import calls_in, members

#: Networks that ranks of one host are told they are on: subnets and hosts of every kind.
NETWORKS = (
    "hosts=1", "hosts=1", "hosts=1+1", "hosts=2+1", "hosts=2+2", "hosts=1+1+1", "hosts=3+2 kind=bus",
    "hosts=1+1+1 sites=1+1+2", "hosts=2+1+1+2 sites=1+2+1+2",
)  # fmt: skip
#: Communicators are armed in their first call, or in one of the next.
ARM_AFTER = ("0", "0", "1", "3")
#: In turn: half of the launches with ECO form around late ranks.
LATE = ("off", "mended", "off", "breadth_first")
#: In turn: half of the launches with ECO change recipes as if there were ambient traffic now and then.
AMBIENT = ("off", "off", "always", "always")
#: Without ECO too. Open MPI 5.0.11 has no calls with large counts, breaks down when a communicator is freed while
#: a nonblocking call is under way on it, takes places for numbers of elements in an alltoallw of one rank, and
#: does not end an ialltoallw in place that has blocks of nothing. MPICH 5.0.2 passes blocks on as bytes in trees
#: and refuses them where two types were sent; writes behind its own memory in a reduce_scatter_block by an
#: operation that does not commute, of 16 elements with gaps or more; and cuts an allgatherv of long blocks by the
#: extent of each rank's datatype, so that ranks whose datatypes differ expect other messages than are sent. Over UCX,
#: as in the lab, it never completes a receive from MPI_ANY_SOURCE of a message that was there before.
QUIRKS = {
    "openmpi": Quirks(
        frees_comm_early=False,
        forms=("blocking", "nonblocking", "persistent"),
        places_alone=False,
        empty_in_place=False,
    ),
    "mpich": Quirks(mixes_in_trees=False, scatters_gaps=False, most_unlike_bytes=2000),
}
QUIRKS_IN_LAB = {"mpich": replace(QUIRKS["mpich"], anybody=False)}
MOST_PLANS = 6
#: Programs that the library alone does not run, one after the other, after which it is something else that is wrong.
MOST_STOCK_FAILURES = 5
#: Of a program that differs, starts of the library alone that may show that it differs from itself; more where the call
#: was the library's. Over shared memory Open MPI 5.0.11's gather of 5462 elements with gaps does in one of 25 to 160.
MOST_AGAIN = 4
MOST_AGAIN_NATIVE = 60


def quirks_of(place: Place) -> Quirks:
    """What programs for this library leave out there."""
    known = QUIRKS | QUIRKS_IN_LAB if isinstance(place, runs.InLab) else QUIRKS
    return known.get(place.library, Quirks())


@dataclass(frozen=True)
class Options:
    """What is tried, and for how long."""

    calls: int
    seed: int
    ranks: tuple[int, ...]
    minutes: float = 0  # 0: no limit
    calls_per_launch: int = 250
    plans_per_program: int = 2
    most_bytes: int = 1 << 17
    timeout_s: float = 120.0
    shrink_s: float = 300.0
    most_faults: int = 3
    folder: Path = Path()
    settings: Mapping[str, str] = field(default_factory=dict)  # besides, for ranks under ECO


@dataclass(frozen=True)
class Found:
    """A fault, and where its case is stored."""

    fault: Fault
    file: Path


@dataclass
class Outcome:
    """What was compared, and what differed."""

    programs: int = 0
    launches: int = 0
    calls: int = 0  # under ECO
    served: int = 0  # of them, as some rank had it
    armless: int = 0  # launches under ECO in which nothing was served
    algorithms: Counter[str] = field(default_factory=Counter)
    faults: list[Found] = field(default_factory=list)
    stock_failures: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)  # what the library alone does now so, now otherwise
    seconds: float = 0.0


def network_of_one_host(dice: random.Random, ranks: int, identity: Mapping[str, Any]) -> Layout:
    """A synthetic network whose hosts are all this one, and ranks on them in a row or anyhow."""
    described = json.loads(_core.synthetic_network(dice.choice(NETWORKS)))
    for index, host in enumerate(described["hosts"]):
        host.update(identity, boot_id=jobs.host_id(index), net_namespace="")
    n_hosts = len(described["hosts"])
    hosts = [rank * n_hosts // ranks if ranks >= n_hosts else rank for rank in range(ranks)]
    if dice.random() < 0.5:
        dice.shuffle(hosts)
    return Layout(json.dumps(described), tuple(hosts))


@dataclass
class Campaign:
    """`layout_for(dice, ranks)` says which hosts ranks are on."""

    place: Place
    options: Options
    layout_for: Callable[[random.Random, int], Layout]
    say: Callable[[str], None] = print
    outcome: Outcome = field(default_factory=Outcome)

    def run(self) -> Outcome:
        began = time.monotonic()
        options, outcome = self.options, self.outcome
        in_a_row = 0
        while outcome.calls < options.calls and len(outcome.faults) < options.most_faults:
            if options.minutes and time.monotonic() - began > options.minutes * 60:
                break
            ran = self._program(random.Random(f"{options.seed}/{self.place.library}/{outcome.programs}"))
            in_a_row = 0 if ran else in_a_row + 1
            if in_a_row == MOST_STOCK_FAILURES:
                raise EcoError(
                    f"{in_a_row} programs in a row do not run without ECO, the last is "
                    f"{outcome.stock_failures[-1]}"
                )
            outcome.programs += 1
            outcome.seconds = time.monotonic() - began
        return outcome

    def _program(self, dice: random.Random) -> bool:
        """False where the library alone does not run it."""
        options = self.options
        ranks = dice.choice(options.ranks)
        layout = self.layout_for(dice, ranks)
        edges = recipes.throw_edges(dice, options.most_bytes)
        left = options.calls - self.outcome.calls
        n_calls = min(options.calls_per_launch, max(1, -(-left // options.plans_per_program)))
        program = Generator(
            dice, ranks, recipes.edges_of_calls(edges), options.most_bytes,
            quirks_of(self.place),
        ).program(n_calls)  # fmt: skip
        groups = [group for groups in members(program, ranks).values() for group in groups]
        base = Case(self.place.library, ranks, self.place.where, program, layout)
        stock = self._launch(base, served=False)
        if not stock.is_good:
            file = self._store(base, None, "stock", f"the library alone: {stock.last_words}")
            self.outcome.stock_failures.append(f"{file}: {runs.who_is_where(base, stock)}")
            return False
        for i in range(options.plans_per_program):
            plans = tuple(recipes.plans_for(dice, layout, groups, edges, MOST_PLANS))
            late = LATE[(self.outcome.programs + i) % len(LATE)]
            settings = {
                "ECO_ARM_AFTER": dice.choice(ARM_AFTER),
                "ECO_LATE": late,
                "ECO_AMBIENT": AMBIENT[(self.outcome.programs + i) % len(AMBIENT)],
                **options.settings,
            }
            case = Case(base.library, ranks, base.where, program, layout, plans, settings)
            seen = self._launch(case, served=True)
            self._count(seen, calls_in(program))
            fault = runs.compare(case, stock, seen)
            if fault is not None and self._is_unsteady(base, stock, fault):
                self.outcome.unsteady.append(f"step {fault.step}: {fault.text}")
                break
            if fault is not None:
                self._found(case, fault)
                break
            self.say(
                f"{self.place.library}: {self.outcome.calls} calls, {self.outcome.served} served by "
                f"{len(self.outcome.algorithms)} algorithms; program {self.outcome.programs}.{i} of {ranks} ranks"
            )
        return True

    def _is_unsteady(self, base: Case, stock: runs.Seen, fault: Fault) -> bool:
        """Whether runs of the library alone differ from one another there too."""
        if fault.kind != "differs":
            return False
        n = MOST_AGAIN_NATIVE if fault.by == NATIVE else MOST_AGAIN
        again = (runs.compare(base, stock, self._launch(base, served=False)) for _ in range(n))
        return any(
            other is not None and other.kind == "differs" and other.step == fault.step for other in again
        )

    def _launch(self, case: Case, served: bool) -> runs.Seen:
        self.outcome.launches += 1
        return runs.run(case, self.place, served, self.options.timeout_s)

    def _count(self, seen: runs.Seen, calls: int) -> None:
        self.outcome.calls += calls
        by_step = {id_: entry.algorithm for rank in seen.ranks for id_, entry in rank.entries.items()
                   if entry.algorithm != NATIVE}  # fmt: skip
        self.outcome.served += len(by_step)
        self.outcome.armless += not by_step
        self.outcome.algorithms.update(by_step.values())

    def _found(self, case: Case, fault: Fault) -> None:
        self.say(f"{self.place.library}: step {fault.step} {fault.kind}: {fault.text}")
        self.say(f"stored as found: {self._store(case, fault, 'found')}")
        limit = min(self.options.timeout_s, 30.0)
        shrinker = Shrinker(self.place, limit, time.monotonic() + self.options.shrink_s, self.say)
        small, fault = shrinker.shrink(case, fault)
        file = self._store(small, fault, "small")
        self.outcome.launches += shrinker.launches
        self.outcome.faults.append(Found(fault, file))

    def _store(self, case: Case, fault: Fault | None, what: str, note: str = "") -> Path:
        options, number = self.options, self.outcome.programs
        self.options.folder.mkdir(parents=True, exist_ok=True)
        file = options.folder / f"fuzz-{case.library}-{options.seed}-{number}-{what}.json"
        runs.write_case(file, case, fault, note or f"eco fuzz --seed {options.seed}, program {number}")
        return file
