// SPDX-License-Identifier: Apache-2.0
// The table of counters within spans. Used by the program, which checks an option, and by libxsp.so, which counts.
#include "format/span_counters.h"

#include <string.h>

const struct span_counter_facts span_counter_facts[SPAN_COUNTERS] = {
    [SPAN_CPU_NS] = {"cpu_ns", NULL, 0},
    [SPAN_PAGE_FAULTS] = {"page_faults", NULL, 0},
    [SPAN_CONTEXT_SWITCHES] = {"context_switches", NULL, 0},
    [SPAN_SYSTEM_CALLS] = {"system_calls", NULL, 0},
    [SPAN_INSTRUCTIONS] = {"instructions", "PAPI_TOT_INS", PERF_COUNT_HW_INSTRUCTIONS},
    [SPAN_CYCLES] = {"cycles", "PAPI_TOT_CYC", PERF_COUNT_HW_CPU_CYCLES},
    [SPAN_CACHE_REFERENCES] = {"cache_references", NULL, PERF_COUNT_HW_CACHE_REFERENCES},
    [SPAN_CACHE_MISSES] = {"cache_misses", NULL, PERF_COUNT_HW_CACHE_MISSES},
    [SPAN_BRANCHES] = {"branches", "PAPI_BR_INS", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [SPAN_BRANCH_MISSES] = {"branch_misses", "PAPI_BR_MSP", PERF_COUNT_HW_BRANCH_MISSES},
};

static bool is_named(const char *name, const char *text, size_t length)
{
  return name != NULL && strlen(name) == length && strncmp(name, text, length) == 0;
}

bool span_counters_parse(const char *list, uint32_t *ret_mask, const char **ret_wrong, size_t *ret_length)
{
  *ret_mask = 0;
  for (const char *at = list; at != NULL;) {
    const size_t length = strcspn(at, ",");
    const uint32_t before = *ret_mask;
    for (unsigned i = 0; i < SPAN_COUNTERS; i++)
      if (is_named(span_counter_facts[i].name, at, length) || is_named(span_counter_facts[i].papi, at, length))
        *ret_mask |= UINT32_C(1) << i;
    if (is_named("os", at, length))
      *ret_mask |= SPAN_COUNTERS_OF_SYSTEM | ((UINT32_C(1) << SPAN_OF_HARDWARE) - 1);
    if (*ret_mask == before) { // also one that is named twice
      *ret_wrong = at;
      *ret_length = length;
      return false;
    }
    at = at[length] == ',' ? at + length + 1 : NULL;
  }
  return true;
}
