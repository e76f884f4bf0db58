// SPDX-License-Identifier: Apache-2.0
// Table context_metric: from the columns and samples of each run, or the samples of one whose spans were folded, to rows. Called before SQL
// that asks for the table, and when a folded run ends; a file whose writer stored it keeps its own.
#include "correlate/context_metrics.h"
#include "correlate/correlate.h"

#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_NAME) |           \
   STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_CONTEXT_ID))

struct reading {
  struct context_metrics metrics;
  struct context_words words;
  struct store *store;
  const struct store_tag *tags;
  uint32_t *earlier;     // tag of the same span, by place + 1
  struct map last;       // of a span's tags, by place + 1
  struct map metrics_of; // tags' keys
};

static void add_tags(struct reading *reading, int64_t span_id, uint32_t context_id, enum context_span is)
{
  const uint64_t *last = map_find(&reading->last, map_number((uint64_t)span_id));
  for (uint64_t place = last != NULL ? *last : 0; place != 0; place = reading->earlier[place - 1]) {
    const struct store_tag *tag = &reading->tags[place - 1];
    const char *text = tag->type == STORE_TEXT ? store_text(reading->store, tag->value.string, NULL) : NULL;
    enum context_metric metric = (enum context_metric) * map_find(&reading->metrics_of, map_number(tag->key));
    context_metrics_add_tag(&reading->metrics, context_id, is, metric, tag, text);
  }
}

static enum status add_part(void *context, size_t first_row, const struct store_spans *spans,
                            const struct store_derived *derived, struct error *err)
{
  struct reading *reading = context;
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t id = spans->context_id[i];
    if (id == 0 || (spans->flags[i] & STORE_SPAN_OPEN) != 0 || spans->duration_ns[i] < 0)
      continue;
    enum context_span is = context_metrics_span_of(&reading->words, spans->kind[i], spans->category[i], spans->name[i]);
    context_metrics_add_span(&reading->metrics, id, is, spans->kind[i], spans->duration_ns[i]);
    add_tags(reading, spans->span_id[i], id, is);
  }
  return STATUS_OK;
}

static enum status add_thread_samples(void *context, const struct store_samples *samples, struct error *err)
{
  struct reading *reading = context;
  for (size_t i = 0; i < samples->count; i++)
    if (samples->context_id[i] != 0)
      context_metrics_add_sample(&reading->metrics, samples->context_id[i], samples->kind[i], samples->duration_ns[i]);
  return STATUS_OK;
}

static uint32_t word(struct store *store, const char *text)
{
  uint32_t id;
  return store_find_string(store, text, strlen(text), &id) ? id : 0;
}

static enum status load_tags(struct store *store, int64_t run_id, struct arena *arena, struct reading *reading,
                             struct error *err)
{
  VECTOR(uint32_t) keys = {0};
  struct store_tag *tags;
  size_t count;
  for (uint32_t id = 1; id < store_string_count(store); id++) {
    enum context_metric metric = context_metrics_of_tag(&reading->metrics, store_text(store, id, NULL));
    if (metric == CONTEXT_METRIC_NONE)
      continue;
    *vector_add(&keys) = id;
    *map_at(&reading->metrics_of, map_number(id), NULL) = metric;
  }
  enum status status = store_load_tags_of(store, run_id, keys.items, keys.count, arena, &tags, &count, err);
  vector_done(&keys);
  XSP_TRY(status);
  reading->tags = tags;
  reading->earlier = arena_alloc_array(arena, count + 1, sizeof *reading->earlier);
  for (size_t i = 0; i < count; i++) {
    uint64_t *last = map_at(&reading->last, map_number((uint64_t)tags[i].span_id), NULL);
    reading->earlier[i] = (uint32_t)*last;
    *last = i + 1;
  }
  return STATUS_OK;
}

static enum status add_samples(struct store *store, int64_t run_id, struct arena *arena, struct reading *reading,
                               struct error *err)
{
  struct store_context_sample *samples;
  size_t count;
  XSP_TRY(store_context_samples(store, run_id, arena, &samples, &count, err));
  for (size_t i = 0; i < count; i++)
    context_metrics_add_stored(&reading->metrics, &samples[i]);
  return STATUS_OK;
}

enum status correlate_context_rows(struct store *store, int64_t run_id, const struct store_call_paths *paths,
                                   struct arena *arena, struct store_context_metric **ret_rows, size_t *ret_count,
                                   struct error *err)
{
  struct reading reading = {
      .store = store,
      .words = {word(store, "memory"), word(store, "allocate"), word(store, "sync"), word(store, "samples")}};
  struct arena scratch SCOPED(arena_done) = {0};
  enum status status = load_tags(store, run_id, &scratch, &reading, err);
  if (status == STATUS_OK)
    status = store_walk_spans(store, run_id, COLUMNS, add_part, &reading, err);
  if (status == STATUS_OK)
    status = store_walk_samples(store, run_id, add_thread_samples, &reading, err);
  if (status == STATUS_OK)
    status = add_samples(store, run_id, &scratch, &reading, err);
  if (status == STATUS_OK)
    context_metrics_rows(&reading.metrics, run_id, paths, arena, ret_rows, ret_count);
  context_metrics_done(&reading.metrics);
  map_done(&reading.last);
  map_done(&reading.metrics_of);
  return status;
}

static enum status add_run(struct store *store, int64_t run_id, const struct store_call_paths *paths, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_context_metric *rows;
  size_t count;
  XSP_TRY(correlate_context_rows(store, run_id, paths, &arena, &rows, &count, err));
  return store_put_context_metrics(store, rows, count, err);
}

enum status correlate_context_metrics(struct store *store, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_call_paths paths;
  struct store_run *runs;
  size_t count = 0;
  if (store_has_context_metrics(store))
    return STATUS_OK;
  XSP_TRY(store_put_context_metrics(store, NULL, 0, err));
  XSP_TRY(store_call_paths(store, &arena, &paths, err));
  XSP_TRY(store_runs(store, &arena, &runs, &count, err));
  for (size_t i = 0; i < count && paths.context_count > 0; i++)
    XSP_TRY(add_run(store, runs[i].run_id, &paths, err));
  return STATUS_OK;
}
