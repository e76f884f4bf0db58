// SPDX-License-Identifier: Apache-2.0
// How far a step of known size is, at which pace, and how long it will take, for one line on a terminal. Pure: the caller has the clock.
#ifndef XSP_BASE_HEADWAY_H
#define XSP_BASE_HEADWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct headway {                       // of a step; starts as {0}
  uint64_t started_ns, shown_ns, done; // shown_ns 0: nothing was shown yet
};

// Call often, with a clock that counts up. True: `text` is to be shown now, as "45 % of 120.0 MB, 33.1 MB/s, about 2 s left". That is a
// few times a second, from two seconds on. The step begins anew where less is done than before.
bool headway_bytes(struct headway *headway, uint64_t now_ns, uint64_t done, uint64_t total, char *text, size_t size);
// The same of steps that take about equally long: "12 of 40 steps, 1.5 steps/s, about 19 s left". The same for other units, such as
// spans: "45 % of 12000000 spans, 900000 spans/s, about 7 s left".
bool headway_steps(struct headway *headway, uint64_t now_ns, uint64_t done, uint64_t total, char *text, size_t size);
bool headway_units(struct headway *headway, const char *units, uint64_t now_ns, uint64_t done, uint64_t total,
                   char *text, size_t size);

// Called after each step.
struct headway_watcher {
  void (*step)(void *context, uint64_t done, uint64_t total); // NULL: nobody
  void *context;
};
static inline void headway_tell(const struct headway_watcher *watcher, uint64_t done, uint64_t total)
{
  if (watcher->step != NULL)
    watcher->step(watcher->context, done, total);
}

#endif
