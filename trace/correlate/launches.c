// SPDX-License-Identifier: Apache-2.0
// Executions and the calls that launched them. Called by parents.c when the parents of all others are known, and where kinds
// are written.
//
// Of calls with one id that are nested in each other on one thread the outermost is the launch. Calls with one id that are
// not nested are several launches: an execution takes the one of its process that starts before it and agrees with it in
// all else that is recorded, if there is only one.
#include "correlate/launches.h"

#include "base/sorted.h"

#include <stdlib.h>

#define ROWS_AHEAD 1024u

// ---- calls with one id -----------------------------------------------------------------------------------------------
static uint32_t process_of(const struct launches *launches, const struct store_spans *spans, uint32_t row)
{
  if (launches->process_of_slot == NULL || spans->track_id[row] == 0)
    return 0;
  return launches->process_of_slot[id_map_find(launches->slot_of_track, spans->track_id[row])];
}

static bool are_of_one_process(uint32_t a, uint32_t b)
{
  return a == b || a == 0 || b == 0;
}

// Earliest start, then latest end, then file order.
static bool is_outer(const struct store_spans *spans, uint32_t a, uint32_t b)
{
  if (spans->start_ns[a] != spans->start_ns[b])
    return spans->start_ns[a] < spans->start_ns[b];
  int64_t end_a = rows_end(spans, a);
  int64_t end_b = rows_end(spans, b);
  return end_a != end_b ? end_a > end_b : a < b;
}

static bool is_nested(const struct store_spans *spans, uint32_t inner, uint32_t outer) // of two in this order
{
  return spans->track_id[inner] == spans->track_id[outer] && spans->track_id[inner] != 0 &&
         rows_end(spans, inner) <= rows_end(spans, outer);
}

void launches_note_again(struct launches *launches, const struct store_spans *spans, uint32_t row, uint32_t *launch)
{
  if (*launch == LAUNCH_SEVERAL) {
    *vector_add(&launches->noted) = row;
    return;
  }
  bool is_row_outer = is_outer(spans, row, *launch);
  uint32_t outer = is_row_outer ? row : *launch;
  uint32_t inner = is_row_outer ? *launch : row;
  bool is_within = is_nested(spans, inner, outer);
  if (!is_within || spans->kind[inner] == XSP_KIND_LAUNCH) {
    *vector_add(&launches->noted) = outer;
    *vector_add(&launches->noted) = inner;
  }
  *launch = is_within ? outer : LAUNCH_SEVERAL;
}

// By id, thread, then what encloses first.
ROWS_SORTED_BY(compare_noted, uint32_t, struct store_spans,
               ORDER(of->correlation_id[a], of->correlation_id[b]) ?: ORDER(of->track_id[a], of->track_id[b])
                   ?: a == b ? 0 : is_outer(of, a, b) ? -1 : 1)

SORTED_BY(compare_launches, struct launch_call, RISING(id) ?: RISING(start))

SORTED_BY(compare_rows, struct launch_call, RISING(row))

// Of an id with one launch after all: that.
static void settle_id(struct launches *launches, size_t first, struct arena *arena)
{
  size_t count = launches->several.count - first;
  struct launch_call *call = &launches->several.items[first];
  if (count == 0)
    return;
  uint32_t *launch = id_pages_slot(&launches->row_of_correlation, arena, (uint64_t)call->id);
  if (count == 1 && *launch == LAUNCH_SEVERAL)
    *launch = call->row;
  if (*launch != LAUNCH_SEVERAL)
    launches->several.count = first;
}

// Which calls are launches, once all are noted and processes are known.
static void settle(struct launches *launches, const struct store_spans *spans, struct arena *arena)
{
  if (launches->noted.count == 0)
    return;
  const uint32_t *noted = launches->noted.items;
  qsort_r(launches->noted.items, launches->noted.count, sizeof *noted, compare_noted, (void *)(uintptr_t)spans);
  size_t first = 0;
  uint32_t top = noted[0];
  for (size_t i = 0; i < launches->noted.count; i++) {
    uint32_t row = noted[i];
    if (i > 0 && row == noted[i - 1])
      continue;
    if (spans->correlation_id[row] != spans->correlation_id[top]) {
      settle_id(launches, first, arena);
      first = launches->several.count;
    }
    bool is_within =
        row != top && spans->correlation_id[row] == spans->correlation_id[top] && is_nested(spans, row, top);
    top = is_within ? top : row;
    const struct launch_call call = {.id = spans->correlation_id[row],
                                     .start = spans->start_ns[row],
                                     .row = row,
                                     .process = process_of(launches, spans, row),
                                     .top = top};
    if (!is_within)
      *vector_add(&launches->several) = call;
    else if (spans->kind[row] == XSP_KIND_LAUNCH)
      *vector_add(&launches->nested) = call;
  }
  settle_id(launches, first, arena);
  vector_done(&launches->noted);
  vector_sort(&launches->several, compare_launches);
  for (size_t i = 0, of_id = 0; i < launches->several.count; i++) {
    const struct launch_call *call = &launches->several.items[i];
    of_id = launches->several.items[of_id].id == call->id ? of_id : i;
    struct launch_call *first_call = &launches->several.items[of_id];
    first_call->known_process = first_call->known_process != 0 ? first_call->known_process : call->process;
    first_call->is_in_several_processes |= !are_of_one_process(first_call->known_process, call->process);
  }
  vector_sort(&launches->nested, compare_rows);
}

// ---- launches of executions ------------------------------------------------------------------------------------------
static struct launch_call *first_of(const struct launches *launches, int64_t id)
{
  struct launch_call *calls = launches->several.items;
  return calls + sorted_lower_bound_i64(id, &calls->id, launches->several.count, sizeof *calls);
}

// How many calls of an id are compared, and looked at, before an execution is ambiguous: files may have millions.
#define CALLS_MOST 256u // of its process
#define LOOKED_AT_MOST 4096u

SORTED_BY(compare_facts, struct correlate_facts, RISING(row))

static const struct correlate_facts *facts_of(const struct launches *launches, uint32_t row)
{
  const struct correlate_facts key = {.row = row};
  return sorted_find(&key, launches->facts, launches->fact_count, sizeof key, compare_facts);
}

static bool is_same(uint64_t a, uint64_t b)
{
  return a == b || a == 0 || b == 0;
}

static bool do_facts_agree(const struct launches *launches, uint32_t call, uint32_t execution)
{
  const struct correlate_facts *a = facts_of(launches, call);
  const struct correlate_facts *b = facts_of(launches, execution);
  return a == NULL || b == NULL ||
         (is_same(a->device, b->device) && is_same(a->external_id, b->external_id) && is_same(a->kernel, b->kernel));
}

// Whether something that is recorded of both is equal, and says that one launched the other.
static bool do_facts_meet(const struct launches *launches, uint32_t call, uint32_t execution)
{
  const struct correlate_facts *a = facts_of(launches, call);
  const struct correlate_facts *b = facts_of(launches, execution);
  return a != NULL && b != NULL &&
         ((a->external_id != 0 && a->external_id == b->external_id) || (a->kernel != 0 && a->kernel == b->kernel));
}

// Calls come by their start: after the execution's start there is nothing to look for but whether there are several.
static uint32_t choose(struct launches *launches, const struct store_spans *spans, uint32_t row)
{
  int64_t id = spans->correlation_id[row];
  uint32_t process = process_of(launches, spans, row);
  const struct launch_call *first = first_of(launches, id);
  const struct launch_call *end = launches->several.items + launches->several.count;
  uint32_t found = ROW_NONE, only = ROW_NONE; // only: of its process
  size_t count = 0, looked_at = 0;
  bool is_of_any = process == 0 && first->is_in_several_processes; // the earlier start decides nothing between these
  for (const struct launch_call *call = first; call < end && call->id == id; call++) {
    bool is_before = call->start <= spans->start_ns[row];
    if (++looked_at > LOOKED_AT_MOST)
      return LAUNCH_SEVERAL;
    if (!are_of_one_process(call->process, process))
      continue;
    only = call->row;
    if (++count > CALLS_MOST)
      return LAUNCH_SEVERAL;
    if (!is_before && count > 1)
      break;
    if (is_before && do_facts_agree(launches, call->row, row) &&
        (!is_of_any || do_facts_meet(launches, call->row, row))) {
      if (found != ROW_NONE)
        return LAUNCH_SEVERAL;
      found = call->row;
    }
  }
  return count < 2 ? only : found != ROW_NONE ? found : LAUNCH_SEVERAL;
}

uint32_t launches_of(struct launches *launches, const struct store_spans *spans, uint32_t row)
{
  int64_t id = rows_correlation(spans, row);
  uint32_t launch = id == 0 ? ROW_NONE : id_pages_find(&launches->row_of_correlation, (uint64_t)id);
  if (launch == LAUNCH_SEVERAL)
    return choose(launches, spans, row);
  if (launch == ROW_NONE || launches->process_of_slot == NULL)
    return launch;
  bool is_its = are_of_one_process(process_of(launches, spans, launch), process_of(launches, spans, row));
  return is_its ? launch : ROW_NONE;
}

static bool is_carried(const struct launches *launches, uint32_t row)
{
  return (launches->carried[row / 8] >> row % 8 & 1) != 0;
}

// An execution carries this id.
static void carry(struct launches *launches, int64_t id)
{
  uint32_t launch = id_pages_find(&launches->row_of_correlation, (uint64_t)id);
  if (launch != LAUNCH_SEVERAL) {
    launches->carried[launch / 8] |= (uint8_t)(1u << launch % 8);
    return;
  }
  const struct launch_call *end = launches->several.items + launches->several.count;
  for (const struct launch_call *call = first_of(launches, id);
       call < end && call->id == id && !is_carried(launches, call->row); call++)
    launches->carried[call->row / 8] |= (uint8_t)(1u << call->row % 8);
}

void launches_join(struct launches *launches, const struct store_spans *spans, const struct parents_survey *survey,
                   struct arena *arena, uint32_t *parent_row, uint8_t *basis)
{
  settle(launches, spans, arena);
  bool has_changes = survey->has_calls || launches->several.count > 0 || launches->nested.count > 0;
  launches->carried = has_changes ? arena_alloc(arena, spans->count / 8 + 1) : NULL;
  if (!survey->has_executions || launches->row_of_correlation.used == 0)
    return;
  launches->launched = arena_alloc(arena, spans->count / 8 + 1);
  launches->shared = arena_alloc(arena, spans->count / 8 + 1);
  struct launches copy = *launches; // in registers
  for (size_t i = 0; i < spans->count; i++) {
    if (i % 8 == 0 && i + ROWS_AHEAD < spans->count) { // a cache line of the widest column
      __builtin_prefetch(spans->correlation_id + i + ROWS_AHEAD);
      __builtin_prefetch(parent_row + i + ROWS_AHEAD, 1);
    }
    if (spans->kind[i] != XSP_KIND_EXECUTION || spans->correlation_id[i] == 0)
      continue;
    uint32_t launch = id_pages_find(&copy.row_of_correlation, (uint64_t)spans->correlation_id[i]);
    if (launch == ROW_NONE)
      continue;
    if (copy.carried != NULL)
      carry(&copy, spans->correlation_id[i]);
    if (launch == LAUNCH_SEVERAL || copy.process_of_slot != NULL)
      launch = launches_of(&copy, spans, (uint32_t)i);
    if (launch < LAUNCH_SEVERAL)
      launches_share(&copy, launch);
    if ((basis[i] & MARK_FINAL) || launch == ROW_NONE)
      continue;
    bool is_certain = launch != LAUNCH_SEVERAL;
    parent_row[i] = is_certain ? parent_row[launch] : ROW_NONE;
    basis[i] = (uint8_t)((basis[i] & MARKS) | (is_certain ? BASIS_CORRELATION : BASIS_AMBIGUOUS));
  }
  launches->shared_count = copy.shared_count;
}

// ---- further facts ---------------------------------------------------------------------------------------------------
static bool has_several(struct launches *launches, const struct store_spans *spans, size_t row)
{
  int64_t id = rows_correlation(spans, row);
  return id != 0 && id_pages_find(&launches->row_of_correlation, (uint64_t)id) == LAUNCH_SEVERAL;
}

enum status launches_learn(struct launches *launches, const struct store_spans *spans, correlate_load_facts *load,
                           void *context, struct arena *arena, uint32_t *parent_row, uint8_t *basis, struct error *err)
{
  size_t count = launches->several.count, filled = 0;
  if (count == 0 || load == NULL)
    return STATUS_OK;
  for (size_t i = 0; i < spans->count; i++)
    count += spans->kind[i] == XSP_KIND_EXECUTION && has_several(launches, spans, i);
  launches->facts = arena_alloc_array(arena, count, sizeof *launches->facts);
  for (size_t i = 0; i < spans->count; i++)
    if (spans->kind[i] == XSP_KIND_EXECUTION && has_several(launches, spans, i))
      launches->facts[filled++].row = (uint32_t)i;
  for (size_t i = 0; i < launches->several.count; i++)
    launches->facts[filled++].row = launches->several.items[i].row;
  qsort(launches->facts, count, sizeof *launches->facts, compare_facts);
  launches->fact_count = count;
  XSP_TRY(load(context, launches->facts, count, err));
  for (size_t i = 0; i < count; i++) {
    uint32_t row = launches->facts[i].row;
    bool is_recorded = rows_recorded_parent(spans, row) != 0 || STORE_BASIS_OF_FLAGS(rows_flags(spans, row)) >= 0;
    uint32_t launch = spans->kind[row] == XSP_KIND_EXECUTION && !is_recorded ? choose(launches, spans, row) : ROW_NONE;
    if (launch == ROW_NONE)
      continue;
    bool is_certain = launch != LAUNCH_SEVERAL;
    parent_row[row] = is_certain ? parent_row[launch] : ROW_NONE;
    basis[row] = is_certain ? BASIS_CORRELATION : BASIS_AMBIGUOUS;
  }
  return STATUS_OK;
}

// Stored as a launch, but in another call of its id, which an execution carries.
static bool is_deposed(struct launches *launches, uint32_t row)
{
  const struct launch_call key = {.row = row};
  const struct launch_call *call =
      sorted_find(&key, launches->nested.items, launches->nested.count, sizeof key, compare_rows);
  if (call == NULL)
    return false;
  uint32_t launch = id_pages_find(&launches->row_of_correlation, (uint64_t)call->id);
  return is_carried(launches, launch == LAUNCH_SEVERAL ? call->top : launch);
}

void launches_kinds(struct launches *launches, const struct store_spans *spans, size_t first_row, size_t count,
                    uint8_t *ret_kinds)
{
  for (size_t i = 0; i < count; i++) {
    uint32_t row = (uint32_t)(first_row + i);
    uint8_t kind = spans->kind[row];
    bool is_call = kind != XSP_KIND_EXECUTION && (rows_flags(spans, row) & STORE_SPAN_CALL);
    if (is_carried(launches, row))
      kind = XSP_KIND_LAUNCH;
    else if (is_call || (kind == XSP_KIND_LAUNCH && is_deposed(launches, row)))
      kind = XSP_KIND_SYNC;
    ret_kinds[i] = kind;
  }
}

void launches_done(struct launches *launches)
{
  vector_done(&launches->noted);
  vector_done(&launches->several);
  vector_done(&launches->nested);
  *launches = (struct launches){0};
}
