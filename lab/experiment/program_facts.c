// SPDX-License-Identifier: Apache-2.0
// Reads a correlated file: which execution to show, and what is in it. Called by programs/xsp/verb_run/run_print.c.
#include "experiment/program_facts.h"

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
