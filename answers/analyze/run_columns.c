// SPDX-License-Identifier: Apache-2.0
// Loads the columns of one run, and finds rows by span id. Called by layers/rows.c and kernels/device_rows.c.
#include "analyze/run_columns.h"

#include "base/interner.h"
#include "base/sorted.h"

#include <string.h>

static void index_ids(struct run_columns *columns)
{
  const struct store_spans *spans = &columns->spans;
  bool rise = true;
  for (size_t i = 1; i < spans->count && rise; i++)
    rise = spans->span_id[i] > spans->span_id[i - 1];
  if (rise)
    return;
  columns->row_of_id = arena_alloc(columns->arena, sizeof *columns->row_of_id);
  for (size_t i = 0; i < spans->count; i++)
    *id_pages_slot(columns->row_of_id, columns->arena, (uint64_t)spans->span_id[i]) = (uint32_t)i;
}

uint32_t run_columns_row(const struct run_columns *columns, int64_t id)
{
  const struct store_spans *spans = &columns->spans;
  if (id == 0 || spans->count == 0)
    return ROW_NONE;
  if (columns->row_of_id != NULL)
    return id_pages_find(columns->row_of_id, (uint64_t)id);
  uint64_t guess = (uint64_t)id - (uint64_t)spans->span_id[0];
  if (guess < spans->count && spans->span_id[guess] == id)
    return (uint32_t)guess;
  size_t at = sorted_lower_bound_i64(id, spans->span_id, spans->count, sizeof id);
  return at < spans->count && spans->span_id[at] == id ? (uint32_t)at : ROW_NONE;
}

static uint32_t category(struct store *store, const char *name)
{
  uint32_t id;
  return store_find_string(store, name, strlen(name), &id) ? id : ROW_NONE;
}

static enum status load_condensed(struct run_columns *columns, struct error *err)
{
  static const char *const names[] = {
#define X(name, tag) tag,
      TRACE_CONDENSED_LIST(X)
#undef X
  };
  uint32_t keys[CONDENSED_COUNT];
  struct store_tag *tags;
  size_t count;
  bool has_any = false;
  for (size_t i = 0; i < CONDENSED_COUNT; i++) {
    keys[i] = 0;
    has_any |= store_find_string(columns->store, names[i], strlen(names[i]), &keys[i]);
  }
  if (!has_any)
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(columns->store, columns->run->run->run_id, keys, CONDENSED_COUNT, columns->arena, &tags,
                             &count, err));
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < CONDENSED_COUNT; k++) {
      uint32_t row =
          tags[i].key != keys[k] || tags[i].type != STORE_INT ? ROW_NONE : run_columns_row(columns, tags[i].span_id);
      if (row == ROW_NONE)
        continue;
      size_t bytes = columns->spans.count * sizeof *columns->condensed[k];
      if (columns->condensed[k] == NULL)
        columns->condensed[k] = memset(arena_alloc(columns->arena, bytes), 0xff, bytes);
      columns->condensed[k][row] = tags[i].value.integer;
    }
  return STATUS_OK;
}

// Calls of the library level become kernels on the CPU, but for those in another one, which has their time. Spans of the kernel level
// are left to nobody.
static void take_library_calls(struct run_columns *columns)
{
  struct store_spans *spans = &columns->spans;
  bool *is_kernel = arena_alloc_array(columns->arena, spans->count + 1, sizeof *is_kernel);
  for (size_t i = 0; i < spans->count; i++) {
    const uint32_t parent = run_columns_row(columns, columns->derived.parent_id[i]);
    is_kernel[i] = spans->level[i] == XSP_LEVEL_LIBRARY && spans->kind[i] == XSP_KIND_SYNC && spans->category[i] == 0 &&
                   (parent == ROW_NONE || spans->level[parent] != XSP_LEVEL_LIBRARY);
  }
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->level[i] == XSP_LEVEL_KERNEL)
      spans->level[i] = XSP_LEVEL_LIBRARY;
    if (!is_kernel[i])
      continue;
    spans->level[i] = XSP_LEVEL_KERNEL;
    spans->category[i] = columns->kernel;
  }
}

enum status run_columns_load(struct store *store, const struct view_run *run, uint32_t wanted, struct arena *arena,
                             struct run_columns *ret_columns, struct error *err)
{
  *ret_columns = (struct run_columns){.store = store, .run = run, .arena = arena};
  const int64_t run_id = run->run->run_id;
  if (run->calls_are_kernels)
    wanted |= STORE_BIT(STORE_KIND) | STORE_BIT(STORE_CATEGORY);
  XSP_TRY(store_load_spans(store, run_id, wanted | STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_LEVEL), arena,
                           &ret_columns->spans, err));
  XSP_TRY(store_load_derived_columns(
      store, run_id, STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_LAYER_ID) | STORE_BIT(STORE_OBSERVATION), arena,
      &ret_columns->derived, err));
  if (ret_columns->derived.count != ret_columns->spans.count || ret_columns->spans.count >= ROW_NONE)
    return error_set(err, STATUS_INPUT, "cannot analyze", store_path(store), NULL,
                     "run %lld has %zu spans and %zu derived rows", (long long)run_id, ret_columns->spans.count,
                     ret_columns->derived.count);
  ret_columns->kernel = category(store, "kernel");
  ret_columns->memcpy = category(store, "memcpy");
  ret_columns->memset = category(store, "memset");
  ret_columns->module = category(store, "module");
  index_ids(ret_columns);
  if (run->calls_are_kernels)
    take_library_calls(ret_columns);
  return load_condensed(ret_columns, err);
}

enum status run_processes_load(struct store *store, int64_t run_id, struct arena *arena, struct map *process_of,
                               size_t *ret_count, struct error *err)
{
  struct store_track *tracks;
  size_t count;
  XSP_TRY(store_tracks(store, run_id, arena, &tracks, &count, err));
  struct interner processes = {0};
  for (size_t i = 0; i < count; i++) {
    const char *host = tracks[i].host != NULL ? tracks[i].host : "";
    const char *name = arena_format(arena, "%lld %s", (long long)tracks[i].process_id, host);
    uint32_t process = interner_at(&processes, name, strlen(name));
    *map_at(process_of, map_number((uint64_t)tracks[i].track_id), NULL) = process;
  }
  *ret_count = interner_count(&processes);
  interner_done(&processes);
  return STATUS_OK;
}
