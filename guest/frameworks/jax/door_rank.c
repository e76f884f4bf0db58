// SPDX-License-Identifier: Apache-2.0
// Which process of a job this one is, by jax.distributed, which the program starts before it uses a device. Called by
// door_recording.c then, with the interpreter held.
#include "frameworks/jax/tracer.h"

#include <string.h>

static void release(const struct python *py, void *object)
{
  if (object != NULL)
    py->decref(object);
}

static int64_t number_of(const struct python *py, void *object, const char *name) // negative: it has none
{
  void *value = object != NULL ? py->get_attribute(object, name) : NULL;
  int64_t number = value != NULL && value != py->none ? py->int_value(value) : -1;
  release(py, value);
  py->error_clear();
  return number;
}

void jax_rank(const struct python *py)
{
  void *symbol = py->symbol("PyImport_GetModule"), *state = NULL;
  void *(*find)(void *name);
  memcpy(&find, &symbol, sizeof find);
  void *name = py->new_text("jax._src.distributed");
  void *module = find != NULL && name != NULL ? find(name) : NULL; // NULL: the program has not imported jax
  if (module != NULL)
    state = py->get_attribute(module, "global_state");
  int64_t rank = number_of(py, state, "process_id"), size = number_of(py, state, "num_processes");
  if (rank >= 0 && size > 1 && rank < size && size <= INT32_MAX)
    xsp_process_rank((uint32_t)rank, -1, (uint32_t)size);
  release(py, state);
  release(py, module);
  release(py, name);
  py->error_clear();
}
