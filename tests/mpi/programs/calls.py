"""Every collective call that mpi4py has: a digest of what all ranks got, and how often ECO served it.

One line per call on rank 0: name in C, digest, tries, served. test_calls.py compares the digests of a run without ECO.
"""

import ctypes
import hashlib
import json
import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, n = world.rank, world.size
ring = world.Create_cart([n], periods=[True])
beside = [(rank - 1) % n, (rank + 1) % n]
try:
    last_algorithm = ctypes.CDLL(None).eco_last_algorithm
    last_algorithm.restype = ctypes.c_char_p
except AttributeError:

    def last_algorithm() -> bytes:
        return b"native"


def places(counts: list[int], apart: int = 2) -> list[int]:
    return [sum(counts[:i]) + apart * i for i in range(len(counts))]


def arguments(base: str, size: int, root: int, mine: np.ndarray, every: np.ndarray, out: np.ndarray) -> tuple:
    """`every` is as long as the blocks of all ranks, with room; `out` too; `mine` is one block."""
    counts = [size + r % 2 for r in range(n)]
    own, all_places = mine[: counts[rank]], places(counts)
    of_all = [out, counts, all_places, MPI.INT]
    pairs = [size + (rank + r) % 2 for r in range(n)]
    row, column = [every, pairs, places(pairs), MPI.INT], [out, pairs, places(pairs), MPI.INT]
    in_bytes = ([4 * place for place in places(pairs)], [MPI.INT] * n)
    block, near = mine[:size], [counts[r] for r in beside]
    edges = [size + (rank + r) % 2 for r in beside]
    edges_in_bytes = ([4 * place for place in places(edges)], [MPI.INT] * 2)
    return {
        "Barrier": (),
        "Bcast": (out[:size], root),
        "Gather": (block, out[: n * size] if rank == root else None, root),
        "Gatherv": (own, of_all if rank == root else None, root),
        "Scatter": (every[: n * size] if rank == root else None, out[:size], root),
        "Scatterv": (
            [every, counts, all_places, MPI.INT] if rank == root else None,
            out[: counts[rank]],
            root,
        ),
        "Allgather": (block, out[: n * size]),
        "Allgatherv": (own, of_all),
        "Alltoall": (every[: n * size], out[: n * size]),
        "Alltoallv": (row, column),
        "Alltoallw": ([every, (pairs, in_bytes[0]), in_bytes[1]], [out, (pairs, in_bytes[0]), in_bytes[1]]),
        "Reduce": (block, out[:size] if rank == root else None, MPI.SUM, root),
        "Allreduce": (block, out[:size], MPI.SUM),
        "Reduce_scatter": (every[: sum(counts)], out[: counts[rank]], counts, MPI.SUM),
        "Reduce_scatter_block": (every[: n * size], out[:size], MPI.SUM),
        "Scan": (block, out[:size], MPI.SUM),
        "Exscan": (block, out[:size], MPI.SUM),
        "Neighbor_allgather": (block, out[: 2 * size]),
        "Neighbor_allgatherv": (own, [out, near, places(near), MPI.INT]),
        "Neighbor_alltoall": (every[: 2 * size], out[: 2 * size]),
        "Neighbor_alltoallv": ([every, edges, places(edges), MPI.INT], [out, edges, places(edges), MPI.INT]),
        "Neighbor_alltoallw": (
            [every, (edges, edges_in_bytes[0]), edges_in_bytes[1]],
            [out, (edges, edges_in_bytes[0]), edges_in_bytes[1]],
        ),
    }[base]


def make(name: str, comm: MPI.Comm, form: str, given: tuple) -> bool:
    """The call, to its end; was it served?"""
    method = getattr(comm, name.removeprefix("MPI_"))
    last_algorithm()
    result = method(*given)
    served = last_algorithm() != b"native"
    if form == "persistent":
        for _ in range(2):
            result.Start()
            served = last_algorithm() != b"native"
            result.Wait()
        result.Free()
    elif form == "nonblocking":
        result.Wait()
    return served


def run(name: str, base: str, form: str) -> None:
    digest, tries, served = hashlib.sha256(), 0, 0
    comm = ring if base.startswith("Neighbor") else world
    for size in (1, 17, 300, 2001):
        for root in range(n):
            every = (np.arange((size + 3) * n, dtype="i4") * 7 + rank * 13) % 1009
            out = np.full((size + 3) * n, -1, dtype="i4")
            try:
                served += make(
                    name, comm, form, arguments(base, size, root, every[: size + 1].copy(), every, out)
                )
            except (AttributeError, NotImplementedError):
                return
            tries += 1
            if not (base == "Exscan" and rank == 0):
                digest.update(out.tobytes())
    digests = world.gather(digest.hexdigest())
    if rank == 0:
        print(name, hashlib.sha256("".join(digests).encode()).hexdigest()[:16], tries, served, flush=True)


# A barrier arms nothing.
for communicator in (world, ring):
    communicator.Allreduce(np.ones(1), np.empty(1))
for line in json.loads(sys.argv[1]):
    run(*line)
if rank == 0:
    print("right", flush=True)
