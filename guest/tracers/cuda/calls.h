// SPDX-License-Identifier: Apache-2.0
// Calls of CUDA's two interfaces, by CUPTI's numbers: which are recorded, and as what.
#ifndef XSP_TRACERS_CUDA_CALLS_H
#define XSP_TRACERS_CUDA_CALLS_H

#include "tracers/cuda/abi.h"
#include "tracers/cuda/choice.h"

#include <stdbool.h>
#include <xsp/span.h>

#define CUDA_TRACER "cuda"
#define CALLS_MOST 2048u // of one interface; 13.1 has 900

const char *cuda_call_name(const struct cupti *cupti, uint32_t domain, uint32_t cbid); // NULL: no such call

// Whether SOME has it: below.
bool cuda_call_is_chosen(const struct cupti *cupti, uint32_t domain, uint32_t cbid);

// Switches the calls on. SOME: those that give the device work, wait for it, allocate memory or load code.
void cuda_calls_enable(const struct cupti *cupti, enum cuda_calls choice);

struct cuda_call {
  struct xsp_site *site;
  enum xsp_kind kind; // launch: the device may run something for it
};
// NULL: no such call. One thread; the result is kept.
const struct cuda_call *cuda_call_of(const struct cupti *cupti, uint32_t domain, uint32_t cbid);

#endif
