// SPDX-License-Identifier: Apache-2.0
// What comes before the backward sweep, block by block: the survey, marks, and the calls of correlation ids. It needs
// nothing of the sweep, so a thread of its own may run ahead of it, with the same result. Private to correlate.
#ifndef XSP_CORRELATE_AHEAD_H
#define XSP_CORRELATE_AHEAD_H

#include "correlate/launches.h"

#include <pthread.h>

#define AHEAD_BLOCK_ROWS 1024u // 46 KiB of columns

struct ahead {
  const struct store_spans *spans;
  uint32_t *row;  // of parents
  uint8_t *basis; // of parents
  // The thread's until ahead_end.
  struct parents_survey survey;
  struct launches launches;
  struct arena links_arena;
  size_t next; // rows from here on are done
  // Shared, under the lock.
  pthread_mutex_t lock;
  pthread_cond_t changed;
  size_t ready; // as `next`
  bool has_open, is_over;
  pthread_t thread;
  bool has_thread;
};

// Without a thread to be had, ahead_wait does the work.
void ahead_start(struct ahead *ahead, const struct store_spans *spans, uint32_t *row, uint8_t *basis,
                 bool may_start_thread);
// The first row from which on all up to `end` may be swept: `row` and `basis` are filled in. `end`: a span before it is
// broken. *ret_has_open: some of them may be open.
size_t ahead_wait(struct ahead *ahead, size_t end, bool *ret_has_open);
void ahead_end(struct ahead *ahead); // due in any case; survey, launches and links_arena are the caller's then

// Asks for the columns of a row that the survey and the sweep are about to read: once for eight rows, a cache line of the
// widest columns. (As a call it would be dropped: to the compiler, it does nothing.)
static inline __attribute__((always_inline)) void ahead_fetch(const struct store_spans *spans, size_t row)
{
  __builtin_prefetch(spans->start_ns + row);
  __builtin_prefetch(spans->duration_ns + row);
  if (spans->span_id != NULL)
    __builtin_prefetch(spans->span_id + row);
  if (spans->recorded_parent_id != NULL)
    __builtin_prefetch(spans->recorded_parent_id + row);
  if (spans->correlation_id != NULL)
    __builtin_prefetch(spans->correlation_id + row);
  __builtin_prefetch(spans->track_id + row);
  __builtin_prefetch(spans->level + row);
  __builtin_prefetch(spans->kind + row);
}

#endif
