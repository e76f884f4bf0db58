// SPDX-License-Identifier: Apache-2.0
// PC sampling: the device looks at its warps at regular times, and CUPTI says which instruction they were at and what they
// waited for. Kernels run as they do without it (continuous), or one after the other, and then samples
// name their launch (serialized). One context of a device is sampled: CUPTI's limit.
#ifndef XSP_TRACERS_CUDA_PC_SAMPLING_H
#define XSP_TRACERS_CUDA_PC_SAMPLING_H

#include "tracers/cuda/abi.h"

#include <xsp/tracer.h>

struct pc_wish {
  enum pc_mode mode;
  uint32_t period;               // 2^period cycles between samples of a multiprocessor, 5 to 31; 0: CUPTI's choice
  void (*say)(const char *line); // on any thread
};
void pc_start(const struct cupti *cupti, const struct pc_wish *wish);
// CUPTI's callback of the subscription, on the program's threads; waits 0.2 s at most. Before pc_start it does nothing.
void pc_sampling_callback(uint32_t domain, uint32_t cbid, const void *details);
// Takes what CUPTI has, and publishes it every few seconds, when it was asked to, and at the end, which also ends the sampling.
// By the tracer's thread only.
void pc_look(bool is_ending);
void pc_ask(void); // that the next look publishes. Any thread
// What was lost, at the program's end.
void pc_sampling_say(const struct xsp_host *host);

#endif
