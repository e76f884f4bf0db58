// SPDX-License-Identifier: Apache-2.0
// Spans of a run that is being recorded become samples of its calling contexts at once, and are not stored. Called by the
// store for each row that collect hands over, and before each commit, so that what was taken out of the rings is in the file.
#include "correlate/fold.h"

#include "correlate/answer.h"
#include "correlate/context_metrics.h"

#include <string.h>
#include <xsp/call_path.h>

#define RECENT_SPANS 8192u // whose tags may still come: collect hands a span's tags over right after it

struct correlate_fold {
  struct store_fold hooks;
  struct store *store;
  int64_t run_id; // of the samples; 0: none yet
  struct context_metrics metrics;
  struct map by_name;    // of spans without a call path: their context by name and level
  struct map recent;     // contexts by span id, and what kind of span it is
  struct map metrics_of; // tags' keys
  struct context_words words;
  uint32_t program; // string
  struct correlate_folded folded;
};

#define SPAN_SHIFT 32 // in `recent`

// A span without a call path counts under its name alone.
static uint32_t context_of(struct correlate_fold *fold, const struct store_span *span)
{
  bool is_new;
  if (span->context_id != 0)
    return span->context_id;
  uint64_t *known = map_at(&fold->by_name, (struct map_key){(uint64_t)span->name + 1, span->level}, &is_new);
  if (is_new) {
    struct store_frame frame = {.kind = span->level == XSP_LEVEL_KERNEL ? XSP_FRAME_DEVICE : XSP_FRAME_FRAMEWORK,
                                .name = store_text(fold->store, span->name, NULL)};
    *known = store_context_id(fold->store, 0, store_frame_id(fold->store, &frame));
  }
  return (uint32_t)*known;
}

static void begin_run(struct correlate_fold *fold, int64_t run_id)
{
  context_metrics_done(&fold->metrics);
  map_done(&fold->recent);
  map_done(&fold->metrics_of);
  fold->metrics = (struct context_metrics){0};
  fold->folded = (struct correlate_folded){0};
  fold->run_id = run_id;
}

static bool take_span(void *context, int64_t run_id, const struct store_span *span)
{
  struct correlate_fold *fold = context;
  if (span->category == fold->program) // one an execution: it is the run's observation
    return false;
  if (run_id != fold->run_id)
    begin_run(fold, run_id);
  fold->folded.spans[span->level]++;
  if ((span->flags & STORE_SPAN_OPEN) != 0 || span->duration_ns < 0)
    return true;
  uint32_t id = context_of(fold, span);
  enum context_span is = context_metrics_span_of(&fold->words, span->kind, span->category, span->name);
  if (span->context_id == 0 && is != CONTEXT_SAMPLES && span->kind != XSP_KIND_EXECUTION)
    context_metrics_add(&fold->metrics, id, CONTEXT_RANGE_NS, span->duration_ns);
  else
    context_metrics_add_span(&fold->metrics, id, is, span->kind, span->duration_ns);
  if (fold->recent.count >= RECENT_SPANS)
    map_done(&fold->recent);
  *map_at(&fold->recent, map_number((uint64_t)span->span_id), NULL) = id | (uint64_t)is << SPAN_SHIFT;
  return true;
}

static bool take_tag(void *context, int64_t run_id, const struct store_tag *tag)
{
  struct correlate_fold *fold = context;
  const uint64_t *span = run_id == fold->run_id ? map_find(&fold->recent, map_number((uint64_t)tag->span_id)) : NULL;
  if (span == NULL)
    return true;
  bool is_new;
  uint64_t *metric = map_at(&fold->metrics_of, map_number(tag->key), &is_new);
  if (is_new)
    *metric = context_metrics_of_tag(&fold->metrics, store_text(fold->store, tag->key, NULL));
  const char *text = tag->type == STORE_TEXT ? store_text(fold->store, tag->value.string, NULL) : NULL;
  if (*metric != CONTEXT_METRIC_NONE)
    context_metrics_add_tag(&fold->metrics, (uint32_t)*span, (enum context_span)(*span >> SPAN_SHIFT),
                            (enum context_metric) * metric, tag, text);
  return true;
}

// A sample without a call path counts in a frame of which nothing is known: the sums are of all samples.
static void take_sample(void *context, int64_t run_id, const struct store_sample *sample)
{
  struct correlate_fold *fold = context;
  if (run_id != fold->run_id)
    begin_run(fold, run_id);
  uint32_t id = sample->context_id;
  if (id == 0)
    id = store_context_id(fold->store, 0, store_frame_id(fold->store, &(struct store_frame){.kind = XSP_FRAME_NATIVE}));
  if (id != 0)
    context_metrics_add_sample(&fold->metrics, id, sample->kind, sample->duration_ns);
}

static enum status commit(void *context, struct error *err)
{
  struct correlate_fold *fold = context;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_context_sample *rows;
  size_t count;
  context_metrics_samples(&fold->metrics, fold->run_id, &arena, &rows, &count);
  return store_put_context_samples(fold->store, rows, count, err);
}

struct correlate_fold *correlate_fold_begin(struct store *store)
{
  struct correlate_fold *fold = memory_new(1, sizeof *fold);
  fold->hooks = (struct store_fold){fold, take_span, take_tag, take_sample, commit};
  fold->store = store;
  fold->words = (struct context_words){store_string(store, "memory", 6), store_string(store, "allocate", 8),
                                       store_string(store, "sync", 4), store_string(store, "samples", 7)};
  fold->program = store_string(store, "program", 7);
  store_set_fold(store, &fold->hooks);
  return fold;
}

enum status correlate_fold_resume(struct correlate_fold *fold, int64_t run_id, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_context_sample *rows;
  size_t count;
  begin_run(fold, run_id);
  XSP_TRY(store_context_samples(fold->store, run_id, &arena, &rows, &count, err));
  for (size_t i = 0; i < count; i++)
    context_metrics_add_stored(&fold->metrics, &rows[i]);
  return STATUS_OK;
}

struct correlate_folded correlate_fold_counts(const struct correlate_fold *fold)
{
  return fold->folded;
}

void correlate_fold_end(struct correlate_fold *fold)
{
  if (fold == NULL)
    return;
  store_set_fold(fold->store, NULL);
  context_metrics_done(&fold->metrics);
  map_done(&fold->by_name);
  map_done(&fold->recent);
  map_done(&fold->metrics_of);
  free(fold);
}
