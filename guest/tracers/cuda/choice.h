// SPDX-License-Identifier: Apache-2.0
// What --cuda chooses: "api=all,activities=kernel+memcpy". Parsed by xsp, which reports mistakes, and again by cuda.so.
#ifndef XSP_TRACERS_CUDA_CHOICE_H
#define XSP_TRACERS_CUDA_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cuda_calls { CUDA_CALLS_SOME, CUDA_CALLS_ALL, CUDA_CALLS_NONE };
enum cuda_activity {
  CUDA_KERNEL = 1,
  CUDA_MEMCPY = 2,
  CUDA_MEMSET = 4,
  CUDA_SYNC = 8,
  CUDA_MEMORY = 16,
};
enum cuda_collect {
  CUDA_COLLECT_KERNEL,      // each kernel is repeated until all metrics are known
  CUDA_COLLECT_APPLICATION, // each execution of the program measures what one pass can
  CUDA_COLLECT_SAMPLING,    // kernels run as they are, and the device's counters are read at an interval
};
#define CUDA_METRICS_MOST 64u
#define CUDA_METRIC_NAME_MOST 150u // bytes; the longest of 13.1 has 108
// Samples of instructions: kernels run side by side as without them, or one after the other.
enum cuda_samples { CUDA_SAMPLES_NONE, CUDA_SAMPLES_CONTINUOUS, CUDA_SAMPLES_SERIALIZED };
struct cuda_choice {
  enum cuda_calls calls;
  uint32_t activities; // of enum cuda_activity
  enum cuda_collect collect;
  uint32_t interval_us;  // of sampling
  const char *metrics;   // of the text: names with '+' between them; NULL: "xsp"
  size_t metrics_length; // in bytes
  bool wants_metrics;    // a key of metrics was given
  enum cuda_samples samples;
};

// `text` NULL: the defaults, which are some calls, all activities and xsp's metrics. False: `why` names the wrong word and what
// it may be.
bool cuda_choice_parse(const char *text, struct cuda_choice *ret_choice, char *why, size_t why_size);

#endif
