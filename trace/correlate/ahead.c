// SPDX-License-Identifier: Apache-2.0
// Surveys rows, marks them and notes their calls before the backward sweep of parents.c passes them: on its thread just
// before, so that columns are read from memory once, or on another one. Must not look at tracks or parents.
#include "correlate/ahead.h"

#include "base/scoped.h"

#include <string.h>

#define BLOCKS_TOGETHER 64u // handed over at a time

static void note_calls(struct ahead *ahead, size_t first, size_t end)
{
  const struct store_spans *spans = ahead->spans;
  for (size_t i = end; i-- > first;) {
    uint8_t kind = spans->kind[i];
    if (kind == XSP_KIND_LAUNCH || (kind == XSP_KIND_SYNC && (rows_flags(spans, i) & STORE_SPAN_CALL)))
      launches_note(&ahead->launches, spans, (uint32_t)i, &ahead->links_arena);
  }
}

// One more block. False: it has a broken span.
static bool go_on(struct ahead *ahead)
{
  size_t end = ahead->next;
  size_t first = end > AHEAD_BLOCK_ROWS ? end - AHEAD_BLOCK_ROWS : 0;
  parents_survey_block(ahead->spans, first, end, &ahead->survey);
  if (ahead->survey.is_bad >> 63 != 0)
    return false;
  memset(ahead->row + first, 0xff, (end - first) * sizeof *ahead->row);
  if (ahead->survey.needs_marks)
    parents_survey_mark(ahead->spans, first, end, ahead->basis);
  note_calls(ahead, first, end);
  ahead->next = first;
  return true;
}

static void *run(void *context)
{
  struct ahead *ahead = context;
  bool is_good = true;
  while (is_good && ahead->next > 0) {
    for (unsigned i = 0; i < BLOCKS_TOGETHER && is_good && ahead->next > 0; i++)
      is_good = go_on(ahead);
    SCOPED_LOCK(&ahead->lock);
    ahead->ready = ahead->next;
    ahead->has_open = ahead->survey.has_open;
    ahead->is_over = !is_good;
    pthread_cond_signal(&ahead->changed);
  }
  return NULL;
}

void ahead_start(struct ahead *ahead, const struct store_spans *spans, uint32_t *row, uint8_t *basis,
                 bool may_start_thread)
{
  *ahead = (struct ahead){.spans = spans,
                          .row = row,
                          .basis = basis,
                          .survey = {.ids_rise = UINT64_MAX},
                          .next = spans->count,
                          .ready = spans->count};
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->changed, NULL);
  ahead->has_thread = may_start_thread && pthread_create(&ahead->thread, NULL, run, ahead) == 0;
}

size_t ahead_wait(struct ahead *ahead, size_t end, bool *ret_has_open)
{
  if (!ahead->has_thread) {
    (void)go_on(ahead);
    *ret_has_open = ahead->survey.has_open;
    return ahead->next;
  }
  SCOPED_LOCK(&ahead->lock);
  while (ahead->ready == end && !ahead->is_over)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  size_t first = ahead->ready;
  *ret_has_open = ahead->has_open;
  return first;
}

void ahead_end(struct ahead *ahead)
{
  if (ahead->has_thread)
    pthread_join(ahead->thread, NULL);
  pthread_cond_destroy(&ahead->changed);
  pthread_mutex_destroy(&ahead->lock);
}
