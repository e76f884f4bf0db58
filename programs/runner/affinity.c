// SPDX-License-Identifier: Apache-2.0
// Reads a list of CPUs and binds to it. Used by the runner, and by `xsp profile` to measure the same CPUs' peaks.
#include "programs/runner/process.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

static enum status wrong(const char *list, struct error *err)
{
  return error_set(err, STATUS_USE, "wrong use", "--affinity", "xsp help profile", "no list of CPUs such as 0-2,5: %s",
                   list);
}

enum status affinity_set(const char *list, struct error *err)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  const char *at = list;
  while (*at != 0) {
    char *end = NULL;
    errno = 0;
    unsigned long first = strtoul(at, &end, 10);
    bool is_number = end != at && *at >= '0' && *at <= '9' && errno == 0;
    unsigned long last = first;
    if (is_number && *end == '-') {
      at = end + 1;
      last = strtoul(at, &end, 10);
      is_number = end != at && *at >= '0' && *at <= '9' && errno == 0;
    }
    if (!is_number || last < first || last >= CPU_SETSIZE || (*end != ',' && *end != 0) || (*end == ',' && end[1] == 0))
      return wrong(list, err);
    for (unsigned long cpu = first; cpu <= last; cpu++)
      CPU_SET(cpu, &set);
    at = *end == ',' ? end + 1 : end;
  }
  if (CPU_COUNT(&set) == 0)
    return wrong(list, err);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot bind to CPUs", list, "give CPUs that this machine has");
  return STATUS_OK;
}
