# SPDX-License-Identifier: Apache-2.0
"""What ranks_program.c does, by mpi4py."""
import sys
import time

import numpy
from mpi4py import MPI

STEPS, EXCHANGES, MANY = 40, 3, 40
world = MPI.COMM_WORLD
half = world.Split(world.rank % 2, world.rank)
first, second = world.Dup(), world.Dup()
numbers, sums = numpy.zeros(1000), numpy.zeros(1000)
given, taken, few = numpy.zeros(100), numpy.zeros((MANY, 100)), numpy.zeros(7, dtype=numpy.float32)
before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size
if world.rank == 0:
    first.send(None, 1)  # four bytes
if world.rank == 1:
    first.recv(None, 0)


def exchange(times, count):
    return [request for i in range(times)
            for request in (world.Irecv(taken[i][:count], before, i), world.Isend(given[:count], after, i))]


for _ in range(STEPS):
    requests = exchange(EXCHANGES, 100)
    if world.rank == 1:
        time.sleep(float(sys.argv[1]) / 1e3)
    MPI.Request.Waitall(requests)
    world.Allreduce(numbers, sums)  # line reduce
    half.Bcast(few)
MPI.Request.Waitall(exchange(MANY, 1))
second.Barrier()
first.Barrier()
for communicator in (first, second, half):
    communicator.Free()
