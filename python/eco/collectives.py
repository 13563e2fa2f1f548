"""The twelve operations, as users name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eco.errors import InvalidArgument
from eco.spelling import did_you_mean

COLLECTIVES = (
    "broadcast",
    "barrier",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "scan",
    "exscan",
)
#: They have a root; a plan has an entry of each for every subnet.
ROOTED = ("broadcast", "reduce", "scatter", "gather")


def check_known(operation: str) -> None:
    """Throws InvalidArgument for a word that is no operation."""
    if operation not in COLLECTIVES:
        meant = did_you_mean(operation, COLLECTIVES)
        raise InvalidArgument(f"operation {operation!r} is none of {', '.join(COLLECTIVES)}{meant}")


@dataclass(frozen=True)
class Grid:
    """Operations, each at all of these sizes."""

    ops: Sequence[str]
    sizes: Sequence[int]

    def words(self) -> list[str]:
        """As eco-rank takes them."""
        return ["--ops", ",".join(self.ops), "--sizes", ",".join(map(str, self.sizes))]

    def cells(self) -> list[tuple[str, int]]:
        """Operation and bytes; a barrier has none."""
        return [(op, size) for op in self.ops for size in ([0] if op == "barrier" else self.sizes)]
