// SPDX-License-Identifier: Apache-2.0
// Loads the tree of places: one pass over the columns of each run, or the calling context tree of a folded file. Called by
// findings.c when the first rule asks for it.
#include "analyze/findings/places.h"

#include "analyze/run_columns.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_CATEGORY) |      \
   STORE_BIT(STORE_NAME) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_CONTEXT_ID) |          \
   STORE_BIT(STORE_SELF_NS))

struct unit { // sorted by track, so that what was before it is known
  uint32_t row, place;
  int64_t track, start_ns, end_ns, from_ns; // from_ns: its observation's start
  bool is_kernel, is_kept;
};
struct loading {
  struct question *question;
  struct places *places;
  VECTOR(struct place) all;
  struct map chains; // places of spans without call paths, by parent and name
  VECTOR(struct unit) units;
  VECTOR(struct place_lead) leads;
  struct map lead_of; // by both places and kind
  // of the run
  struct run_columns columns;
  const int64_t *self_ns;
  uint32_t *place_of;
  uint8_t *counts;
  bool *is_in_operator;            // by row: a layer that is no module is around it
  const bool *is_kept;             // by observation
  uint32_t sync, collective, part; // string ids of categories; ROW_NONE: no span has it
};

// ---- the places ------------------------------------------------------------------------------------------------------
// Whether a span of the set has a call path; those of other runs of the file do not count.
static enum status find_contexts(struct store *store, const struct view_set *set, bool *ret_has, struct error *err)
{
  *ret_has = store_is_folded(store);
  for (size_t i = 0; i < set->run_count && !*ret_has; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    struct store_spans spans;
    enum status status = store_load_spans(store, set->runs[i]->run->run_id, STORE_LEAN | STORE_BIT(STORE_CONTEXT_ID),
                                          &arena, &spans, err);
    *ret_has = status == STATUS_OK && spans.context_id != NULL;
    XSP_TRY(status);
  }
  return STATUS_OK;
}

static enum status load_contexts(struct loading *loading, const struct view_set *set, struct error *err)
{
  struct store_call_paths paths;
  bool has_contexts = false;
  XSP_TRY(find_contexts(loading->question->view->store, set, &has_contexts, err));
  if (!has_contexts)
    return STATUS_OK;
  XSP_TRY(store_call_paths(loading->question->view->store, loading->question->scratch, &paths, err));
  for (size_t i = 0; i < paths.context_count; i++) {
    const struct store_frame *frame = &paths.frames[paths.contexts[i].frame_id - 1];
    int64_t parent = paths.contexts[i].parent_id;
    *vector_add(&loading->all) = (struct place){.parent = parent == 0 ? PLACE_NONE : (uint32_t)(parent - 1),
                                                .frame_kind = (uint8_t)frame->kind,
                                                .name = frame->name != NULL ? frame->name : "",
                                                .file = frame->file,
                                                .line = frame->line};
    loading->places->has_python |= frame->kind == XSP_FRAME_PYTHON;
  }
  loading->places->has_contexts = paths.context_count > 0;
  return STATUS_OK;
}

static bool is_observation(const struct run_columns *columns, size_t row)
{
  uint32_t observation;
  return run_columns_observation(columns, row, &observation) &&
         columns->run->observations[observation].span_id == columns->spans.span_id[row];
}

// "ProfilerStep#12" without its number.
static const char *name_of(struct loading *loading, size_t row, bool is_step)
{
  const char *name = store_text(loading->columns.store, loading->columns.spans.name[row], NULL);
  size_t length = strlen(name);
  while (is_step && length > 0 && strchr("0123456789# ", name[length - 1]) != NULL)
    length--;
  return length == 0 || name[length] == 0 ? name : arena_copy(loading->question->scratch, name, length);
}

static uint32_t chain_of(struct loading *loading, uint32_t parent, size_t row)
{
  const struct store_spans *spans = &loading->columns.spans;
  if (loading->all.count >= PLACES_MOST)
    return parent;
  bool is_new, is_step = is_observation(&loading->columns, row); // names of steps are numbered
  uint64_t *place = map_at(&loading->chains,
                           (struct map_key){(uint64_t)parent + 1, is_step ? UINT32_MAX : spans->name[row]}, &is_new);
  if (is_new) {
    *place = loading->all.count;
    *vector_add(&loading->all) = (struct place){
        .parent = parent,
        .frame_kind = XSP_FRAME_KINDS,
        .level = spans->level[row],
        .is_module = spans->category[row] == loading->columns.module,
        .name = name_of(loading, row, is_step),
    };
  }
  return (uint32_t)*place;
}

static void place_row(struct loading *loading, uint32_t row, uint32_t parent)
{
  const struct store_spans *spans = &loading->columns.spans;
  uint32_t around = parent == ROW_NONE ? PLACE_NONE : loading->place_of[parent];
  uint32_t context = loading->places->has_contexts ? spans->context_id[row] : 0;
  bool is_range = spans->level[row] < XSP_LEVEL_LAYER && spans->kind[row] != XSP_KIND_EXECUTION;
  bool is_in_context = around != PLACE_NONE && loading->all.items[around].frame_kind < XSP_FRAME_KINDS;
  if (context != 0) {
    loading->place_of[row] = context - 1;
    uint8_t *level = &loading->all.items[context - 1].level;
    *level = *level == 0 || spans->level[row] < *level ? spans->level[row] : *level;
  } else if (is_in_context || (loading->places->has_contexts && is_range)) // ranges lie around call paths
    loading->place_of[row] = around;
  else
    loading->place_of[row] = chain_of(loading, around, row);
  loading->is_in_operator[row] =
      parent != ROW_NONE && (loading->is_in_operator[parent] || (spans->level[parent] == XSP_LEVEL_LAYER &&
                                                                 spans->category[parent] != loading->columns.module));
}

// Parents first. `*path` has room for all rows. Spans in a circle, of a damaged file, have no parent.
static void place_rows(struct loading *loading, uint32_t *path)
{
  enum { NEW, ON_PATH, DONE };
  const struct run_columns *columns = &loading->columns;
  uint8_t *state SCOPED(scoped_free) = memory_new(columns->spans.count + 1, 1);
  for (uint32_t first = 0; first < columns->spans.count; first++) {
    size_t length = 0;
    uint32_t row = first;
    while (row != ROW_NONE && state[row] == NEW) {
      state[row] = ON_PATH;
      path[length++] = row;
      row = run_columns_row(columns, columns->derived.parent_id[row]);
    }
    uint32_t parent = row != ROW_NONE && state[row] == DONE ? row : ROW_NONE;
    while (length > 0) {
      row = path[--length];
      place_row(loading, row, parent);
      state[row] = DONE;
      parent = row;
    }
  }
}

// ---- figures ---------------------------------------------------------------------------------------------------------
static void add_unit(struct loading *loading, uint32_t row, bool is_kernel, bool is_kept)
{
  const struct store_spans *spans = &loading->columns.spans;
  uint32_t observation;
  bool has_observation = run_columns_observation(&loading->columns, row, &observation);
  *vector_add(&loading->units) = (struct unit){
      .row = row,
      .place = loading->place_of[row],
      .track = spans->track_id[row],
      .start_ns = spans->start_ns[row],
      .end_ns = saturate_add(spans->start_ns[row], spans->duration_ns[row]),
      .from_ns = has_observation ? loading->columns.run->observations[observation].start_ns : spans->start_ns[row],
      .is_kernel = is_kernel,
      .is_kept = is_kept,
  };
}

// An operator that no other one called: no operator is around it, or its call path has none in front of it.
static bool is_called(const struct loading *loading, uint32_t row)
{
  const struct store_spans *spans = &loading->columns.spans;
  const struct place *place = &loading->all.items[loading->place_of[row]];
  if (spans->level[row] != XSP_LEVEL_LAYER || spans->category[row] == loading->columns.module)
    return false;
  if (!loading->is_in_operator[row])
    return true;
  if (place->frame_kind == XSP_FRAME_KINDS)
    return false;
  return place->parent == PLACE_NONE || loading->all.items[place->parent].frame_kind != XSP_FRAME_FRAMEWORK;
}

static void add_rows(struct loading *loading)
{
  const struct run_columns *columns = &loading->columns;
  const struct store_spans *spans = &columns->spans;
  struct places *places = loading->places;
  for (uint32_t row = 0; row < spans->count; row++) {
    uint32_t observation, place = loading->place_of[row];
    bool is_execution = spans->kind[row] == XSP_KIND_EXECUTION;
    if ((spans->flags[row] & STORE_SPAN_OPEN) != 0 || spans->duration_ns[row] < 0 || place == PLACE_NONE ||
        (is_execution && spans->category[row] == loading->sync) || spans->category[row] == loading->collective ||
        spans->category[row] == loading->part)
      continue; // who waits in a collective, and for whom, rules about ranks find out
    bool is_kept = run_columns_observation(columns, row, &observation) && loading->is_kept[observation];
    bool is_kernel = spans->level[row] == XSP_LEVEL_KERNEL && spans->kind[row] != XSP_KIND_LAUNCH &&
                     spans->category[row] == columns->kernel;
    bool is_operator = !is_execution && is_called(loading, row);
    loading->counts[row] = !is_kept ? COUNTS_NOT : is_kernel || is_operator ? COUNTS_UNIT : COUNTS_TIME;
    if (is_kernel || is_operator)
      add_unit(loading, row, is_kernel, is_kept);
    if (!is_kept)
      continue;
    struct place_figures *own = &loading->all.items[place].own;
    *(is_execution ? &own->device_ns : &own->host_ns) +=
        (double)(is_execution ? spans->duration_ns[row] : loading->self_ns[row]);
    places->has_devices |= is_execution;
    places->has_kernels |= is_kernel;
  }
}

SORTED_BY(compare_units, struct unit, FALLING(is_kernel) ?: RISING(track) ?: RISING(start_ns) ?: RISING(row))

// Longer pauses of the host are no part of calling operators: a sleep, other work.
#define LEAD_MOST_NS 100000

static void add_lead(struct loading *loading, uint32_t before, const struct unit *unit, double ns)
{
  bool is_new;
  if (!unit->is_kernel && ns > LEAD_MOST_NS)
    return;
  uint64_t *at = map_at(&loading->lead_of,
                        (struct map_key){(uint64_t)before << 1 | unit->is_kernel, (uint64_t)unit->place + 1}, &is_new);
  if (is_new) {
    *at = loading->leads.count;
    *vector_add(&loading->leads) = (struct place_lead){before, unit->place, unit->is_kernel, 0};
  }
  loading->leads.items[*at].ns += ns;
}

// Each unit's lead is what passed on its track since a unit ended or began: units may lie in each other.
static void add_units(struct loading *loading)
{
  VECTOR(struct unit) open = {0}; // those that are around the next
  int64_t passed_ns = INT64_MIN;  // of `passed`
  uint32_t passed = PLACE_NONE;
  vector_sort(&loading->units, compare_units);
  for (size_t i = 0; i < loading->units.count; i++) {
    const struct unit *unit = &loading->units.items[i], *before = i > 0 ? unit - 1 : NULL;
    if (before == NULL || before->track != unit->track || before->is_kernel != unit->is_kernel) {
      passed = PLACE_NONE;
      passed_ns = INT64_MIN;
      open.count = 0;
    }
    for (; open.count > 0 && open.items[open.count - 1].end_ns <= unit->start_ns; open.count--)
      if (open.items[open.count - 1].end_ns > passed_ns) {
        passed_ns = open.items[open.count - 1].end_ns;
        passed = open.items[open.count - 1].place;
      }
    if (unit->is_kept) {
      struct place_figures *own = &loading->all.items[unit->place].own;
      struct place_units *units = unit->is_kernel ? &own->kernels : &own->operators;
      units->count++;
      double ns = (double)saturate_subtract(unit->end_ns, unit->start_ns);
      units->ns += ns;
      units->log_ns += log(fmax(ns, 1));
      if (passed != PLACE_NONE && passed_ns >= unit->from_ns && passed_ns < unit->start_ns)
        add_lead(loading, passed, unit, (double)saturate_subtract(unit->start_ns, passed_ns));
    }
    passed_ns = unit->start_ns;
    passed = unit->place;
    *vector_add(&open) = *unit;
  }
  vector_done(&open);
  loading->units.count = 0;
}

static enum status load_run(struct loading *loading, const struct view_run *run, const bool *is_kept, struct error *err)
{
  struct question *question = loading->question;
  struct places_run *ret = &loading->places->runs[loading->places->run_count++];
  struct arena arena SCOPED(arena_done) = {0};
  XSP_TRY(run_columns_load(question, run, COLUMNS, &arena, &loading->columns, err));
  size_t count = loading->columns.spans.count;
  int64_t *span_ids = arena_alloc_array(question->scratch, count + 1, sizeof *span_ids);
  memcpy(span_ids, loading->columns.spans.span_id, count * sizeof *span_ids);
  loading->self_ns = loading->columns.derived.self_ns;
  loading->is_kept = is_kept;
  loading->place_of = arena_alloc_array(question->scratch, count + 1, sizeof *loading->place_of);
  loading->counts = arena_alloc_array(question->scratch, count + 1, 1);
  loading->is_in_operator = arena_alloc_array(&arena, count + 1, 1);
  place_rows(loading, arena_alloc_array(&arena, count + 1, sizeof(uint32_t)));
  add_rows(loading);
  add_units(loading);
  *ret = (struct places_run){run->run->run_id, span_ids, loading->place_of, loading->counts, count};
  return STATUS_OK;
}

// Whether each observation of a run counts, warm-up included. `*at`: of the set's observations, which go on.
static bool *kept_of(struct question *question, const struct view_set *set, const struct view_run *run, size_t *at)
{
  bool *is_kept = arena_alloc_array(question->scratch, run->observation_count + 1, sizeof *is_kept);
  for (size_t i = 0; i < run->observation_count; i++)
    if (!run->observations[i].warmup)
      is_kept[i] = set->is_kept[(*at)++];
  return is_kept;
}

static enum status load_spans(struct loading *loading, const struct view_set *set, struct error *err)
{
  struct store *store = loading->question->view->store;
  size_t at = 0;
  loading->sync = run_columns_category(store, "sync");
  loading->collective = run_columns_category(store, "collective");
  loading->part = run_columns_category(store, "collective_part"); // Horovod's
  loading->places->runs =
      arena_alloc_array(loading->question->scratch, set->run_count + 1, sizeof *loading->places->runs);
  loading->places->observations = (double)set->kept_count;
  for (size_t i = 0; i < set->run_count; i++)
    XSP_TRY(load_run(loading, set->runs[i], kept_of(loading->question, set, set->runs[i], &at), err));
  return STATUS_OK;
}

// ---- of a folded file ------------------------------------------------------------------------------------------------
static enum status load_folded(struct loading *loading, const struct view_set *set, struct error *err)
{
  struct store *store = loading->question->view->store;
  struct store_call_paths paths;
  loading->places->is_folded = true;
  loading->places->observations = 1;
  XSP_TRY(store_call_paths(store, loading->question->scratch, &paths, err));
  for (size_t i = 0; i < set->run_count; i++) {
    struct store_context_metric *rows;
    size_t count;
    XSP_TRY(correlate_context_rows(store, set->runs[i]->run->run_id, &paths, loading->question->scratch, &rows, &count,
                                   err));
    for (size_t k = 0; k < count; k++) {
      struct place *place = &loading->all.items[rows[k].context_id - 1];
      if (strcmp(rows[k].metric, "host_ns") == 0)
        place->own.host_ns += (double)rows[k].exclusive_sum;
      if (strcmp(rows[k].metric, "device_ns") == 0) {
        place->own.device_ns += (double)rows[k].exclusive_sum;
        loading->places->has_devices = true;
      }
      bool is_kernel = strcmp(rows[k].metric, "device_ns") == 0 && place->frame_kind == XSP_FRAME_DEVICE;
      bool is_operator =
          strcmp(rows[k].metric, "host_ns") == 0 && rows[k].sum > 0 && place->frame_kind == XSP_FRAME_FRAMEWORK &&
          (place->parent == PLACE_NONE || loading->all.items[place->parent].frame_kind == XSP_FRAME_PYTHON);
      if (is_kernel)
        place->own.kernels = (struct place_units){.count = (double)rows[k].count, .ns = (double)rows[k].exclusive_sum};
      if (is_operator)
        place->own.operators = (struct place_units){.count = (double)rows[k].count, .ns = (double)rows[k].sum};
      loading->places->has_kernels |= is_kernel;
    }
  }
  return STATUS_OK;
}

enum status finding_places_load(struct question *question, const struct view_set *set, struct places *ret_places,
                                struct error *err)
{
  struct loading loading = {.question = question, .places = ret_places};
  *ret_places = (struct places){0};
  enum status status = load_contexts(&loading, set, err);
  if (status == STATUS_OK)
    status = (store_is_folded(question->view->store) ? load_folded : load_spans)(&loading, set, err);
  if (status == STATUS_OK) {
    ret_places->count = loading.all.count;
    ret_places->all = arena_alloc_array(question->scratch, loading.all.count + 1, sizeof *ret_places->all);
    if (loading.all.count > 0)
      memcpy(ret_places->all, loading.all.items, loading.all.count * sizeof *ret_places->all);
    places_group(ret_places, question->scratch);
    places_add_leads(ret_places, loading.leads.items, loading.leads.count);
  }
  vector_done(&loading.all);
  vector_done(&loading.units);
  vector_done(&loading.leads);
  map_done(&loading.lead_of);
  map_done(&loading.chains);
  return status;
}
