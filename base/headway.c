// SPDX-License-Identifier: Apache-2.0
// See headway.h. Called by verbs while they wait for a file to be read.
#include "base/headway.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOW_AFTER_NS UINT64_C(2000000000)
#define SHOW_EVERY_NS UINT64_C(200000000)

// False: nothing is to be shown now.
static bool is_due(struct headway *headway, uint64_t now_ns, uint64_t done, uint64_t total, double *ret_rate)
{
  if (headway->started_ns == 0 || done < headway->done)
    headway->started_ns = now_ns;
  headway->done = done;
  uint64_t passed_ns = now_ns - headway->started_ns;
  if (passed_ns < SHOW_AFTER_NS || now_ns - headway->shown_ns < SHOW_EVERY_NS || done == 0 || done >= total)
    return false;
  headway->shown_ns = now_ns;
  *ret_rate = (double)done / (double)passed_ns * 1e9;
  return true;
}

bool headway_bytes(struct headway *headway, uint64_t now_ns, uint64_t done, uint64_t total, char *text, size_t size)
{
  double rate;
  if (!is_due(headway, now_ns, done, total, &rate))
    return false;
  snprintf(text, size, "%.0f %% of %.1f MB, %.1f MB/s, about %.0f s left", 100 * (double)done / (double)total,
           (double)total / 1e6, rate / 1e6, (double)(total - done) / rate);
  return true;
}

bool headway_steps(struct headway *headway, uint64_t now_ns, uint64_t done, uint64_t total, char *text, size_t size)
{
  double rate;
  if (!is_due(headway, now_ns, done, total, &rate))
    return false;
  snprintf(text, size, "%" PRIu64 " of %" PRIu64 " steps, %.3g steps/s, about %.0f s left", done, total, rate,
           (double)(total - done) / rate);
  return true;
}

bool headway_units(struct headway *headway, const char *units, uint64_t now_ns, uint64_t done, uint64_t total,
                   char *text, size_t size)
{
  double rate;
  if (!is_due(headway, now_ns, done, total, &rate))
    return false;
  snprintf(text, size, "%.0f %% of %" PRIu64 " %s, %.0f %s/s, about %.0f s left", 100 * (double)done / (double)total,
           total, units, rate, units, (double)(total - done) / rate);
  return true;
}
