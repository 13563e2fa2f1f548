"""`eco verify`: proves the repertoire as data, without a network: every algorithm on groups of every kind.

    eco verify                                          1 to 9 ranks: what CI proves, some minutes
    eco verify --all --json proof.json                  1 to 17, 32, 33 and 64 ranks
    eco verify --op allreduce --ranks 2-6,16 --seed 7   other parameters are picked with another seed
    eco verify --algorithm broadcast/subnets --picks 0  all parameters of one algorithm

Collectives that form around late ranks (`ECO_LATE`) are played through all orders in which few ranks can come, and
random ones of many. `--op late` proves these alone.

All roots, odd and zero counts, operations that commute and that do not, in place where a collective can be; eco/algo/
proving.h says what a case is. Exit code 1 if a proof fails, or if an algorithm was not tried at all.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from eco import _core
from eco.cli.options import output_file
from eco.errors import EcoError, InvalidArgument
from eco.report.progress import make_console, task_progress
from eco.report.records import parse_ops, write_json

#: What `--op` calls the collectives that form around late ranks.
LATE = "late"
#: So many ranks are played in all orders of arrival, without and with --all.
MOST_IN_ALL_ORDERS = {False: 5, True: 6}
#: More ranks take more time without more to find.
MOST_LATE_RANKS = 64
RANDOM_PLAYS = 100
USUAL_RANKS = "1-9"
ALL_RANKS = "1-17,32,33,64"
#: A verified group takes memory and time with the square of its ranks.
MOST_RANKS = 1024

Task = tuple[str, int, int]


@dataclass
class Plays:
    """What was proved of one way in which a broadcast may form."""

    cases: int = 0
    plays: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Plays) -> None:
        self.cases += other.cases
        self.plays += other.plays
        self.faults += other.faults


@dataclass
class Count:
    """What was proved of one algorithm, or of all."""

    cases: int = 0
    distinct: int = 0
    ordered: int = 0
    in_place: int = 0
    composed: int = 0
    native: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Count) -> None:
        self.cases += other.cases
        self.distinct += other.distinct
        self.ordered += other.ordered
        self.in_place += other.in_place
        self.composed += other.composed
        self.native += other.native
        self.refused += other.refused
        self.faults += other.faults


@dataclass
class Outcome:
    """Counts by algorithm; `complete` is false where it was interrupted."""

    seed: int
    picks: int
    ranks: list[int]
    seconds: float
    complete: bool
    algorithms: dict[str, Count]
    late: dict[str, Plays] = field(default_factory=dict)

    @property
    def total(self) -> Count:
        total = Count()
        for count in self.algorithms.values():
            total.add(count)
        return total

    @property
    def faults(self) -> list[str]:
        return self.total.faults + [fault for plays in self.late.values() for fault in plays.faults]

    @property
    def untried(self) -> list[str]:
        """Algorithms that refused every case: nothing is proved of them. One rank alone is refused by all."""
        if not self.algorithms or max(self.ranks) < 2:
            return []
        return [name for name, count in self.algorithms.items() if count.cases == 0]

    @property
    def exit_code(self) -> int:
        return 1 if self.faults or self.untried or not self.complete else 0

    def to_dict(self) -> dict[str, Any]:
        head = {key: value for key, value in asdict(self).items() if key not in ("algorithms", "late")}
        algorithms = {name: asdict(count) for name, count in sorted(self.algorithms.items())}
        return {
            "schema": "eco.verify",
            "version": 1,
            **head,
            "total": asdict(self.total),
            "algorithms": algorithms,
            "late": {name: asdict(plays) for name, plays in self.late.items()},
        }


def parse_ranks(text: str) -> list[int]:
    """Numbers and ranges: `1-9,16`."""
    found: set[int] = set()
    for word in text.split(","):
        first, dash, last = (part.strip() for part in word.partition("-"))
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InvalidArgument(f"ranks {text!r}: expected numbers and ranges, like 1-9,16")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= MOST_RANKS:
            raise InvalidArgument(f"ranks {text!r}: {word.strip()} is no range within 1 to {MOST_RANKS}")
        found.update(range(low, high + 1))
    return sorted(found)


def prove_all(tasks: Sequence[Task], seed: int, picks: int, jobs: int, step: Callable[[str], None]
              ) -> tuple[dict[str, Count], bool]:  # fmt: skip
    """Counts by algorithm, and whether all tasks were done: an interrupt keeps what it has."""
    counts = {name: Count() for name, _, _ in tasks}
    # The proof is C++ and lets go of Python's lock: threads suffice.
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[str], Task] = {
            pool.submit(_core.prove, name, n_ranks, root, seed, picks): (name, n_ranks, root)
            for name, n_ranks, root in tasks
        }
        try:
            for future in as_completed(running):
                name, n_ranks, root = running[future]
                counts[name].add(Count(**json.loads(future.result())))
                step(f"{name}, {n_ranks} ranks from {root}")
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            return counts, False
    return counts, True


def late_forms() -> dict[str, tuple[str, str]]:
    """Plan and collective of everything that forms around late ranks, by name."""
    return {
        f"{collective}/{plan}": (plan, collective)
        for plan in _core.late_plans()
        for collective in _core.late_collectives(plan)
    }


def prove_late(ranks: Sequence[int], seed: int, most_in_all_orders: int, jobs: int, step: Callable[[str], None]
               ) -> tuple[dict[str, Plays], bool]:  # fmt: skip
    """As prove_all, of the collectives that form around late ranks, each by every plan: "reduce/mended"."""
    forms = late_forms()
    plans = {name: Plays() for name in forms}
    with ThreadPoolExecutor(jobs) as pool:
        running = {
            pool.submit(_core.prove_late, plan, collective, n, n <= most_in_all_orders, seed, RANDOM_PLAYS): (name, n)
            for name, (plan, collective) in forms.items() for n in reversed(ranks)
        }  # fmt: skip
        try:
            for future in as_completed(running):
                name, n = running[future]
                plans[name].add(Plays(**json.loads(future.result())))
                step(f"{name}, {n} ranks in every order" if n <= most_in_all_orders else f"{name}, {n} ranks")
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            return plans, False
    return plans, True


def verify(
    everything: Annotated[
        bool, typer.Option("--all", help=f"ranks {ALL_RANKS}: half an hour on two cores")
    ] = False,
    ranks: Annotated[str, typer.Option(help="how many, like 1-9,16", metavar="LIST")] = USUAL_RANKS,
    op: Annotated[str, typer.Option(help="operations, like broadcast,scan; or late")] = "all",
    algorithm: Annotated[str, typer.Option(help="this one alone, like broadcast/subnets")] = "",
    seed: Annotated[int, typer.Option(help="which parameters are picked", min=0)] = 1,
    picks: Annotated[
        int, typer.Option(help="parameters for each problem on each network; 0: all", min=0)
    ] = 2,
    jobs: Annotated[int | None, typer.Option(help="threads; else one for each core", min=1)] = None,
    json_file: Annotated[Path | None, output_file("write the counts", "--json")] = None,
) -> None:
    """Prove every algorithm: right results, no deadlock, no buffer overwritten, on groups of every kind."""
    wanted = parse_ranks(ALL_RANKS if everything else ranks)
    collectives = [] if op in ("all", LATE) else parse_ops(op)
    tasks = [] if op == LATE else _core.proof_tasks(wanted, collectives, algorithm)
    late_ranks = (
        [n for n in wanted if n <= MOST_LATE_RANKS] if op == LATE or (op == "all" and not algorithm) else []
    )
    if not tasks and not late_ranks:
        raise InvalidArgument(f"algorithm {algorithm!r} is none of {op}")
    console = make_console()
    begin = time.monotonic()
    with task_progress(console, "proofs", len(tasks)) as step:
        counts, complete = prove_all(tasks, seed, picks, jobs or os.cpu_count() or 1, step)
    late: dict[str, Plays] = {}
    if complete and late_ranks:
        with task_progress(console, "late ranks", len(late_ranks) * len(late_forms())) as step:
            late, complete = prove_late(
                late_ranks, seed, MOST_IN_ALL_ORDERS[everything], jobs or os.cpu_count() or 1, step
            )
    outcome = Outcome(seed, picks, wanted, round(time.monotonic() - begin, 1), complete, counts, late)
    if json_file:
        write_json(json_file, outcome.to_dict())
    total = outcome.total
    for text in outcome.faults:
        console.print(f"fault: {text}", highlight=False, style="red", markup=False)
    for name in outcome.untried:
        console.print(f"not tried: {name} serves no case of these ranks", highlight=False, style="red")
    console.print(
        f"{len(counts)} algorithms, {total.cases} cases ({total.ordered} in rank order, {total.in_place} in place, "
        f"{total.composed} of compositions by dice, {total.native} with native parts), "
        f"{total.distinct} different sets of schedules proved in {outcome.seconds:.0f} s; "
        f"{total.refused} problems not served; {len(total.faults)} faults",
        highlight=False,
    )
    if late:
        plays = sum(one.plays for one in late.values())
        faults = sum(len(one.faults) for one in late.values())
        console.print(
            f"{len(late)} collectives that form around late ranks: {plays} orders of arrival and of messages played; "
            f"{faults} faults",
            highlight=False,
        )
    if not complete:
        raise EcoError("interrupted: not everything was proved")
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)
