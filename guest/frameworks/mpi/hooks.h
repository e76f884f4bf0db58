// SPDX-License-Identifier: Apache-2.0
// What door.c, in frameworks.so, asks of mpi.so in the same process. MPI's handles are ints or pointers, by implementation:
// here all arguments are words, which are passed on as they came.
#ifndef XSP_FRAMEWORKS_MPI_HOOKS_H
#define XSP_FRAMEWORKS_MPI_HOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <xsp/span.h>

typedef uintptr_t mpi_word;

struct mpi_call {          // one of MPI's functions. Numbers are places of arguments, from 1; 0: it has none
  const char *name, *kind; // "MPI_Allreduce", "all_reduce"; NULL: no communication
  uint8_t count, type;     // of what the rank gives
  uint8_t buffer;          // where this is MPI_IN_PLACE, the next two count
  uint8_t other_count, other_type;
  uint8_t root, communicator;
  uint8_t request;                 // that is made: it ends with a wait for it
  uint8_t requests, request_count; // that are waited for; without a count one
  uint8_t freed;                   // the communicator's place
  uint8_t freed_request;           // the request's
  bool is_array, is_of_each;       // counts of all ranks; the count is that of each rank
  const char *small;               // counts have 64 bits; the function whose counts have 32
  bool is_between_two;             // a send or receive
  bool is_test;                    // may find nothing complete
};

#define MPI_FUNCTIONS(X)                                                                                               \
  X(Get_library_version, int, (char *text, int *ret_length))                                                           \
  X(Type_size, int, (mpi_word type, int *ret_size))                                                                    \
  X(Comm_size, int, (mpi_word communicator, int *ret_size))                                                            \
  X(Comm_rank, int, (mpi_word communicator, int *ret_rank))                                                            \
  X(Comm_test_inter, int, (mpi_word communicator, int *ret_is_inter))                                                  \
  X(Comm_group, int, (mpi_word communicator, mpi_word * ret_group))                                                    \
  X(Group_free, int, (mpi_word * group))                                                                               \
  X(Group_translate_ranks, int, (mpi_word group, int count, const int *ranks, mpi_word other, int *ret_ranks))
struct mpi_functions { // the library's own
#define X(name, result, parameters) result(*name) parameters;
  MPI_FUNCTIONS(X)
#undef X
  const void *open_mpi_world, *open_mpi_no_communicator,
      *open_mpi_no_type; // Open MPI's objects; NULL: another implementation
};

#define MPI_REQUESTS 256u // at a time; more are not recorded
struct mpi_open {         // a call that has not returned
  const struct mpi_call *call;
  const mpi_word *arguments;
  struct xsp_span span;
  struct xsp_site *site;   // NULL: nothing is recorded
  int64_t sequence, bytes; // less than 0: unknown
  uint64_t start;
  uint32_t path, waited_count;
  struct {
    uint32_t slot, place; // of the request in the table, and in the array that is waited for
  } waited[MPI_REQUESTS];
};

struct mpi_hooks {
  uint32_t size;
  // The functions live as long as the process. False: this MPI cannot be traced.
  bool (*start)(const struct mpi_functions *functions);
  void (*python)(const void *address_in_interpreter); // mpi4py is loaded; the interpreter is held
  // `inner`: an address in the caller's stack frame. `arguments` live until the call has ended.
  void (*begins)(const struct mpi_call *call, const mpi_word *arguments, const void *inner, struct mpi_open *ret_open);
  void (*ended)(struct mpi_open *open, bool has_succeeded);
};
#define MPI_HOOKS_SYMBOL "xsp_mpi"
XSP_API const struct mpi_hooks *xsp_mpi(void);

#endif
