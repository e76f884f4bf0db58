// SPDX-License-Identifier: Apache-2.0
// Names of CUPTI's kinds of memory, by their numbers; those that are not known count as the first.
#ifndef XSP_TRACERS_CUDA_MEMORY_KINDS_H
#define XSP_TRACERS_CUDA_MEMORY_KINDS_H

#include <stdint.h>

#define MEMORY_KINDS 8u

static inline uint32_t memory_place(uint32_t kind)
{
  return kind < MEMORY_KINDS ? kind : 0;
}

static inline const char *cuda_name_of_memory(uint32_t kind)
{
  static const char *const names[MEMORY_KINDS] = {"Unknown", "Pageable", "Pinned",        "Device",
                                                  "Array",   "Managed",  "Device Static", "Managed Static"};
  return names[memory_place(kind)];
}

#endif
