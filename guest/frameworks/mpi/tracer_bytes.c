// SPDX-License-Identifier: Apache-2.0
// How many bytes a rank gives to a call of MPI, by its arguments. Called by tracer.c. MPI ignores some arguments on some ranks, which may
// be anything: they are not looked at.
#include "frameworks/mpi/tracer.h"

#include <string.h>

#define MPICH_NO_TYPE UINT32_C(0x0c000000)

static bool is_in_place(mpi_word buffer) // MPI_IN_PLACE
{
  return buffer == (mpi->open_mpi_world != NULL ? 1 : UINTPTR_MAX);
}

static int64_t type_bytes(mpi_word type) // less than 0: unknown
{
  int size;
  mpi_word handle = mpi_handle(type);
  bool is_none =
      handle == 0 || handle == (mpi->open_mpi_world != NULL ? (mpi_word)mpi->open_mpi_no_type : MPICH_NO_TYPE);
  return !is_none && mpi->Type_size(type, &size) == 0 ? size : -1;
}

static int64_t sum(const void *counts, uint32_t size)
{
  int64_t total = counts == NULL ? -1 : 0;
  for (uint32_t i = 0; i < size && counts != NULL; i++) {
    int32_t count;
    memcpy(&count, (const char *)counts + sizeof count * i, sizeof count);
    total += count;
  }
  return total;
}

int64_t mpi_bytes(const struct mpi_call *call, const mpi_word *arguments, const struct mpi_group *group)
{
  bool is_other = call->buffer != 0 && is_in_place(arguments[call->buffer - 1]);
  uint8_t count = is_other ? call->other_count : call->count, type = is_other ? call->other_type : call->type;
  if (count == 0)
    return strcmp(call->kind, "barrier") == 0 ? 0 : -1;
  int64_t bytes = type_bytes(arguments[type - 1]);
  mpi_word argument = arguments[count - 1];
  int64_t elements = call->is_array        ? sum((const void *)argument, group->size)
                     : call->small != NULL ? (int64_t)argument
                                           : (int32_t)(uint32_t)argument;
  bool is_sum = bytes >= 0 && elements >= 0 && !__builtin_mul_overflow(bytes, elements, &bytes) &&
                !__builtin_mul_overflow(bytes, call->is_of_each ? (int64_t)group->size : 1, &bytes);
  return is_sum ? bytes : -1;
}
