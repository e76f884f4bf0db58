// SPDX-License-Identifier: Apache-2.0
// What rocprofv3's JSON says once of a process: names of kernels, calls and ranges, its devices. Private to this folder.
#ifndef XSP_IMPORTERS_ROCPROF_NAMES_H
#define XSP_IMPORTERS_ROCPROF_NAMES_H

#include "base/map.h"
#include "base/vector.h"
#include "importers/json_document.h"

struct rocprof_names { // starts as {.import = …}
  struct import *import;
  struct map kernels;    // kernel_id → id of a text
  struct map operations; // (kind, operation) → id of a text
  struct map markers;    // internal correlation id → id of a text
  struct map devices;    // an agent's handle → its number among the GPUs + 2; 1: a CPU
  int64_t process_id, gpu_count;
};
// Reads a process's object. False: it is damaged.
bool rocprof_names_read(struct rocprof_names *names, struct slice process);
void rocprof_names_done(struct rocprof_names *names);

#endif
