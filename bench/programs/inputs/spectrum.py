"""A spectrum of random numbers on a cube, there and back: its blocks travel as derived datatypes in Alltoallw.

    mpirun -n 8 python spectrum.py POINTS ROUNDS

Says what it came to, for comparing: a digest of all ranks' spectra, and how far the way back misses the beginning.
"""

import hashlib
import sys

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

points, rounds = map(int, sys.argv[1:])
world = MPI.COMM_WORLD
# Over all ranks in one direction: the ranks exchange blocks in one communicator. A planner that takes times chooses
# another way in each launch, and gets other last bits.
fft = PFFT(world, (points, points, points), dtype=float, slab=True, planner_effort="FFTW_ESTIMATE")
field = newDistArray(fft, False)
# By its place in the cube: which rank has it is the topology's choice (mpi4py-fft lets it reorder ranks).
place = list(map(int, field.substart))
field[:] = np.random.default_rng(place).random(field.shape)
begun = field.copy()
digest = hashlib.sha256()
for _ in range(rounds):
    spectrum = fft.forward(field)
    digest.update(np.ascontiguousarray(spectrum).tobytes())
    field = fft.backward(spectrum, field)
missed = world.allreduce(float(abs(field - begun).max()), MPI.MAX)
digests = world.gather((place, digest.hexdigest()))
if world.rank == 0:
    in_order = "".join(of_place for _, of_place in sorted(digests))
    print("spectra", hashlib.sha256(in_order.encode()).hexdigest())
    print("missed", missed)
