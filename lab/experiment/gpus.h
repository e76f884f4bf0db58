// SPDX-License-Identifier: Apache-2.0
// The machine's NVIDIA GPUs and their driver, by NVML, where both are installed.
#ifndef XSP_EXPERIMENT_GPUS_H
#define XSP_EXPERIMENT_GPUS_H

#include "base/arena.h"
#include "base/error.h"

struct gpus {
  unsigned count;      // 0: none, or no NVML
  const char *names;   // "NVIDIA H200, NVIDIA H200"
  const char *model;   // what all of them are; NULL: they differ
  const char *driver;  // "570.86.15"; NULL: unknown
  int cuda_version;    // the newest that the driver runs: 12080 is 12.8; 0: unknown
  double memory_bytes; // of each; NaN: unknown, or they differ
};
// Opens XSP_LIBRARY_NVML, else libnvidia-ml.so.1. Strings in `arena`. STATUS_SYSTEM: XSP_LIBRARY_NVML does not open, or is
// not NVML.
enum status gpus_read(struct arena *arena, struct gpus *ret_gpus, struct error *err) MUST_CHECK;

#endif
