// SPDX-License-Identifier: Apache-2.0
// Numbers of calls differ between versions, so calls are chosen by name.
#include "tracers/rocm/calls.h"

#include <stdlib.h>
#include <string.h>

#define KINDS_MOST 64u

static struct rocm_call_site calls[KINDS_MOST][ROCM_CALLS_MOST];

// Beginnings of names. Only with HSA's calls on do executions belong to them.
static const char *const launches[] = {"hipLaunch",
                                       "hipExtLaunch",
                                       "hipModuleLaunch",
                                       "hipExtModuleLaunch",
                                       "hipHccModuleLaunch",
                                       "hipGraphLaunch",
                                       "hipMemcpy",
                                       "hipDrvMemcpy",
                                       "hipMemset",
                                       "hipMemPrefetch",
                                       "hsa_signal_store",
                                       "hsa_amd_memory_async_copy",
                                       NULL};
static const char *const others[] = {"hipMalloc",
                                     "hipExtMalloc",
                                     "hipMemAlloc",
                                     "hipMemCreate",
                                     "hipMemMap",
                                     "hipHostAlloc",
                                     "hipHostMalloc",
                                     "hipHostRegister",
                                     "hipFree",
                                     "hipHostFree",
                                     "hipModuleLoad",
                                     "hipGraphInstantiate",
                                     "hipStreamBeginCapture",
                                     "hipStreamEndCapture",
                                     "hipStreamWait",
                                     NULL};

bool rocm_calls_choice(const char *word, enum rocm_calls *ret_choice)
{
  static const char *const words[] = {
      [ROCM_CALLS_SOME] = "some", [ROCM_CALLS_ALL] = "all", [ROCM_CALLS_HSA] = "hsa", [ROCM_CALLS_NONE] = "none"};
  *ret_choice = ROCM_CALLS_SOME;
  for (uint32_t i = 0; word != NULL && i < sizeof words / sizeof words[0]; i++)
    if (strcmp(words[i], word) == 0) {
      *ret_choice = (enum rocm_calls)i;
      return true;
    }
  return word == NULL;
}

static bool begins_with_one(const char *name, const char *const *beginnings)
{
  while (*beginnings != NULL && strncmp(name, *beginnings, strlen(*beginnings)) != 0)
    beginnings++;
  return *beginnings != NULL;
}

static const char *name_of(const struct rocm *rocm, uint32_t kind, uint32_t operation)
{
  const char *name = NULL;
  return rocm->operation_name(kind, operation, &name, NULL) == ROCM_OK ? name : NULL;
}

struct some {
  const struct rocm *rocm;
  uint32_t *operations;
  size_t count;
};

static int note_if_chosen(uint32_t kind, uint32_t operation, void *data)
{
  struct some *some = data;
  const char *name = name_of(some->rocm, kind, operation);
  if (name != NULL && some->count < ROCM_CALLS_MOST &&
      (begins_with_one(name, launches) || begins_with_one(name, others) || strstr(name, "Synchronize") != NULL))
    some->operations[some->count++] = operation;
  return ROCM_OK;
}

bool rocm_calls_wanted(const struct rocm *rocm, uint32_t kind, bool is_hsa, enum rocm_calls choice,
                       uint32_t **ret_operations, size_t *ret_count)
{
  *ret_operations = NULL;
  *ret_count = 0;
  if (is_hsa || choice != ROCM_CALLS_SOME)
    return choice == ROCM_CALLS_HSA || (choice == ROCM_CALLS_ALL && !is_hsa);
  struct some some = {.rocm = rocm, .operations = malloc(ROCM_CALLS_MOST * sizeof *some.operations)};
  if (some.operations == NULL)
    return false;
  rocm->each_operation(kind, note_if_chosen, &some);
  if (some.count == 0) {
    free(some.operations);
    return false;
  }
  *ret_operations = some.operations;
  *ret_count = some.count;
  return true;
}

const struct rocm_call_site *rocm_call_of(const struct rocm *rocm, uint32_t kind, uint32_t operation)
{
  if (kind >= KINDS_MOST || operation >= ROCM_CALLS_MOST)
    return NULL;
  struct rocm_call_site *call = &calls[kind][operation];
  if (call->site != NULL)
    return call;
  const char *name = name_of(rocm, kind, operation);
  if (name == NULL)
    return NULL;
  call->kind = begins_with_one(name, launches) ? XSP_KIND_LAUNCH : XSP_KIND_SYNC;
  call->site = xsp_site_create(ROCM_TRACER, XSP_LEVEL_KERNEL, name, "api");
  return call->site != NULL ? call : NULL;
}
