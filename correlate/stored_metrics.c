// SPDX-License-Identifier: Apache-2.0
// Table context_metric of files that have spans: from the columns of each run to rows for SQL. Called before statements that
// ask for the table; a file whose writer stored it keeps its own.
#include "correlate/context_metrics.h"
#include "correlate/correlate.h"

#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_NAME) |           \
   STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_CONTEXT_ID))

struct reading {
  struct context_metrics metrics;
  struct map bytes, flops;   // by span id
  uint32_t memory, allocate; // names of spans whose bytes count
};

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
    const struct map_key span = map_number((uint64_t)spans->span_id[i]);
    bool is_allocation = reading->memory != 0 && spans->category[i] == reading->memory && reading->allocate != 0 &&
                         spans->name[i] == reading->allocate;
    const uint64_t *bytes = is_allocation ? map_find(&reading->bytes, span) : NULL;
    const uint64_t *flops = map_find(&reading->flops, span);
    if (bytes != NULL)
      context_metrics_add(&reading->metrics, id, CONTEXT_BYTES, (int64_t)*bytes);
    if (flops != NULL)
      context_metrics_add(&reading->metrics, id, CONTEXT_FLOPS, (int64_t)*flops);
  }
  return STATUS_OK;
}

static bool count_of(const struct store_tag *tag, uint64_t *ret_count)
{
  bool is_whole = tag->type == STORE_INT && tag->value.integer >= 0;
  bool is_real = tag->type == STORE_DOUBLE && tag->value.real >= 0 && tag->value.real < 9.2e18;
  *ret_count = is_whole ? (uint64_t)tag->value.integer : is_real ? (uint64_t)tag->value.real : 0;
  return is_whole || is_real;
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
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    if (count_of(&tags[i], &value))
      *map_at(tags[i].key == keys[0] ? &reading->bytes : &reading->flops, map_number((uint64_t)tags[i].span_id), NULL) =
          value;
  }
  return STATUS_OK;
}

static enum status add_run(struct store *store, int64_t run_id, const struct store_call_paths *paths, struct error *err)
{
  struct reading reading = {0};
  struct arena arena = {0};
  struct store_context_metric *rows;
  size_t count;
  enum status status = load_tags(store, run_id, &arena, &reading, err);
  if (status == STATUS_OK)
    status = store_walk_spans(store, run_id, COLUMNS, add_part, &reading, err);
  if (status == STATUS_OK) {
    context_metrics_rows(&reading.metrics, run_id, paths, &arena, &rows, &count);
    status = store_put_context_metrics(store, rows, count, err);
  }
  context_metrics_done(&reading.metrics);
  map_done(&reading.bytes);
  map_done(&reading.flops);
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
