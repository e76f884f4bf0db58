// SPDX-License-Identifier: Apache-2.0
// Reads a correlated file: which execution to show, and what is in it. Called by programs/xsp/verb_run/run_print.c.
#include "experiment/program_facts.h"

#include "base/map.h"
#include "base/saturate.h"
#include "base/vector.h"
#include "table/builder.h"

#include <stdlib.h>
#include <string.h>

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

static enum status find_folded(struct store *store, struct arena *arena, const char **ret_text, struct error *err)
{
  struct store_note *notes;
  size_t count;
  XSP_TRY(store_notes(store, 0, arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (strcmp(notes[i].key, "folded") == 0)
      *ret_text = notes[i].value;
  return STATUS_OK;
}

enum status run_facts(struct store *store, struct arena *arena, struct run_facts *ret_facts, struct error *err)
{
  struct seen *seen;
  size_t count;
  *ret_facts = (struct run_facts){0};
  XSP_TRY(look(store, arena, &seen, &count, err));
  XSP_TRY(find_folded(store, arena, &ret_facts->folded, err));
  const struct seen *best = NULL;
  for (size_t i = 0; i < count; i++) {
    ret_facts->dropped += (uint64_t)seen[i].run->dropped_count;
    ret_facts->misused += (uint64_t)seen[i].run->misused_count;
    bool is_counted = seen[i].counted > 0;
    if (level_set_is_twin(seen[i].run->levels) && best != NULL)
      continue;
    if (best == NULL || level_set_is_twin(best->run->levels) || is_counted > (best->counted > 0) ||
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
  return correlate_account_run(store, best->run->run_id, &ret_facts->account, err);
}

// ---- ranges by name --------------------------------------------------------------------------------------------------
struct range_sum { // of spans of one name and level
  uint32_t name;
  uint8_t level;
  int64_t count, duration_ns, self_ns;
  const char *text;
};
struct summing {
  uint32_t program;  // string id of the category of the program's own span, which is no range; 0: no span has it
  struct map sum_of; // by name and level
  VECTOR(struct range_sum) sums;
};

static enum status add_ranges(void *context, size_t first_row, const struct store_spans *spans,
                              const struct store_derived *derived, struct error *err)
{
  struct summing *summing = context;
  (void)first_row, (void)err;
  for (size_t i = 0; i < spans->count; i++) {
    bool is_range = spans->level[i] == XSP_LEVEL_APPLICATION || spans->level[i] == XSP_LEVEL_LIBRARY;
    if (!is_range || (summing->program != 0 && spans->category[i] == summing->program))
      continue;
    bool is_new;
    uint64_t *at = map_at(&summing->sum_of, (struct map_key){spans->name[i], spans->level[i]}, &is_new);
    if (is_new) {
      *at = summing->sums.count;
      *vector_add(&summing->sums) = (struct range_sum){.name = spans->name[i], .level = spans->level[i]};
    }
    struct range_sum *sum = &summing->sums.items[*at];
    sum->count++;
    sum->duration_ns = saturate_add(sum->duration_ns, spans->duration_ns[i]);
    sum->self_ns = saturate_add(sum->self_ns, derived->self_ns[i]);
  }
  return STATUS_OK;
}

// The longest first.
static int compare_ranges(const void *left, const void *right)
{
  const struct range_sum *a = left, *b = right;
  if (a->duration_ns != b->duration_ns)
    return a->duration_ns > b->duration_ns ? -1 : 1;
  int order = strcmp(a->text, b->text);
  return order != 0 ? order : a->level - b->level;
}

static void put_range(struct table_builder *table, const struct range_sum *range)
{
  table_row(table);
  table_put_as(table, "name", "range", cell_text(arena_copy(table->arena, range->text, strlen(range->text))));
  table_put(table, "level", cell_text(level_name(range->level)));
  table_put(table, "count", cell_int(range->count));
  table_put(table, "total_ms", cell_real((double)range->duration_ns / 1e6));
  table_put(table, "self_ms", cell_real((double)range->self_ns / 1e6));
}

enum status run_facts_ranges(struct store *store, const struct run_facts *facts, size_t top, struct arena *arena,
                             struct table *ret_table, struct error *err)
{
  const uint32_t columns = STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_CATEGORY) |
                           STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_SELF_NS);
  struct summing summing = {.program = 0};
  struct table_builder table;
  table_start(&table, arena);
  if (!store_find_string(store, "program", 7, &summing.program))
    summing.program = 0;
  enum status status = store_walk_spans(store, facts->run_id, columns, add_ranges, &summing, err);
  for (size_t i = 0; i < summing.sums.count; i++)
    summing.sums.items[i].text = store_text(store, summing.sums.items[i].name, NULL);
  if (summing.sums.count > 0)
    qsort(summing.sums.items, summing.sums.count, sizeof *summing.sums.items, compare_ranges);
  for (size_t i = 0; i < summing.sums.count && i < top; i++)
    put_range(&table, &summing.sums.items[i]);
  *ret_table = (struct table){.id = "ranges", .title = "ranges and library calls by name"};
  table_answer(&table, ret_table);
  vector_done(&summing.sums);
  map_done(&summing.sum_of);
  return status;
}
