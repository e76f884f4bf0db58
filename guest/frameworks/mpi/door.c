// SPDX-License-Identifier: Apache-2.0
// MPI in programs that are linked against it, or that look its functions up. Each function here calls MPI's own of the same
// name, and reports communication and waits for it to mpi.so. MPI's handles are words: hooks.h.
#include "frameworks/mpi/hooks.h"

#include "frameworks/common/door_python.h"

#include <dlfcn.h>
#include <string.h>

#define PARAMETERS_1 mpi_word a
#define PARAMETERS_2 PARAMETERS_1, mpi_word b
#define PARAMETERS_3 PARAMETERS_2, mpi_word c
#define PARAMETERS_4 PARAMETERS_3, mpi_word d
#define PARAMETERS_5 PARAMETERS_4, mpi_word e
#define PARAMETERS_6 PARAMETERS_5, mpi_word f
#define PARAMETERS_7 PARAMETERS_6, mpi_word g
#define PARAMETERS_8 PARAMETERS_7, mpi_word h
#define PARAMETERS_9 PARAMETERS_8, mpi_word i
#define PARAMETERS_10 PARAMETERS_9, mpi_word j
#define PARAMETERS_12 PARAMETERS_10, mpi_word k, mpi_word l
#define ARGUMENTS_1 a
#define ARGUMENTS_2 ARGUMENTS_1, b
#define ARGUMENTS_3 ARGUMENTS_2, c
#define ARGUMENTS_4 ARGUMENTS_3, d
#define ARGUMENTS_5 ARGUMENTS_4, e
#define ARGUMENTS_6 ARGUMENTS_5, f
#define ARGUMENTS_7 ARGUMENTS_6, g
#define ARGUMENTS_8 ARGUMENTS_7, h
#define ARGUMENTS_9 ARGUMENTS_8, i
#define ARGUMENTS_10 ARGUMENTS_9, j
#define ARGUMENTS_12 ARGUMENTS_10, k, l

// X(name, that of its start, arguments, arguments with a request, what they are). V: has an array of counts, so its form for large counts has
// other arguments.
#define EACH_COLLECTIVE(X, V)                                                                                          \
  X(Bcast, Ibcast, 5, 6, .kind = "broadcast", .count = 2, .type = 3, .communicator = 5)                                \
  X(Reduce, Ireduce, 7, 8, .kind = "reduce", .count = 3, .type = 4, .communicator = 7)                                 \
  X(Allreduce, Iallreduce, 6, 7, .kind = "all_reduce", .count = 3, .type = 4, .communicator = 6)                       \
  X(Scan, Iscan, 6, 7, .kind = "scan", .count = 3, .type = 4, .communicator = 6)                                       \
  X(Exscan, Iexscan, 6, 7, .kind = "scan", .count = 3, .type = 4, .communicator = 6)                                   \
  V(Reduce_scatter, Ireduce_scatter, 6, 7, .kind = "reduce_scatter", .count = 3, .type = 4, .is_array = true,          \
    .communicator = 6)                                                                                                 \
  X(Reduce_scatter_block, Ireduce_scatter_block, 6, 7, .kind = "reduce_scatter", .count = 3, .type = 4,                \
    .is_of_each = true, .communicator = 6)                                                                             \
  X(Gather, Igather, 8, 9, .kind = "gather", .count = 2, .type = 3, .buffer = 1, .other_count = 5, .other_type = 6,    \
    .root = 7, .communicator = 8)                                                                                      \
  V(Gatherv, Igatherv, 9, 10, .kind = "gather", .count = 2, .type = 3, .buffer = 1, .communicator = 9)                 \
  X(Scatter, Iscatter, 8, 9, .kind = "scatter", .count = 5, .type = 6, .buffer = 4, .other_count = 2, .other_type = 3, \
    .is_of_each = true, .root = 7, .communicator = 8)                                                                  \
  V(Scatterv, Iscatterv, 9, 10, .kind = "scatter", .communicator = 9)                                                  \
  X(Allgather, Iallgather, 7, 8, .kind = "all_gather", .count = 2, .type = 3, .buffer = 1, .other_count = 5,           \
    .other_type = 6, .communicator = 7)                                                                                \
  V(Allgatherv, Iallgatherv, 8, 9, .kind = "all_gather", .count = 2, .type = 3, .buffer = 1, .communicator = 8)        \
  X(Alltoall, Ialltoall, 7, 8, .kind = "all_to_all", .count = 2, .type = 3, .buffer = 1, .other_count = 5,             \
    .other_type = 6, .is_of_each = true, .communicator = 7)                                                            \
  V(Alltoallv, Ialltoallv, 9, 10, .kind = "all_to_all", .count = 2, .type = 4, .buffer = 1, .other_count = 6,          \
    .other_type = 8, .is_array = true, .communicator = 9)                                                              \
  V(Alltoallw, Ialltoallw, 9, 10, .kind = "all_to_all", .communicator = 9)
#define SENDS .kind = "send", .is_between_two = true, .count = 2, .type = 3, .communicator = 6
#define RECEIVES .kind = "recv", .is_between_two = true, .count = 2, .type = 3, .communicator = 6
#define EACH_EXCHANGE(X)                                                                                               \
  X(Send, 6, SENDS)                                                                                                    \
  X(Bsend, 6, SENDS)                                                                                                   \
  X(Ssend, 6, SENDS)                                                                                                   \
  X(Rsend, 6, SENDS)                                                                                                   \
  X(Recv, 7, RECEIVES)                                                                                                 \
  X(Isend, 7, SENDS, .request = 7)                                                                                     \
  X(Issend, 7, SENDS, .request = 7)                                                                                    \
  X(Ibsend, 7, SENDS, .request = 7)                                                                                    \
  X(Irsend, 7, SENDS, .request = 7)                                                                                    \
  X(Irecv, 7, RECEIVES, .request = 7)                                                                                  \
  X(Sendrecv, 12, .kind = "send", .is_between_two = true, .count = 2, .type = 3, .other_count = 7, .communicator = 11) \
  X(Sendrecv_replace, 9, .kind = "send", .is_between_two = true, .count = 2, .type = 3, .communicator = 8)
#define EACH_OTHER(X)                                                                                                  \
  X(Barrier, 1, .kind = "barrier", .communicator = 1)                                                                  \
  X(Ibarrier, 2, .kind = "barrier", .communicator = 1, .request = 2)                                                   \
  X(Mprobe, 5, .kind = "recv", .is_between_two = true, .communicator = 3)                                              \
  X(Wait, 2, .requests = 1)                                                                                            \
  X(Waitall, 3, .requests = 2, .request_count = 1)                                                                     \
  X(Waitany, 4, .requests = 2, .request_count = 1)                                                                     \
  X(Waitsome, 5, .requests = 2, .request_count = 1)                                                                    \
  X(Test, 3, .requests = 1, .is_test = true)                                                                           \
  X(Testall, 4, .requests = 2, .request_count = 1, .is_test = true)                                                    \
  X(Testany, 5, .requests = 2, .request_count = 1, .is_test = true)                                                    \
  X(Testsome, 5, .requests = 2, .request_count = 1, .is_test = true)                                                   \
  X(Request_free, 1, .freed_request = 1)                                                                               \
  X(Comm_free, 1, .freed = 1)                                                                                          \
  X(Comm_disconnect, 1, .freed = 1)

#define COLLECTIVE_OF_COUNTS(name, start, arity, arity_of_start, ...)                                                  \
  FUNCTION(name, arity, __VA_ARGS__)                                                                                   \
  FUNCTION(start, arity_of_start, __VA_ARGS__, .request = arity_of_start)
#define COLLECTIVE(name, start, arity, arity_of_start, ...)                                                            \
  COLLECTIVE_OF_COUNTS(name, start, arity, arity_of_start, __VA_ARGS__)                                                \
  FUNCTION(name##_c, arity, __VA_ARGS__, .small = "MPI_" #name)                                                        \
  FUNCTION(start##_c, arity_of_start, __VA_ARGS__, .request = arity_of_start, .small = "MPI_" #start)
#define EXCHANGE(name, arity, ...)                                                                                     \
  FUNCTION(name, arity, __VA_ARGS__) FUNCTION(name##_c, arity, __VA_ARGS__, .small = "MPI_" #name)
#define OTHER(name, arity, ...) FUNCTION(name, arity, __VA_ARGS__)
#define EACH_FUNCTION EACH_COLLECTIVE(COLLECTIVE, COLLECTIVE_OF_COUNTS) EACH_EXCHANGE(EXCHANGE) EACH_OTHER(OTHER)

enum function {
#define FUNCTION(name, ...) OF_##name,
  EACH_FUNCTION
#undef FUNCTION
      FUNCTIONS,
};
#define FUNCTION(name_, arity, ...)                                                                                    \
  XSP_API int MPI_##name_(PARAMETERS_##arity);                                                                         \
  static const struct mpi_call call_##name_ = {.name = "MPI_" #name_, __VA_ARGS__};
EACH_FUNCTION
#undef FUNCTION

static void *reals[FUNCTIONS]; // atomic: MPI's own; NULL: not found yet
static const struct mpi_hooks *the_hooks;
static struct mpi_functions functions;
static __thread unsigned depth;

// A program that is linked against the library may have a copy of it, which then is the one that all use.
static const void *object_of(void *library, const char *name)
{
  const void *own = frameworks_lookup(RTLD_DEFAULT, name);
  return own != NULL ? own : frameworks_lookup(library, name);
}

static bool find_functions(void *library)
{
  void *symbol;
#define X(name, result, parameters)                                                                                    \
  symbol = library == NULL ? NULL : frameworks_lookup(library, "PMPI_" #name);                                         \
  memcpy(&functions.name, &symbol, sizeof symbol);                                                                     \
  if (symbol == NULL)                                                                                                  \
    return false;
  MPI_FUNCTIONS(X)
#undef X
  functions.open_mpi_world = object_of(library, "ompi_mpi_comm_world");
  functions.open_mpi_no_communicator = object_of(library, "ompi_mpi_comm_null");
  functions.open_mpi_no_type = object_of(library, "ompi_mpi_datatype_null");
  return true;
}

static bool attach(const void *real)
{
  const struct mpi_hooks *hooks = framework_hooks(&framework_mpi, MPI_HOOKS_SYMBOL);
  the_hooks = hooks;
  return hooks != NULL && find_functions(framework_library_of(real)) && hooks->start(&functions);
}

static struct framework_door door = {&framework_mpi, attach, FRAMEWORK_UNKNOWN};

// A program may ask by a weak reference whether there is a function for large counts. It finds ours, also where the library has none:
// then the one for small counts has to do.
#define ERROR_COUNT 2 // MPI_ERR_COUNT
static void *enter_small(void **place, const struct mpi_call *call, const void *caller, bool *ret_is_traced)
{
  void *small = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (small == NULL && (small = framework_next(call->small, caller)) != NULL)
    __atomic_store_n(place, small, __ATOMIC_RELEASE);
  *ret_is_traced = depth == 1 && small != NULL && framework_attach(&door, small);
  return small;
}

// MPI ignores counts next to MPI_IN_PLACE, and those of the root on other ranks.
static bool is_count_of(const struct mpi_call *call, const mpi_word *arguments, uint8_t count)
{
  int rank;
  mpi_word buffer = call->buffer != 0 ? arguments[call->buffer - 1] : 0;
  if (count == call->count && (buffer == 1 || buffer == UINTPTR_MAX)) // Open MPI's, MPICH's
    return false;
  return count != call->other_count || call->root == 0 || functions.Comm_rank == NULL ||
         functions.Comm_rank(arguments[call->communicator - 1], &rank) != 0 ||
         rank == (int)(uint32_t)arguments[call->root - 1];
}

// Counts `depth`, as framework_enter. NULL: there is no function for such counts.
static void *enter(enum function which, const struct mpi_call *call, const mpi_word *arguments, const void *caller,
                   bool *ret_is_traced)
{
  static void *smalls[FUNCTIONS]; // atomic: what the library has in the place of a function for large counts
  const uint8_t counts[] = {call->count, call->other_count};
  void *real = NULL;
  if (__atomic_load_n(&smalls[which], __ATOMIC_RELAXED) == NULL)
    real = framework_enter(&door, &depth, &reals[which], call->name, caller, ret_is_traced);
  else
    depth++;
  if (real != NULL || call->small == NULL)
    return real;
  real = enter_small(&smalls[which], call, caller, ret_is_traced);
  for (size_t i = 0; i < sizeof counts; i++)
    if (counts[i] != 0 && arguments[counts[i] - 1] > INT32_MAX && is_count_of(call, arguments, counts[i]))
      real = NULL;
  *ret_is_traced = *ret_is_traced && real != NULL;
  return real;
}

#define FUNCTION(name, arity, ...)                                                                                     \
  int MPI_##name(PARAMETERS_##arity)                                                                                   \
  {                                                                                                                    \
    bool is_traced;                                                                                                    \
    const mpi_word arguments[] = {ARGUMENTS_##arity};                                                                  \
    void *found = enter(OF_##name, &call_##name, arguments, FRAMEWORK_CALLER, &is_traced);                             \
    int (*real)(PARAMETERS_##arity);                                                                                   \
    memcpy(&real, &found, sizeof real);                                                                                \
    struct mpi_open open;                                                                                              \
    if (is_traced)                                                                                                     \
      the_hooks->begins(&call_##name, arguments, (const char *)__builtin_frame_address(0) + 16, &open);                \
    int result = real == NULL ? ERROR_COUNT : real(ARGUMENTS_##arity);                                                 \
    if (is_traced)                                                                                                     \
      the_hooks->ended(&open, result == 0);                                                                            \
    depth--;                                                                                                           \
    return result;                                                                                                     \
  }
EACH_FUNCTION
#undef FUNCTION

static void python_loaded(const struct python *python, void *module)
{
  const struct mpi_hooks *hooks = framework_hooks(&framework_mpi, MPI_HOOKS_SYMBOL);
  if (hooks != NULL)
    hooks->python(python->symbol("Py_IncRef"));
}

static const struct framework_symbol symbols[] = {
#define FUNCTION(name, ...) {"MPI_" #name, framework_first_copy, (void (*)(void))MPI_##name, &reals[OF_##name]},
    EACH_FUNCTION
#undef FUNCTION
    {.name = NULL},
};
const struct framework framework_mpi = {
    .name = "mpi",
    .symbol_prefix = "MPI_",
    .symbols = symbols,
    .python_module = "MPI",
    .python_folder = "mpi4py",
    .python_loaded = python_loaded,
};
