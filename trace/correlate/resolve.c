// SPDX-License-Identifier: Apache-2.0
// From two stores to the join and back: the runs of an experiment, and one execution of the same program whose launches
// went one after the other, in a scratch file. Called by lab/experiment/program_experiment.c, which runs the program.
#include "correlate/resolve.h"

#include "base/sorted.h"
#include "correlate/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- counting --------------------------------------------------------------------------------------------------------
static enum status add_ambiguous(void *context, size_t first_row, const struct store_spans *spans,
                                 const struct store_derived *derived, struct error *err)
{
  size_t *count = context;
  for (size_t i = 0; i < derived->count; i++)
    *count += derived->basis[i] == BASIS_AMBIGUOUS;
  return STATUS_OK;
}

static enum status count_run(struct store *store, int64_t run_id, size_t *ret_count, struct error *err)
{
  *ret_count = 0;
  return store_walk_spans(store, run_id, STORE_BIT(STORE_BASIS), add_ambiguous, ret_count, err);
}

enum status resolve_count(struct store *store, struct resolution *ret_resolution, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  size_t run_count = 0;
  *ret_resolution = (struct resolution){0};
  enum status status = store_runs(store, &arena, &runs, &run_count, err);
  for (size_t i = 0; i < run_count && status == STATUS_OK; i++) {
    size_t count;
    status = count_run(store, runs[i].run_id, &count, err);
    if (status != STATUS_OK || count == 0)
      continue;
    ret_resolution->before += count;
    ret_resolution->level_mask |= runs[i].levels.mask;
  }
  ret_resolution->after = ret_resolution->before;
  return status;
}

// ---- from a store to the join ----------------------------------------------------------------------------------------
struct side {
  struct join_side join;
  const int64_t *span_id;
};

struct row_of_id {
  int64_t id;
  uint32_t row;
};

SORTED_BY(compare_ids, struct row_of_id, RISING(id))

// Names of the scratch file as the experiment's file numbers them: 0 where it has no such text.
static uint32_t translate(struct store *store, struct store *from, uint32_t name, uint32_t *known)
{
  if (store == from || name == 0)
    return name;
  if (known[name] == 0) {
    size_t length;
    uint32_t id;
    const char *text = store_text(from, name, &length);
    known[name] = store_find_string(store, text, length, &id) ? id : UINT32_MAX;
  }
  return known[name] == UINT32_MAX ? 0 : known[name];
}

struct executed { // what a launch launched
  int64_t correlation_id;
  uint32_t row;
};

SORTED_BY(compare_executed, struct executed, RISING(correlation_id) ?: RISING(row))

// Launches of all kernels have one name, their call's; what they launched tells them apart.
static void name_launches(const struct store_spans *spans, struct join_span *items, struct arena *arena)
{
  struct executed *executed = arena_alloc_array(arena, spans->count + 1, sizeof *executed);
  size_t count = 0;
  for (size_t i = 0; i < spans->count; i++)
    if (spans->kind[i] == XSP_KIND_EXECUTION && spans->correlation_id[i] != 0)
      executed[count++] = (struct executed){spans->correlation_id[i], (uint32_t)i};
  qsort(executed, count, sizeof *executed, compare_executed);
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->kind[i] != XSP_KIND_LAUNCH || spans->correlation_id[i] == 0)
      continue;
    size_t at = sorted_lower_bound_i64(spans->correlation_id[i], &executed->correlation_id, count, sizeof *executed);
    if (at < count && executed[at].correlation_id == spans->correlation_id[i])
      items[i].name = items[executed[at].row].name;
  }
}

static void fill_side(struct store *store, struct store *from, const struct store_spans *spans,
                      const struct store_derived *derived, struct arena *arena, struct side *ret_side)
{
  struct join_span *items = arena_alloc_array(arena, spans->count + 1, sizeof *items);
  struct row_of_id *rows = arena_alloc_array(arena, spans->count + 1, sizeof *rows);
  uint32_t *known = arena_alloc_array(arena, (size_t)store_string_count(from) + 1, sizeof *known);
  for (size_t i = 0; i < spans->count; i++)
    rows[i] = (struct row_of_id){spans->span_id[i], (uint32_t)i};
  qsort(rows, spans->count, sizeof *rows, compare_ids);
  for (size_t i = 0; i < spans->count; i++) {
    const struct row_of_id wanted = {.id = derived->parent_id[i]};
    const struct row_of_id *parent =
        wanted.id == 0 ? NULL : sorted_find(&wanted, rows, spans->count, sizeof *rows, compare_ids);
    bool is_open = (spans->flags[i] & STORE_SPAN_OPEN) != 0;
    items[i] = (struct join_span){.name = translate(store, from, spans->name[i], known),
                                  .parent = parent != NULL ? parent->row : JOIN_NO_ROW,
                                  .observation = derived->observation[i],
                                  .track = spans->track_id[i],
                                  .start_ns = spans->start_ns[i],
                                  .end_ns = is_open ? INT64_MAX : spans->start_ns[i] + spans->duration_ns[i],
                                  .level = spans->level[i],
                                  .kind = spans->kind[i],
                                  .basis = derived->basis[i]};
  }
  *ret_side = (struct side){{items, spans->count}, spans->span_id};
  name_launches(spans, items, arena);
}

static enum status load_side(struct store *store, struct store *from, int64_t run_id, struct arena *arena,
                             struct side *ret_side, struct error *err)
{
  struct store_spans spans;
  struct store_derived derived;
  uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) |
                     STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL) |
                     STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_CORRELATION_ID);
  uint32_t found = STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_OBSERVATION) | STORE_BIT(STORE_BASIS);
  XSP_TRY(store_load_spans(from, run_id, columns, arena, &spans, err));
  XSP_TRY(store_load_derived_columns(from, run_id, found, arena, &derived, err));
  fill_side(store, from, &spans, &derived, arena, ret_side);
  return STATUS_OK;
}

// ---- and back --------------------------------------------------------------------------------------------------------
static enum status note_count(struct store *store, int64_t run_id, const char *key, size_t count, struct error *err)
{
  char text[32];
  snprintf(text, sizeof text, "%zu", count);
  return store_add_note(store, run_id, key, text, err);
}

static enum status join_run(struct store *store, int64_t run_id, const struct side *serial,
                            struct resolution *resolution, struct arena *arena, struct error *err)
{
  struct side here;
  struct join_answer answer;
  XSP_TRY(load_side(store, store, run_id, arena, &here, err));
  join_executions(&here.join, &serial->join, arena, &answer);
  struct store_link *links = arena_alloc_array(arena, answer.link_count + 1, sizeof *links);
  for (size_t i = 0; i < answer.link_count; i++)
    links[i] = (struct store_link){here.span_id[answer.links[i].row], here.span_id[answer.links[i].parent]};
  if (answer.link_count > 0)
    XSP_TRY(store_name_parents(store, run_id, links, answer.link_count, err));
  resolution->after -= answer.link_count;
  for (unsigned reason = 0; reason < JOIN_REASONS; reason++)
    resolution->left[reason] += answer.left[reason];
  XSP_TRY(note_count(store, run_id, "ambiguous_before", answer.ambiguous, err));
  return note_count(store, run_id, "ambiguous_after", answer.ambiguous - answer.link_count, err);
}

enum status resolve_join(struct store *store, struct store *scratch, struct resolution *resolution, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct side serial;
  struct store_run *runs;
  size_t run_count = 0;
  XSP_TRY(correlate_store(scratch, err));
  XSP_TRY(load_side(store, scratch, 1, &arena, &serial, err));
  XSP_TRY(store_runs(store, &arena, &runs, &run_count, err));
  for (size_t i = 0; i < run_count; i++) {
    struct arena run_arena SCOPED(arena_done) = {0}; // a run's columns: given back before the next one
    size_t count;
    XSP_TRY(count_run(store, runs[i].run_id, &count, err));
    if (count > 0)
      XSP_TRY(join_run(store, runs[i].run_id, &serial, resolution, &run_arena, err));
  }
  return STATUS_OK;
}

void resolve_explain(const struct resolution *resolution, struct buf *out)
{
  size_t found = resolution->before - resolution->after;
  if (resolution->before == 0) {
    buf_text(out, "no parent is ambiguous");
    return;
  }
  buf_format(out, "%zu of %zu ambiguous parents found by an execution whose launches went one after the other", found,
             resolution->before);
  for (unsigned reason = 0; reason < JOIN_REASONS; reason++)
    if (resolution->left[reason] > 0)
      buf_format(out, "; %zu stay: %s", resolution->left[reason], join_reason_text((enum join_reason)reason));
}
