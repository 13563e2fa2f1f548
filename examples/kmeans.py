#!/usr/bin/env python3
"""k-means on data that is spread over the ranks.

    mpirun -n 8 python examples/kmeans.py
    eco compare -- mpirun -n 8 python examples/kmeans.py

Every rank holds its own points. For each start, rank 0 draws centroids (k-means++ on its own points) and
broadcasts them; each iteration assigns the local points, sums them per cluster and adds the sums of all ranks
(allreduce). The best of the starts wins. Messages are clusters x dimensions doubles: 256 KiB as it stands.
"""

import argparse

import numpy as np
from mpi4py import MPI


def local_points(args: argparse.Namespace, rank: int) -> np.ndarray:
    """This rank's share: points around as many centres as clusters, the centres common to all ranks."""
    centres = np.random.default_rng(args.seed).normal(0.0, 4.0, (args.clusters, args.dimensions))
    mine = np.random.default_rng((args.seed, rank))
    owner = mine.integers(0, args.clusters, args.points)
    return centres[owner] + mine.normal(0.0, 1.0, (args.points, args.dimensions))


def plus_plus(points: np.ndarray, clusters: int, generator: np.random.Generator) -> np.ndarray:
    """k-means++: each further centroid is a point drawn with odds proportional to its squared distance."""
    chosen = [points[generator.integers(len(points))]]
    distance = ((points - chosen[0]) ** 2).sum(axis=1)
    while len(chosen) < clusters:
        total = distance.sum()
        weights = distance / total if total > 0 else None
        chosen.append(points[generator.choice(len(points), p=weights)])
        distance = np.minimum(distance, ((points - chosen[-1]) ** 2).sum(axis=1))
    return np.array(chosen)


def assign(points: np.ndarray, centroids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest centroid of every point, and the squared distance to it."""
    squared = (centroids**2).sum(axis=1) - 2.0 * points @ centroids.T
    nearest = squared.argmin(axis=1)
    distance = squared[np.arange(len(points)), nearest] + (points**2).sum(axis=1)
    return nearest, np.maximum(distance, 0.0)


def one_start(
    comm: MPI.Comm, points: np.ndarray, args: argparse.Namespace, start: int
) -> tuple[float, np.ndarray]:
    """Lloyd's iterations from one set of centroids; inertia is that of the centroids returned."""
    centroids = np.empty((args.clusters, args.dimensions))
    if comm.rank == 0:
        centroids[:] = plus_plus(points, args.clusters, np.random.default_rng((args.seed, start)))
    comm.Bcast(centroids, root=0)
    for _ in range(args.iterations):
        nearest, _ = assign(points, centroids)
        sums = np.zeros((args.clusters, args.dimensions))
        np.add.at(sums, nearest, points)
        counts = np.bincount(nearest, minlength=args.clusters).astype(float)
        comm.Allreduce(MPI.IN_PLACE, sums, MPI.SUM)
        comm.Allreduce(MPI.IN_PLACE, counts, MPI.SUM)
        filled = counts > 0  # an empty cluster keeps its centroid
        centroids[filled] = sums[filled] / counts[filled, None]
    inertia = np.array([assign(points, centroids)[1].sum()])
    comm.Allreduce(MPI.IN_PLACE, inertia, MPI.SUM)
    return float(inertia[0]), centroids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=400, help="of every rank")
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--clusters", type=int, default=128)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    comm = MPI.COMM_WORLD
    points = local_points(args, comm.rank)
    best = min((one_start(comm, points, args, start)[0], start) for start in range(args.starts))
    if comm.rank == 0:
        n = args.points * comm.size
        print(
            f"{n} points on {comm.size} ranks, {args.clusters} clusters: inertia per point {best[0] / n:.6f}"
        )


if __name__ == "__main__":
    main()
