// SPDX-License-Identifier: Apache-2.0
// What can be counted within spans (`xsp run --counters`): names, tags, and perf's numbers. Pure, no I/O.
#ifndef XSP_FORMAT_SPAN_COUNTERS_H
#define XSP_FORMAT_SPAN_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPAN_COUNTERS_VARIABLE "XSP_COUNTERS"
enum span_counter {
  SPAN_CPU_NS,
  SPAN_PAGE_FAULTS,
  SPAN_CONTEXT_SWITCHES,
  SPAN_SYSTEM_CALLS, // by perf_event_open, of the kernel's trace point
  SPAN_OF_HARDWARE,  // from here on: by perf_event_open, type PERF_TYPE_HARDWARE
  SPAN_INSTRUCTIONS = SPAN_OF_HARDWARE,
  SPAN_CYCLES,
  SPAN_CACHE_REFERENCES,
  SPAN_CACHE_MISSES,
  SPAN_BRANCHES,
  SPAN_BRANCH_MISSES,
  SPAN_COUNTERS
};
struct span_counter_facts {
  const char *name;     // of the option, and of the tag
  const char *papi;     // preset of PAPI that counts the same; NULL: none
  uint64_t perf_config; // of hardware
};
extern const struct span_counter_facts span_counter_facts[SPAN_COUNTERS];

// The number of the trace point of system calls is in such a file, where tracefs is mounted and may be read.
#define SPAN_SYSTEM_CALLS_FILES                                                                                        \
  "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id"
// An event of it without a descriptor: each call adds SPAN_SYSTEM_CALL_BYTES to data_head of its mapped pages, a header without anything
// behind it, which overwrites older ones.
#define SPAN_SYSTEM_CALL_BYTES sizeof(struct perf_event_header)
#define SPAN_SYSTEM_CALLS_ATTR(id)                                                                                     \
  {                                                                                                                    \
    .type = PERF_TYPE_TRACEPOINT, .size = sizeof(struct perf_event_attr), .config = (id), .sample_period = 1           \
  }

#define SPAN_COUNTERS_OF_SYSTEM (UINT32_C(1) << 31) // `os` was named: system calls only where the kernel allows it
// A list with commas as bits of enum span_counter. False: *ret_wrong, of *ret_length bytes, is no counter's name.
bool span_counters_parse(const char *list, uint32_t *ret_mask, const char **ret_wrong, size_t *ret_length);

#endif
