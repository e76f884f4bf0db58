// SPDX-License-Identifier: Apache-2.0
// ROUNDS × CALLS all-reduces of a library of MPI that does nothing, run by bench/mpi.py: prints the processor time of
// a call in ns, the median of the rounds. With PEER: a library that does what a profiler of MPI must at least, two times and a record
// in memory around PMPI's function.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int MPI_Allreduce(const void *in, void *out, int count, int type, int op, int comm);
int PMPI_Allreduce(const void *in, void *out, int count, int type, int op, int comm);

#ifdef PEER
struct record {
  struct timespec start, end;
  long bytes;
};
static struct record records[1 << 16];
static unsigned count_of_records;

int MPI_Allreduce(const void *in, void *out, int count, int type, int op, int comm)
{
  struct record *record = &records[count_of_records++ % (sizeof records / sizeof records[0])];
  clock_gettime(CLOCK_MONOTONIC, &record->start);
  int result = PMPI_Allreduce(in, out, count, type, op, comm);
  clock_gettime(CLOCK_MONOTONIC, &record->end);
  record->bytes = (long)count * (type >> 8 & 0xff);
  return result;
}
#else
#define CALLS 100000
#define ROUNDS 9
#define WORLD 0x44000000
#define DOUBLE 0x4c00080b

static double now_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

int main(void)
{
  double in[8] = {0}, out[8], values[ROUNDS];
  for (int round = -1; round < ROUNDS; round++) { // the first warms up
    double start = now_ns();
    for (int i = 0; i < CALLS; i++)
      (void)MPI_Allreduce(in, out, 8, DOUBLE, 0, WORLD);
    values[round < 0 ? 0 : round] = (now_ns() - start) / CALLS;
  }
  qsort(values, ROUNDS, sizeof values[0], compare);
  printf("%.2f\n", values[ROUNDS / 2]);
  return 0;
}
#endif
