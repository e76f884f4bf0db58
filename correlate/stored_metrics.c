// SPDX-License-Identifier: Apache-2.0
// Table context_metric: from the columns of each run, or the samples of one whose spans were folded, to rows. Called before SQL
// that asks for the table, and when a folded run ends; a file whose writer stored it keeps its own.
#include "correlate/context_metrics.h"
#include "correlate/correlate.h"

#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_NAME) |           \
   STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_CONTEXT_ID))

struct reading {
  struct context_metrics metrics;
  const struct store_tag *tags;
  struct map bytes, flops;   // places of tags by span id
  uint32_t memory, allocate; // names of spans whose bytes count
};

static void add_tag(struct reading *reading, const struct map *tags, int64_t span_id, uint32_t context_id,
                    enum context_metric metric)
{
  const uint64_t *place = map_find(tags, map_number((uint64_t)span_id));
  if (place != NULL)
    context_metrics_add_tag(&reading->metrics, context_id, metric, &reading->tags[*place]);
}

static enum status add_part(void *context, size_t first_row, const struct store_spans *spans,
                            const struct store_derived *derived, struct error *err)
{
  struct reading *reading = context;
  (void)first_row, (void)derived, (void)err;
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t id = spans->context_id[i];
    if (id == 0 || (spans->flags[i] & STORE_SPAN_OPEN) != 0 || spans->duration_ns[i] < 0)
      continue;
    context_metrics_add_span(&reading->metrics, id, spans->kind[i], spans->duration_ns[i]);
    if (reading->memory != 0 && spans->category[i] == reading->memory && reading->allocate != 0 &&
        spans->name[i] == reading->allocate)
      add_tag(reading, &reading->bytes, spans->span_id[i], id, CONTEXT_BYTES);
    add_tag(reading, &reading->flops, spans->span_id[i], id, CONTEXT_FLOPS);
  }
  return STATUS_OK;
}

static enum status load_tags(struct store *store, int64_t run_id, struct arena *arena, struct reading *reading,
                             struct error *err)
{
  uint32_t keys[2] = {0, 0};
  struct store_tag *tags;
  size_t count;
  (void)store_find_string(store, "bytes", 5, &keys[0]);
  (void)store_find_string(store, "flops", 5, &keys[1]);
  (void)store_find_string(store, "memory", 6, &reading->memory);
  (void)store_find_string(store, "allocate", 8, &reading->allocate);
  XSP_TRY(store_load_tags_of(store, run_id, keys, 2, arena, &tags, &count, err));
  reading->tags = tags;
  for (size_t i = 0; i < count; i++)
    *map_at(tags[i].key == keys[0] ? &reading->bytes : &reading->flops, map_number((uint64_t)tags[i].span_id), NULL) =
        i;
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
  struct reading reading = {0};
  struct arena scratch = {0};
  enum status status = load_tags(store, run_id, &scratch, &reading, err);
  if (status == STATUS_OK)
    status = store_walk_spans(store, run_id, COLUMNS, add_part, &reading, err);
  if (status == STATUS_OK)
    status = add_samples(store, run_id, &scratch, &reading, err);
  if (status == STATUS_OK)
    context_metrics_rows(&reading.metrics, run_id, paths, arena, ret_rows, ret_count);
  context_metrics_done(&reading.metrics);
  map_done(&reading.bytes);
  map_done(&reading.flops);
  arena_done(&scratch);
  return status;
}

static enum status add_run(struct store *store, int64_t run_id, const struct store_call_paths *paths, struct error *err)
{
  struct arena arena = {0};
  struct store_context_metric *rows;
  size_t count;
  enum status status = correlate_context_rows(store, run_id, paths, &arena, &rows, &count, err);
  if (status == STATUS_OK)
    status = store_put_context_metrics(store, rows, count, err);
  arena_done(&arena);
  return status;
}

enum status correlate_context_metrics(struct store *store, struct error *err)
{
  struct arena arena = {0};
  struct store_call_paths paths;
  struct store_run *runs;
  size_t count = 0;
  if (store_has_context_metrics(store))
    return STATUS_OK;
  enum status status = store_put_context_metrics(store, NULL, 0, err);
  if (status == STATUS_OK)
    status = store_call_paths(store, &arena, &paths, err);
  if (status == STATUS_OK)
    status = store_runs(store, &arena, &runs, &count, err);
  for (size_t i = 0; i < count && status == STATUS_OK && paths.context_count > 0; i++)
    status = add_run(store, runs[i].run_id, &paths, err);
  arena_done(&arena);
  return status;
}
