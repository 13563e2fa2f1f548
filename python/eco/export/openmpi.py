"""Rules for Open MPI's `tuned` collectives: the classic file of 4.1 and 5.0, and the JSON file of 6.0.

What these readers do is told by no document, and differs from what converters and schemas say; docs/exporting.md lists
the traps that this avoids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from eco.export.decide import Rule
from eco.export.tables import Target

#: Algorithm 0: as the library decides by itself.
FIXED = "0 0 0 0"


def classic(
    rules: Mapping[str, Sequence[Rule]], target: Target, n_ranks: int, notes: Sequence[str], library_file: str
) -> str:
    """Numbers in one order; a group of P ranks takes the largest key up to P, so keys 0, P and P + 1 hold P alone."""
    lines = [f"# {note}" for note in notes]
    lines.append(f"{len(rules)} # operations")
    for op, of_op in rules.items():
        known = target.operations[op]
        lines += [f"{known.number} # {known.name}", "3 # sizes of groups", "0", "1", FIXED]
        lines += [str(n_ranks), str(len(of_op))]
        lines += [_line(rule) for rule in of_op]
        lines += [str(n_ranks + 1), "1", FIXED]
    return "\n".join(lines) + "\n"


def _line(rule: Rule) -> str:
    """From so many bytes: algorithm, fan-out, segment."""
    found = rule.candidate
    if found is None:
        return f"{rule.first} 0 0 0 # as the library decides"
    return (
        f"{rule.first} {found.number} {found.param('fanout', 0)} {found.param('segment', 0)} # {found.label}"
    )


def as_json(
    rules: Mapping[str, Sequence[Rule]], target: Target, n_ranks: int, notes: Sequence[str], library_file: str
) -> str:
    """What no rule matches is decided by the library. The reader wants `seg_size`, and its own names of operations."""
    collectives: dict[str, Any] = {}
    for op, of_op in rules.items():
        messages = [
            {"msg_size_min": rule.first, "msg_size_max": "inf" if rule.last is None else rule.last,
             "alg": rule.candidate.number, "seg_size": rule.candidate.param("segment", 0),
             "faninout": rule.candidate.param("fanout", 0)}
            for rule in of_op if rule.candidate is not None
        ]  # fmt: skip
        collectives[target.operations[op].name] = [
            {"comm_size_min": n_ranks, "comm_size_max": n_ranks, "rules": messages}
        ]
    document = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(document, indent=1) + "\n"
