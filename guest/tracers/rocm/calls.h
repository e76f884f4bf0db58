// SPDX-License-Identifier: Apache-2.0
// Calls of HIP and HSA: which are recorded, and as what.
#ifndef XSP_TRACERS_ROCM_CALLS_H
#define XSP_TRACERS_ROCM_CALLS_H

#include "tracers/rocm/abi.h"

#include <xsp/span.h>

#define ROCM_TRACER "rocm"
#define ROCM_HIP "HIP_RUNTIME_API" // the kind of HIP's calls
#define ROCM_CALLS_MOST 1024u      // of one kind; HIP of ROCm 7 has about 500

enum rocm_calls {
  ROCM_CALLS_SOME, // of HIP: those that give the device work, wait for it, allocate memory or load code
  ROCM_CALLS_ALL,  // of HIP
  ROCM_CALLS_HSA,  // all of HIP, and those of HSA below it
  ROCM_CALLS_NONE,
};
// The option's word, NULL: some. False: no such word.
bool rocm_calls_choice(const char *word, enum rocm_calls *ret_choice);

// Whether calls of this kind are wanted: *ret_operations (to be freed), *ret_count; NULL and 0 for all of them, and where it is false.
bool rocm_calls_wanted(const struct rocm *rocm, uint32_t kind, bool is_hsa, enum rocm_calls choice,
                       uint32_t **ret_operations, size_t *ret_count);

struct rocm_call_site {
  struct xsp_site *site;
  enum xsp_kind kind; // launch: the device may run something for it
};
// NULL: no such call. One thread; the result is kept.
const struct rocm_call_site *rocm_call_of(const struct rocm *rocm, uint32_t kind, uint32_t operation);

#endif
