// SPDX-License-Identifier: Apache-2.0
// By rocprofiler-sdk's callbacks on the program's threads, of the calls of HIP that have records. A call has the same number in
// both services.
#include "tracers/rocm/events.h"

#include "tracers/device/call_event.h"

#include <string.h>

static const char *names[ROCM_CALLS_MOST]; // by number of the call; NULL: no such call. Before the first callback

static int note_name(uint32_t kind, uint32_t operation, void *data)
{
  const struct rocm *rocm = data;
  if (operation < ROCM_CALLS_MOST && rocm->operation_name(kind, operation, &names[operation], NULL) != ROCM_OK)
    names[operation] = NULL;
  return ROCM_OK;
}

bool rocm_events_wanted(const struct rocm *rocm, enum rocm_calls choice, uint32_t **ret_operations, size_t *ret_count)
{
  const char *name = NULL;
  if (!device_call_is_wanted())
    return false;
  for (uint32_t kind = 1; rocm->kind_name(kind, &name, NULL) == ROCM_OK; kind++)
    if (name != NULL && strcmp(name, ROCM_HIP) == 0) {
      if (!rocm_calls_wanted(rocm, kind, false, choice, ret_operations, ret_count))
        return false;
      rocm->each_operation(kind, note_name, (void *)(uintptr_t)rocm);
      return true;
    }
  return false;
}

void rocm_events_note(const struct rocm_event *event, void *user_data, void *rocm)
{
  static _Thread_local struct device_call current;
  const struct rocm_event_end *end = rocm_event_end(rocm, event);
  (void)user_data;
  if (end->operation < ROCM_CALLS_MOST && names[end->operation] != NULL)
    device_call_nested(&current, end->phase == ROCM_PHASE_EXIT, ROCM_TRACER, names[end->operation]);
}
