// SPDX-License-Identifier: Apache-2.0
// A job of MPI: each step computes for about a millisecond, the second rank also sleeps for as many as given, then all add up 1,000 numbers and meet in
// groups of even and odd ranks. Three exchanges in a ring are started before the computation and waited for after it. Before all that
// the first rank sends to the second one by a copy of the communicator, after it all wait for 80 requests, and meet by both copies.
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 40
#define EXCHANGES 3
#define MANY 40

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
  static double numbers[1000], sums[1000], given[100], taken[MANY][100];
  int rank, size;
  MPI_Comm half, first, second;
  MPI_Request requests[2 * MANY];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const int before = (rank + size - 1) % size, after = (rank + 1) % size;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  if (rank == 0)
    MPI_Send("none", 4, MPI_BYTE, 1, 0, first);
  if (rank == 1) {
    MPI_Message message;
    MPI_Mprobe(0, 0, first, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(taken, 4, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  }
  for (int step = 0; step < STEPS; step++) {
    for (int i = 0; i < EXCHANGES; i++) {
      MPI_Irecv(taken[i], 100, MPI_DOUBLE, before, i, MPI_COMM_WORLD, &requests[2 * i]);
      MPI_Isend(given, 100, MPI_DOUBLE, after, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    numbers[0] = compute();
    const struct timespec rest = {0, rank == 1 ? atoi(argv[1]) * 1000000 : 0};
    nanosleep(&rest, NULL);
    MPI_Waitall(2 * EXCHANGES, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(numbers, sums, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(step % 2 == 0 ? sums : numbers, 7, MPI_FLOAT, 0, half);
  }
  for (int i = 0; i < MANY; i++) {
    MPI_Irecv(taken[i], 1, MPI_DOUBLE, before, i, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(given, 1, MPI_DOUBLE, after, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
  MPI_Barrier(second);
  MPI_Barrier(first);
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
