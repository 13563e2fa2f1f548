"""The twelve operations, as users name them."""

from eco.errors import InvalidArgument

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


def check_known(operation: str) -> None:
    """Throws InvalidArgument for a word that is no operation."""
    if operation not in COLLECTIVES:
        raise InvalidArgument(f"operation {operation!r} is none of {', '.join(COLLECTIVES)}")
