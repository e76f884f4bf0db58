# SPDX-License-Identifier: Apache-2.0
"""What ranks_program.c does, by mpi4py."""
import sys
import time

import numpy
from mpi4py import MPI

STEPS = 40
world = MPI.COMM_WORLD
half = world.Split(world.rank % 2, world.rank)
numbers, sums = numpy.zeros(1000), numpy.zeros(1000)
given, taken, few = numpy.zeros(100), numpy.zeros(100), numpy.zeros(7, dtype=numpy.float32)
for _ in range(STEPS):
    requests = [world.Irecv(taken, (world.rank - 1) % world.size), world.Isend(given, (world.rank + 1) % world.size)]
    if world.rank == 1:
        time.sleep(float(sys.argv[1]) / 1e3)
    MPI.Request.Waitall(requests)
    world.Allreduce(numbers, sums)  # line reduce
    half.Bcast(few)
half.Free()
