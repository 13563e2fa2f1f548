"""Performance guidelines: what a collective may take at most, since others do its work too.

    for broken in violations(of_bench(Results.read(path))[0].seconds): broken.text, broken.ratio.ratio

The table is the planner's (eco/plan/guidelines.h), which mends what it can. Here it is asked of what was measured:
of a benchmark's launches, with an interval, or of a plan's evidence, which has medians alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eco import _core, plans, stats
from eco.collectives import ROOTED
from eco.errors import CorruptFile
from eco.report.records import SCHEMA as BENCH_SCHEMA
from eco.report.records import Results, grouped, launches_of, read_text, schema_of

#: Operation and bytes.
Call = tuple[str, int]
#: Of each launch the median call; a plan's evidence is one launch.
Seconds = Mapping[Call, Sequence[float]]


@dataclass(frozen=True)
class Rule:
    """`left` takes no longer than all of `right` one after the other, of as many bytes."""

    left: str
    right: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Rules:
    """The table."""

    rules: tuple[Rule, ...]
    monotone: str  # the one that holds for all: fewer bytes take no longer
    allowance: float  # a share


@cache
def table() -> Rules:
    """As the planner has it."""
    found = json.loads(_core.guidelines())
    rules = tuple(Rule(one["left"], tuple(one["right"]), one["text"]) for one in found["rules"])
    return Rules(rules, found["monotone"], found["allowance"])


@dataclass(frozen=True)
class Broken:
    """A guideline that does not hold for a call."""

    text: str
    operation: str
    bytes: int
    seconds: float
    bound_s: float  # what the others take
    ratio: stats.Ratio  # seconds over bound_s

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def violations(seconds: Seconds) -> list[Broken]:
    """What takes longer than it may, by more than the allowance and with its whole interval; the worst first."""
    rules = table()
    broken = []
    for (operation, size), launches in seconds.items():
        bounds = {
            rule.text: [
                sum(parts) for parts in zip(*(seconds[part, size] for part in rule.right), strict=True)
            ]
            for rule in rules.rules
            if rule.left == operation and all((part, size) in seconds for part in rule.right)
        }
        larger = [other for op, other in seconds if op == operation and other > size]
        if larger:
            bounds[rules.monotone] = list(seconds[operation, min(larger)])
        for text, bound in bounds.items():
            ratio = stats.ratio_of_launches([[s] for s in launches], [[s] for s in bound])
            if ratio.low > 1 and ratio.ratio > 1 + rules.allowance:
                middle = stats.median(list(launches)), stats.median(bound)
                broken.append(Broken(text, operation, size, *middle, ratio))
    return sorted(broken, key=lambda one: -one.ratio.ratio)


@dataclass(frozen=True)
class Series:
    """Calls of one kind, to be held against each other."""

    title: str
    seconds: Seconds


def of_bench(results: Results) -> list[Series]:
    """Stock and ECO of every network, library and placement."""
    series = []
    for place, records in grouped(results.records).items():
        stock: dict[Call, list[float]] = {}
        eco: dict[Call, list[float]] = {}
        for record in records:
            call = record.collective, record.bytes
            launches = launches_of(results.samples, record.cell)
            stock[call], eco[call] = ([stats.median(one) for one in of_mode] for of_mode in launches)
        series += [Series(f"stock, {', '.join(place)}", stock), Series(f"ECO, {', '.join(place)}", eco)]
    return series


def of_plan(text: str) -> list[Series]:
    """The library's own and what the plan serves, of each root class; what is timed differently is not compared."""
    plan = json.loads(_core.check_plan(text))
    native: dict[tuple[int, bool], dict[Call, list[float]]] = {}
    served: dict[tuple[int, bool], dict[Call, list[float]]] = {}
    roots = {entry["root_subnet"] for entry in plan["entries"]}
    for entry in plan["entries"]:
        rooted = entry["collective"] in ROOTED
        for row in entry["rows"]:
            if row["native_s"] <= 0 or row.get("effort") == "estimate":
                continue
            call = entry["collective"], row["up_to_bytes"]
            native_s = None if row.get("native_is_least") else row["native_s"]
            served_s = row["measured_s"] if row["recipe"] else native_s
            for root in {entry["root_subnet"]} if rooted else roots:
                for seconds, of_roots in ((native_s, native), (served_s, served)):
                    if seconds is not None:
                        of_roots.setdefault((root, row.get("in_a_row", False)), {})[call] = [seconds]
    return [
        Series(f"{what}{', calls in a row' if in_a_row else ''}, roots in subnet {root}", calls)
        for what, of_roots in ((plan["library"] or "native", native), ("the plan", served))
        for (root, in_a_row), calls in sorted(of_roots.items())
    ]


def read(path: Path) -> list[Series]:
    """A file of `eco bench` or a plan; throws CorruptFile."""
    schema = schema_of(path)
    if schema == BENCH_SCHEMA:
        return of_bench(Results.read(path))
    if schema == plans.SCHEMA[0]:
        return of_plan(read_text(path))
    raise CorruptFile(f"{path}: expected a file of eco bench or a plan, found {schema}")
