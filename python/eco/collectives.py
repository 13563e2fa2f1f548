"""The twelve operations, as users name them."""

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
