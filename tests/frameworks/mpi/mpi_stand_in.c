// SPDX-License-Identifier: Apache-2.0
// A library with MPICH's handles that does nothing, and, with PROGRAM, a program of it. The library has no functions for large counts, and
// ends the process where it is asked for the size of no type, or about no communicator, as MPI does by default.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD 0x44000000
#define SAME 0x84000001 // of the same processes
#define THIRD 0x84000002
#define SELF 0x44000001
#define DOUBLE 0x4c00080b
#define FLOAT 0x4c00040a
#define NO_COMM 0x04000000
#define NO_TYPE 0x0c000000
#define NO_REQUEST 0x2c000000
#define SHARED_REQUEST 0x6c000000 // of sends that are complete at once
#define MANY 80
#define IN_PLACE ((void *)-1)

#define EACH(X)                                                                                                        \
  X(Barrier, (int comm))                                                                                               \
  X(Bcast, (void *data, int count, int type, int root, int comm))                                                      \
  X(Allreduce, (const void *in, void *out, int count, int type, int op, int comm))                                     \
  X(Reduce_scatter, (const void *in, void *out, const int *counts, int type, int op, int comm))                        \
  X(Allgather, (const void *in, int count, int type, void *out, int out_count, int out_type, int comm))                \
  X(Gather, (const void *in, int count, int type, void *out, int out_count, int out_type, int root, int comm))         \
  X(Sendrecv, (const void *data, int count, int type, int to, int tag, void *out, int out_count, int out_type,         \
               int from, int out_tag, int comm, void *status))                                                         \
  X(Sendrecv_replace,                                                                                                  \
    (void *data, int count, int type, int to, int tag, int from, int other_tag, int comm, void *status))               \
  X(Mprobe, (int from, int tag, int comm, void **message, void *status))                                               \
  X(Scatter, (const void *in, int count, int type, void *out, int out_count, int out_type, int root, int comm))        \
  X(Alltoallv, (const void *in, const int *counts, const int *places, int type, void *out, const int *out_counts,      \
                const int *out_places, int out_type, int comm))                                                        \
  X(Send, (const void *data, int count, int type, int to, int tag, int comm))                                          \
  X(Recv, (void *data, int count, int type, int from, int tag, int comm, void *status))

#ifndef PROGRAM
#define X(name, parameters)                                                                                            \
  int PMPI_##name parameters;                                                                                          \
  int PMPI_##name parameters                                                                                           \
  {                                                                                                                    \
    return 0;                                                                                                          \
  }                                                                                                                    \
  __attribute__((weak, alias("PMPI_" #name))) int MPI_##name parameters;
EACH(X)
#undef X
#define PLAIN(name, ...)                                                                                               \
  int PMPI_##name(__VA_ARGS__);                                                                                        \
  __attribute__((weak, alias("PMPI_" #name))) int MPI_##name(__VA_ARGS__);                                             \
  int PMPI_##name(__VA_ARGS__)

static int number(const char *name)
{
  const char *text = getenv(name);
  return text != NULL ? atoi(text) : 0;
}

PLAIN(Get_library_version, char *text, int *length)
{
  *length = sprintf(text, "MPICH Version: stand-in");
  return 0;
}
PLAIN(Type_size, int type, int *size)
{
  if (type == NO_TYPE)
    abort();
  *size = type >> 8 & 0xff;
  return 0;
}
PLAIN(Comm_size, int comm, int *size)
{
  *size = comm == SELF ? 1 : number("PMI_SIZE");
  return 0;
}
PLAIN(Comm_rank, int comm, int *rank)
{
  *rank = comm == SELF ? 0 : number("PMI_RANK");
  return 0;
}
PLAIN(Comm_test_inter, int comm, int *is_inter)
{
  if (comm == NO_COMM)
    abort();
  *is_inter = 0;
  return 0;
}
PLAIN(Comm_group, int comm, int *group)
{
  *group = comm;
  return 0;
}
PLAIN(Group_free, int *group)
{
  *group = 0;
  return 0;
}
PLAIN(Group_translate_ranks, int group, int count, const int *ranks, int other, int *results)
{
  for (int i = 0; i < count; i++)
    results[i] = group == SELF ? number("PMI_RANK") : ranks[i];
  return 0;
}
PLAIN(Comm_free, int *comm)
{
  *comm = NO_COMM;
  return 0;
}
PLAIN(Iallreduce, const void *in, void *out, int count, int type, int op, int comm, int *request)
{
  *request = 0x6c000000 | count;
  return 0;
}
#define SENDS(name)                                                                                                    \
  PLAIN(name, const void *data, int count, int type, int to, int tag, int comm, int *request)                          \
  {                                                                                                                    \
    *request = SHARED_REQUEST;                                                                                         \
    return 0;                                                                                                          \
  }
SENDS(Isend)
SENDS(Ibsend)
SENDS(Irsend)
PLAIN(Irecv, void *data, int count, int type, int from, int tag, int comm, int *request)
{
  *request = (int)0x8c000000 | tag;
  return 0;
}
PLAIN(Request_free, int *request)
{
  *request = NO_REQUEST;
  return 0;
}
PLAIN(Waitall, int count, int *requests, void *statuses)
{
  for (int i = 0; i < count && requests != NULL; i++)
    requests[i] = NO_REQUEST;
  return count < 0 || requests == NULL;
}
PLAIN(Wait, int *request, void *status)
{
  *request = NO_REQUEST;
  return 0;
}
PLAIN(Test, int *request, int *flag, void *status) // not complete at the first time
{
  static int times;
  *flag = times++ > 0;
  if (*flag)
    *request = NO_REQUEST;
  return 0;
}
#else
#define X(name, parameters) int MPI_##name parameters;
EACH(X)
int MPI_Iallreduce(const void *in, void *out, int count, int type, int op, int comm, int *request);
int MPI_Isend(const void *data, int count, int type, int to, int tag, int comm, int *request);
int MPI_Ibsend(const void *data, int count, int type, int to, int tag, int comm, int *request);
int MPI_Irsend(const void *data, int count, int type, int to, int tag, int comm, int *request);
int MPI_Irecv(void *data, int count, int type, int from, int tag, int comm, int *request);
int MPI_Request_free(int *request);
int MPI_Waitall(int count, int *requests, void *statuses);
int MPI_Wait(int *request, void *status);
int PMPI_Wait(int *request, void *status);
int MPI_Test(int *request, int *flag, void *status);
int MPI_Comm_free(int *comm);
__attribute__((weak)) int MPI_Allreduce_c(const void *in, void *out, int64_t count, int type, int op, int comm);
#define WEAK __attribute__((weak))
WEAK int MPI_Gather_c(const void *in, int64_t count, int type, void *out, int64_t out_count, int out_type, int root,
                      int comm);
WEAK int MPI_Sendrecv_c(const void *data, int64_t count, int type, int to, int tag, void *out, int64_t out_count,
                        int out_type, int from, int out_tag, int comm, void *status);

// Counts that the library has no function for are errors, unless MPI ignores them: those of the root on other ranks, and those in place.
static int exchange_large(double *data)
{
  const int64_t large = INT64_C(1) << 32;
  int rank = atoi(getenv("PMI_RANK"));
  if (MPI_Gather_c == NULL) // not traced
    return 0;
  return MPI_Gather_c(data, 1, DOUBLE, data, large, DOUBLE, 1 - rank, WORLD) |
         MPI_Gather_c(IN_PLACE, large, DOUBLE, data, 1, DOUBLE, rank, WORLD) |
         !MPI_Gather_c(data, 1, DOUBLE, data, large, DOUBLE, rank, WORLD) |
         !MPI_Gather_c(data, large, DOUBLE, data, 1, DOUBLE, rank, WORLD) |
         !MPI_Sendrecv_c(data, 1, DOUBLE, 1, 0, data, large, DOUBLE, 1, 0, WORLD, NULL) |
         MPI_Sendrecv_c(data, 1, DOUBLE, 1, 0, data, 1, DOUBLE, 1, 0, WORLD, NULL);
}

// Three sends and 77 receives that one call waits for; then receives that end where the tracer does not see it, and others of the same
// handles that are not recorded.
static int exchange_many(double *data)
{
  int requests[MANY], results = MPI_Isend(data, 1, DOUBLE, 1, 0, WORLD, &requests[0]);
  results |=
      MPI_Ibsend(data, 1, DOUBLE, 1, 1, WORLD, &requests[1]) | MPI_Irsend(data, 1, DOUBLE, 1, 2, WORLD, &requests[2]);
  for (int i = 3; i < MANY; i++)
    results |= MPI_Irecv(data, 1, DOUBLE, 1, i, WORLD, &requests[i]);
  results |= MPI_Waitall(MANY, requests, NULL);
  results |= MPI_Irecv(data, 2, DOUBLE, 1, 1, WORLD, &requests[0]) | MPI_Request_free(&requests[0]);
  results |= MPI_Irecv(data, 2, DOUBLE, 1, 2, WORLD, &requests[1]) | PMPI_Wait(&requests[1], NULL);
  results |=
      MPI_Irecv(data, 2, DOUBLE, 0, 1, SELF, &requests[0]) | MPI_Irecv(data, 2, DOUBLE, 0, 2, SELF, &requests[1]);
  results |= MPI_Irecv(data, 1, DOUBLE, 1, 3, WORLD, &requests[2]); // waited for below
  results |= MPI_Waitall(2, requests, NULL) | !MPI_Waitall(-1, requests, NULL) | !MPI_Waitall(2, NULL, NULL);
  return results | MPI_Wait(&requests[2], NULL);
}

int main(void)
{
  static double data[64];
  const int counts[] = {3, 5}, places[] = {0, 3};
  int same = SAME, request, other, is_done = 0, results = MPI_Barrier(WORLD);
  for (int i = 0; i < 3; i++)
    results |= MPI_Allreduce(data, data, 10, DOUBLE, 0, WORLD);
  results |= MPI_Bcast(data, 7, FLOAT, 0, WORLD);
  results |= MPI_Reduce_scatter(data, data, counts, FLOAT, 0, WORLD);
  results |= MPI_Allgather(IN_PLACE, 0, NO_TYPE, data, 4, DOUBLE, WORLD);
  results |= MPI_Scatter(NULL, 0, NO_TYPE, data, 6, FLOAT, 1, WORLD);
  results |= MPI_Alltoallv(data, counts, places, FLOAT, data, counts, places, FLOAT, WORLD);
  results |= MPI_Send(data, 2, FLOAT, 1, 0, WORLD) | MPI_Recv(data, 2, FLOAT, 0, 0, WORLD, NULL);
  results |= MPI_Sendrecv_replace(data, 5, FLOAT, 1, 0, 1, 0, WORLD, NULL) | MPI_Mprobe(0, 0, WORLD, NULL, NULL);
  results |= MPI_Barrier(NO_COMM) | MPI_Recv(data, 3, FLOAT, 0, 0, NO_COMM, NULL);
  results |= atoi(getenv("PMI_RANK")) == 0 ? MPI_Send(data, 3, FLOAT, 1, 0, THIRD) : 0; // before anything on the others
  results |= MPI_Barrier(same) | MPI_Barrier(THIRD) | MPI_Barrier(SELF);
  results |= MPI_Comm_free(&same) | MPI_Barrier(SAME); // another one of the handle
  results |= MPI_Iallreduce(data, data, 11, DOUBLE, 0, WORLD, &request);
  results |= MPI_Iallreduce(data, data, 12, DOUBLE, 0, WORLD, &other);
  results |= MPI_Wait(&request, NULL);
  while (!is_done)
    results |= MPI_Test(&other, &is_done, NULL);
  results |= exchange_many(data) | exchange_large(data) | MPI_Reduce_scatter(data, data, NULL, FLOAT, 0, WORLD);
  int large = MPI_Allreduce_c != NULL ? MPI_Allreduce_c(data, data, 13, DOUBLE, 0, WORLD) : 0;
  int larger = MPI_Allreduce_c != NULL ? MPI_Allreduce_c(data, data, INT64_C(1) << 32, DOUBLE, 0, WORLD) : 2;
  printf("%d %d %d %d\n", results, large, larger, request == NO_REQUEST && other == NO_REQUEST);
  return 0;
}
#endif
