"""Wisdom: what is remembered of plans, as one file that can be carried elsewhere and merged.

    wisdom = read(Path("a.json"))                       # eco.wisdom, or a single plan
    merged, conflicts = merge([("a.json", read(a)), ("b.json", read(b))])
    write(Path("c.json"), merged)

Plans are of the same group where network, library, placement and the ECO that made them are the same. Of a size that
both have measured, the one that was measured with more effort stays, else the first; where they disagree at equal
effort, that is a conflict, which is told. What serves between two sizes is known only where both came from one plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eco import _core, paths, plans
from eco.errors import CorruptFile
from eco.report.records import read_json, schema_of, size_text, write_json

SCHEMA = ("eco.wisdom", 1)

#: In ascending order; rows that say nothing are a job's.
EFFORTS = ("estimate", "job", "measure", "exhaustive")
UNSAID = "job"

Plan = dict[str, Any]  # as in its file
Row = dict[str, Any]


@dataclass(frozen=True)
class Conflict:
    """Two plans of a group want to serve a size differently, on the same evidence."""

    collective: str
    root_subnet: int
    bytes: int
    kept: str  # the file, and what it serves
    left: str

    def text(self) -> str:
        where = f"{self.collective} {size_text(self.bytes)}, roots in subnet {self.root_subnet}"
        return f"{where}: kept {self.kept}; left {self.left}"


def checked(plan: Plan, where: str) -> Plan:
    """As this build reads it; throws CorruptFile with the place and the reason."""
    try:
        return dict(json.loads(_core.check_plan(json.dumps(plan))))
    except CorruptFile as error:
        raise CorruptFile(f"{where}: {error}") from error


def read(path: Path) -> list[Plan]:
    """The plans of a file of wisdom, or a plan by itself; throws CorruptFile."""
    if schema_of(path) == plans.SCHEMA[0]:
        return [_read_plan(path)]
    document = read_json(path, *SCHEMA)
    if not isinstance(document.get("plans"), list):
        raise CorruptFile(f"{path}: its plans are no list")
    return [checked(plan, f"{path}, plan {i}") for i, plan in enumerate(document["plans"])]


def _read_plan(path: Path) -> Plan:
    return checked(read_json(path, *plans.SCHEMA), str(path))


def write(path: Path, wisdom: Sequence[Plan]) -> None:
    """As a file of wisdom."""
    schema, version = SCHEMA
    write_json(path, {"schema": schema, "version": version, "plans": list(wisdom)})


def group_of(plan: Plan) -> tuple[str, str, str, tuple[int, ...]]:
    """Plans of the same group can be merged."""
    return plan["network"], plan["library"], plan.get("made_by", ""), tuple(plan["host_of_rank"])


def title(plan: Plan) -> str:
    """For a table or a message."""
    return f"{len(plan['host_of_rank'])} ranks, network {plan['network'] or '-'}, {plan['library'] or 'any library'}"


def is_measured(row: Row) -> bool:
    """At its size."""
    return bool(row["native_s"] > 0) and row.get("effort", UNSAID) != EFFORTS[0]


def _serves(row: Row) -> str:
    return row["recipe"] or "native"


def _effort(row: Row) -> int:
    return EFFORTS.index(row.get("effort", UNSAID))


def merge(sources: Iterable[tuple[str, Sequence[Plan]]]) -> tuple[list[Plan], list[Conflict]]:
    """All plans of all sources, those of the same group made one."""
    merged: dict[object, tuple[str, Plan]] = {}
    conflicts: list[Conflict] = []
    for name, wisdom in sources:
        for plan in wisdom:
            group = group_of(plan)
            if group in merged:
                first, into = merged[group]
                merged[group] = first, _merge_two((first, into), (name, plan), conflicts)
            else:
                merged[group] = name, plan
    return [plan for _, plan in merged.values()], conflicts


def _merge_two(a: tuple[str, Plan], b: tuple[str, Plan], conflicts: list[Conflict]) -> Plan:
    entries: dict[tuple[str, int], list[tuple[str, list[Row]]]] = {}
    for name, plan in (a, b):
        for entry in plan["entries"]:
            entries.setdefault((entry["collective"], entry["root_subnet"]), []).append((name, entry["rows"]))
    made = [
        {
            "collective": collective,
            "root_subnet": root,
            "rows": _merge_rows(collective, root, of_both, conflicts),
        }
        for (collective, root), of_both in entries.items()
    ]
    plan = {**a[1], "entries": made}
    plan.pop("proof", None)  # of other rows: whoever uses it proves it again
    return checked(plan, f"{a[0]} with {b[0]}")


def _merge_rows(
    collective: str, root: int, sources: Sequence[tuple[str, list[Row]]], conflicts: list[Conflict]
) -> list[Row]:
    if len(sources) == 1:
        return sources[0][1]
    chosen: dict[int, tuple[int, Row]] = {}  # by size: which source, and its row
    for i, (name, rows) in enumerate(sources):
        for row in filter(is_measured, rows):
            size = row["up_to_bytes"]
            if size not in chosen or _effort(row) > _effort(chosen[size][1]):
                chosen[size] = i, row
            elif _effort(row) == _effort(chosen[size][1]) and _serves(row) != _serves(chosen[size][1]):
                first, kept = chosen[size]
                ours, theirs = f"{sources[first][0]}'s {_serves(kept)}", f"{name}'s {_serves(row)}"
                conflicts.append(Conflict(collective, root, size, ours, theirs))
    merged: list[Row] = []
    below: tuple[int, int] | None = None  # size and source
    for size, (i, row) in sorted(chosen.items()):
        if below is not None:
            merged += _between(below, (size, i), sources[i][1])
        merged.append(row)
        below = size, i
    for _, rows in sources:
        for row in rows:
            # Still to be measured by whoever has the time; native until then.
            if row.get("open") and row["up_to_bytes"] not in {other["up_to_bytes"] for other in merged}:
                merged.append({**row, "recipe": None})
    merged.sort(key=lambda row: row["up_to_bytes"])
    for row in merged:
        if row["recipe"] is None:
            row.pop("in_order", None)
    return merged


def _between(below: tuple[int, int], above: tuple[int, int], rows: list[Row]) -> list[Row]:
    """What serves between two measured sizes: what their plan says if it is one and has measured nothing between."""
    (low, first), (high, second) = below, above
    inner = [row for row in rows if low < row["up_to_bytes"] < high and not row.get("open")]
    if first == second and not any(map(is_measured, inner)):
        return inner
    if high - low < 2:
        return []
    return [
        {"up_to_bytes": high - 1, "recipe": None, "predicted_s": 0.0, "measured_s": 0.0, "native_s": 0.0,
         "reason": "between: merged from two plans"}
    ]  # fmt: skip


def collect(cache: Path) -> tuple[list[Plan], list[str]]:
    """All plans that are remembered there, the newest first, and why others can't be used."""
    good: list[Plan] = []
    bad: list[str] = []
    for path in paths.newest_first((cache / "plans").glob("*.json")):
        try:
            good.append(_read_plan(path))
        except CorruptFile as error:
            bad.append(str(error))
    return good, bad


def add(cache: Path, name: str, wisdom: Sequence[Plan]) -> tuple[int, list[Conflict], list[str]]:
    """Into what is remembered: how many plans, what they disagreed with, and what was left out and why.

    What is remembered already comes first. A plan of another network, library, placement or ECO than a job's is not
    used by that job as it is, but its recipes are a starting point where there is none.
    """
    added, conflicts, left_out = 0, list[Conflict](), list[str]()
    for plan in wisdom:
        file_name = _core.plan_file_name(json.dumps(plan))
        if file_name is None:
            left_out.append(
                f"{name}: a plan for {title(plan)} does not say which ECO made it; use it with ECO_PLAN"
            )
            continue
        path = cache / "plans" / file_name
        sources = [(name, [plan])]
        try:
            if path.exists():
                sources.insert(0, ("remembered", [_of_the_same_group(_read_plan(path), plan, path)]))
        except CorruptFile as error:  # no job would use it either
            left_out.append(str(error))
        (together,), disagreed = merge(sources)
        conflicts += disagreed
        added += 1
        write_json(path, together)
    return added, conflicts, left_out


def _of_the_same_group(remembered: Plan, plan: Plan, path: Path) -> Plan:
    """What stands under the other's name; throws CorruptFile where it is not its group's."""
    # Where it does not say who made it, its name does.
    remembered = {"made_by": plan["made_by"], **remembered}
    if group_of(remembered) != group_of(plan):
        raise CorruptFile(f"{path}: a plan of another network, library, placement or ECO")
    return remembered
