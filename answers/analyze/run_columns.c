// SPDX-License-Identifier: Apache-2.0
// Loads the columns of one run, once for all that ask in one question or request, and finds rows by span id.
#include "analyze/run_columns.h"

#include "base/interner.h"
#include "base/sorted.h"

#include <string.h>

static void index_ids(struct run_columns *columns, struct arena *arena)
{
  const struct store_spans *spans = &columns->spans;
  bool rise = true;
  for (size_t i = 1; i < spans->count && rise; i++)
    rise = spans->span_id[i] > spans->span_id[i - 1];
  if (rise)
    return;
  columns->row_of_id = arena_alloc(arena, sizeof *columns->row_of_id);
  for (size_t i = 0; i < spans->count; i++)
    *id_pages_slot(columns->row_of_id, arena, (uint64_t)spans->span_id[i]) = (uint32_t)i;
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

uint32_t run_columns_category(struct store *store, const char *name)
{
  uint32_t id;
  return store_find_string(store, name, strlen(name), &id) ? id : ROW_NONE;
}

static enum status load_condensed(struct run_columns *columns, struct arena *arena, struct error *err)
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
  XSP_TRY(
      store_load_tags_of(columns->store, columns->run->run->run_id, keys, CONDENSED_COUNT, arena, &tags, &count, err));
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < CONDENSED_COUNT; k++) {
      uint32_t row =
          tags[i].key != keys[k] || tags[i].type != STORE_INT ? ROW_NONE : run_columns_row(columns, tags[i].span_id);
      if (row == ROW_NONE)
        continue;
      size_t bytes = columns->spans.count * sizeof *columns->condensed[k];
      if (columns->condensed[k] == NULL)
        columns->condensed[k] = memset(arena_alloc(arena, bytes), 0xff, bytes);
      columns->condensed[k][row] = tags[i].value.integer;
    }
  return STATUS_OK;
}

// Calls of the library level become kernels on the CPU, but for those in another one, which has their time, or in one of several: most
// are parts of a primitive, on a pool's thread while two run. Spans of the kernel level are left to nobody.
static void take_library_calls(struct run_columns *columns, struct arena *arena)
{
  struct store_spans *spans = &columns->spans;
  bool *is_kernel = arena_alloc_array(arena, spans->count + 1, sizeof *is_kernel);
  for (size_t i = 0; i < spans->count; i++) {
    const uint32_t parent = run_columns_row(columns, columns->derived.parent_id[i]);
    is_kernel[i] = spans->level[i] == XSP_LEVEL_LIBRARY && spans->kind[i] == XSP_KIND_SYNC && spans->category[i] == 0 &&
                   columns->derived.basis[i] != BASIS_AMBIGUOUS &&
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

// ---- loading ----------------------------------------------------------------------------------------------------------
// Columns of a run that are shared; later loads add to them.
struct cached_columns {
  struct cached_columns *next;
  int64_t run_id;
  uint32_t loaded; // STORE_BIT(…)
  bool calls_are_kernels;
  struct run_columns columns;
};

#define ALWAYS                                                                                                         \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_LAYER_ID) |        \
   STORE_BIT(STORE_OBSERVATION))

#define OF_CALLS (STORE_BIT(STORE_KIND) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_BASIS)) // where calls are kernels

// Takes the arrays that `more` has.
static void take_columns(struct run_columns *columns, const struct store_spans *spans,
                         const struct store_derived *derived)
{
#define TAKE(to, from, name) (to).name = (from)->name != NULL ? (from)->name : (to).name
  columns->spans.count = spans->count;
  TAKE(columns->spans, spans, span_id);
  TAKE(columns->spans, spans, recorded_parent_id);
  TAKE(columns->spans, spans, start_ns);
  TAKE(columns->spans, spans, duration_ns);
  TAKE(columns->spans, spans, correlation_id);
  TAKE(columns->spans, spans, trace_id);
  TAKE(columns->spans, spans, track_id);
  TAKE(columns->spans, spans, name);
  TAKE(columns->spans, spans, category);
  TAKE(columns->spans, spans, tracer);
  TAKE(columns->spans, spans, context_id);
  TAKE(columns->spans, spans, level);
  TAKE(columns->spans, spans, kind);
  TAKE(columns->spans, spans, flags);
  TAKE(columns->derived, derived, parent_id);
  TAKE(columns->derived, derived, layer_id);
  TAKE(columns->derived, derived, observation);
  TAKE(columns->derived, derived, self_ns);
  TAKE(columns->derived, derived, basis);
  TAKE(columns->derived, derived, forward_id);
#undef TAKE
}

static enum status load_more(struct run_columns *columns, uint32_t wanted, struct arena *arena, struct error *err)
{
  struct store *store = columns->store;
  const int64_t run_id = columns->run->run->run_id;
  struct store_spans spans;
  struct store_derived derived;
  if (wanted == 0)
    return STATUS_OK;
  XSP_TRY(store_load_spans(store, run_id, wanted, arena, &spans, err));
  XSP_TRY(store_load_derived_columns(store, run_id, wanted, arena, &derived, err));
  bool is_unequal = (wanted & STORE_ALL_DERIVED) != 0 && derived.count != spans.count;
  if (is_unequal || spans.count >= ROW_NONE)
    return error_set(err, STATUS_INPUT, "cannot analyze", store_path(store), NULL,
                     "run %lld has %zu spans and %zu derived rows", (long long)run_id, spans.count, derived.count);
  take_columns(columns, &spans, &derived);
  return STATUS_OK;
}

static enum status load_first(struct run_columns *columns, uint32_t wanted, struct arena *arena, struct error *err)
{
  struct store *store = columns->store;
  XSP_TRY(load_more(columns, wanted | ALWAYS, arena, err));
  columns->kernel = run_columns_category(store, "kernel");
  columns->memcpy = run_columns_category(store, "memcpy");
  columns->memset = run_columns_category(store, "memset");
  columns->module = run_columns_category(store, "module");
  index_ids(columns, arena);
  if (columns->run->calls_are_kernels)
    take_library_calls(columns, arena);
  return load_condensed(columns, arena, err);
}

// The runs of a view are read in their order, several times where an analysis looks again.
static void tell_run(const struct question *question, const struct view_run *run)
{
  const struct view *view = question->view;
  for (size_t i = 0; i < view->run_count; i++)
    if (&view->runs[i] == run)
      headway_tell(&question->request->run_watcher, i, view->run_count);
}

enum status run_columns_load_once(struct question *question, const struct view_run *run, uint32_t wanted,
                                  struct arena *arena, struct run_columns *ret_columns, struct error *err)
{
  tell_run(question, run);
  *ret_columns = (struct run_columns){.store = question->view->store, .run = run, .arena = arena};
  if (run->calls_are_kernels)
    wanted |= OF_CALLS;
  return load_first(ret_columns, wanted, arena, err);
}

enum status run_columns_load(struct question *question, const struct view_run *run, uint32_t wanted,
                             struct arena *arena, struct run_columns *ret_columns, struct error *err)
{
  struct analyze_shared *shared = question->shared;
  struct store *store = question->view->store;
  struct cached_columns *entry = shared->columns;
  while (entry != NULL && (entry->columns.store != store || entry->run_id != run->run->run_id ||
                           entry->calls_are_kernels != run->calls_are_kernels))
    entry = entry->next;
  if (entry == NULL && shared->arena->used_bytes >= shared->bytes_most)
    return run_columns_load_once(question, run, wanted, arena, ret_columns, err);
  tell_run(question, run);
  if (run->calls_are_kernels)
    wanted |= OF_CALLS;
  if (entry == NULL) {
    entry = arena_alloc(shared->arena, sizeof *entry);
    *entry = (struct cached_columns){.next = shared->columns,
                                     .run_id = run->run->run_id,
                                     .loaded = wanted | ALWAYS,
                                     .calls_are_kernels = run->calls_are_kernels,
                                     .columns = {.store = store, .run = run, .arena = arena}};
    XSP_TRY(load_first(&entry->columns, wanted, shared->arena, err));
    shared->columns = entry;
  }
  entry->columns.run = run; // of this view
  XSP_TRY(load_more(&entry->columns, wanted & ~entry->loaded, shared->arena, err));
  entry->loaded |= wanted;
  *ret_columns = entry->columns;
  ret_columns->arena = arena;
  return STATUS_OK;
}

enum status run_processes_load(struct store *store, int64_t run_id, struct arena *arena, struct map *process_of,
                               size_t *ret_count, struct error *err)
{
  struct store_track *tracks;
  size_t count;
  XSP_TRY(store_tracks(store, run_id, arena, &tracks, &count, err));
  struct interner processes SCOPED(interner_done) = {0};
  for (size_t i = 0; i < count; i++) {
    const char *host = tracks[i].host != NULL ? tracks[i].host : "";
    const char *name = arena_format(arena, "%lld %s", (long long)tracks[i].process_id, host);
    uint32_t process = interner_at(&processes, name, strlen(name));
    *map_at(process_of, map_number((uint64_t)tracks[i].track_id), NULL) = process;
  }
  *ret_count = interner_count(&processes);
  return STATUS_OK;
}
