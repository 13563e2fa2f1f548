"""Rules for UCC's UCX collectives: one variable, a token for each range of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eco.export.decide import Rule
from eco.export.tables import Target


def tokens(
    rules: Mapping[str, Sequence[Rule]], target: Target, n_ranks: int, notes: Sequence[str], library_file: str
) -> str:
    """`operation:sizes:[ranks]:@algorithm:score`, joined by #; what no token names is UCC's own choice."""
    out = []
    for op, of_op in rules.items():
        for rule in of_op:
            if rule.candidate is not None:
                last = "inf" if rule.last is None else str(rule.last)
                out.append(
                    f"{target.operations[op].name}:{rule.first}-{last}:[{n_ranks}-{n_ranks}]:@{rule.candidate.name}:inf"
                )
    return "#".join(out)
