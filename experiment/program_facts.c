// SPDX-License-Identifier: Apache-2.0
// Reads a correlated file: which execution to show, and what is in it. Called by programs/xsp/run_print.c.
#include "experiment/program_facts.h"

#include <inttypes.h>
#include <stdio.h>

struct seen { // an execution
  const struct store_run *run;
  const struct store_observation *observations;
  size_t observation_count;
  size_t counted; // without warm-up
};

static enum status look(struct store *store, struct arena *arena, struct seen **ret_seen, size_t *ret_count,
                        struct error *err)
{
  struct store_run *runs;
  XSP_TRY(store_runs(store, arena, &runs, ret_count, err));
  *ret_seen = arena_alloc_array(arena, *ret_count + 1, sizeof **ret_seen);
  for (size_t i = 0; i < *ret_count; i++) {
    struct store_observation *observations;
    struct seen *seen = &(*ret_seen)[i];
    XSP_TRY(store_observations(store, runs[i].run_id, arena, &observations, &seen->observation_count, err));
    seen->run = &runs[i];
    seen->observations = observations;
    for (size_t k = 0; k < seen->observation_count; k++)
      seen->counted += !observations[k].warmup;
  }
  return STATUS_OK;
}

static size_t count_sets(const struct seen *seen, size_t count)
{
  size_t sets = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_new = seen[i].counted > 0;
    for (size_t k = 0; k < i && is_new; k++)
      is_new = seen[k].counted == 0 || !level_set_equal(seen[k].run->levels, seen[i].run->levels);
    sets += is_new;
  }
  return sets;
}

enum status run_facts(struct store *store, struct arena *arena, struct run_facts *ret_facts, struct error *err)
{
  struct seen *seen;
  size_t count;
  *ret_facts = (struct run_facts){0};
  XSP_TRY(look(store, arena, &seen, &count, err));
  const struct seen *best = NULL;
  for (size_t i = 0; i < count; i++) {
    ret_facts->dropped += (uint64_t)seen[i].run->dropped_count;
    ret_facts->misused += (uint64_t)seen[i].run->misused_count;
    bool is_counted = seen[i].counted > 0;
    if (best == NULL || is_counted > (best->counted > 0) ||
        (is_counted == (best->counted > 0) &&
         level_set_count(seen[i].run->levels) > level_set_count(best->run->levels)))
      best = &seen[i];
  }
  ret_facts->set_count = count_sets(seen, count);
  if (best == NULL)
    return STATUS_OK;
  ret_facts->run_id = best->run->run_id;
  ret_facts->levels = best->run->levels;
  ret_facts->has_steps = best->observation_count > 0 && best->observations[0].span_id != 0;
  return import_account_run(store, best->run->run_id, &ret_facts->account, err);
}

// ---- ranges by name --------------------------------------------------------------------------------------------------
enum { NAME, LEVEL, COUNT, TOTAL, SELF, COLUMN_COUNT };
static const struct table_column columns[COLUMN_COUNT] = {
    [NAME] = {"name", "", "range"},           [LEVEL] = {"level", "", "level"},   [COUNT] = {"count", "", "count"},
    [TOTAL] = {"total_ms", "ms", "together"}, [SELF] = {"self_ms", "ms", "self"},
};

struct reading {
  struct arena *arena;
  struct table_cell *rows;
  size_t count, most;
};

static enum status take_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct reading *reading = context;
  if (count != COLUMN_COUNT || reading->count == reading->most)
    return STATUS_OK;
  struct table_cell *row = &reading->rows[COLUMN_COUNT * reading->count++];
  for (size_t i = 0; i < count; i++) {
    if (cells[i].type == STORE_TEXT)
      row[i] = (struct table_cell){CELL_TEXT, {.text = arena_copy(reading->arena, cells[i].text, cells[i].length)}};
    else if (cells[i].type == STORE_INT)
      row[i] = (struct table_cell){CELL_INT, {.integer = cells[i].integer}};
    else if (cells[i].type == STORE_DOUBLE)
      row[i] = (struct table_cell){CELL_REAL, {.real = cells[i].real}};
  }
  return STATUS_OK;
}

enum status run_facts_ranges(struct store *store, const struct run_facts *facts, size_t top, struct arena *arena,
                             struct table *ret_table, struct error *err)
{
  char sql[512];
  struct reading reading = {arena, arena_alloc_array(arena, top * COLUMN_COUNT + 1, sizeof(struct table_cell)), 0, top};
  snprintf(sql, sizeof sql,
           "select name, level, count(*), sum(duration_ns) / 1e6, sum(self_ns) / 1e6 from span where run_id = %" PRId64
           " and level in ('application', 'library') and coalesce(category, '') <> 'program'"
           " group by 1, 2 order by 4 desc, 1 limit %zu",
           facts->run_id, top);
  const struct store_query_sink sink = {&reading, NULL, take_row};
  XSP_TRY(store_query(store, sql, &sink, err));
  *ret_table = (struct table){.id = "ranges",
                              .title = "ranges and library calls by name",
                              .columns = columns,
                              .column_count = COLUMN_COUNT,
                              .rows = reading.rows,
                              .row_count = reading.count};
  return STATUS_OK;
}
