// SPDX-License-Identifier: Apache-2.0
// A job of MPI: each step computes for about a millisecond, the second rank also sleeps for as many as given, then all add up 1,000 numbers and meet in
// groups of even and odd ranks. An exchange in a ring is started before the computation and waited for after it.
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 40

static double compute(void)
{
  struct timespec from, now;
  double sum = 0;
  clock_gettime(CLOCK_MONOTONIC, &from);
  do {
    for (int i = 1; i < 1000; i++)
      sum += 1.0 / i;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < 1000000);
  return sum;
}

int main(int argc, char **argv)
{
  static double numbers[1000], sums[1000], given[100], taken[100];
  int rank, size;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int step = 0; step < STEPS; step++) {
    MPI_Request requests[2];
    MPI_Irecv(taken, 100, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(given, 100, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    numbers[0] = compute();
    const struct timespec rest = {0, rank == 1 ? atoi(argv[1]) * 1000000 : 0};
    nanosleep(&rest, NULL);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(numbers, sums, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(step % 2 == 0 ? sums : numbers, 7, MPI_FLOAT, 0, half);
  }
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
