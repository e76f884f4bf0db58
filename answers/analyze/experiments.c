// SPDX-License-Identifier: Apache-2.0
// Lists experiments and names them: a file may hold several of one model, as `xsp profile --framework A,B` writes it. Called by
// question.c and survey_run.c.
#include "analyze/experiments.h"

#include <inttypes.h>
#include <string.h>

static bool is_unique(const char *const *names, size_t count, size_t which)
{
  for (size_t i = 0; i < count; i++)
    if (i != which && strcmp(names[i], names[which]) == 0)
      return false;
  return true;
}

static const char *plain_name(const struct store_experiment *experiment, struct arena *arena)
{
  if (experiment->name != NULL && experiment->name[0] != 0)
    return experiment->name;
  return arena_format(arena, "experiment %" PRId64, experiment->experiment_id);
}

static const char *name_in_framework(const struct store_experiment *experiment, const char *name, struct arena *arena)
{
  if (experiment->framework == NULL)
    return name;
  const char *version = experiment->framework_version;
  return arena_format(arena, "%s in %s%s%s", name, experiment->framework, version != NULL ? " " : "",
                      version != NULL ? version : "");
}

static const char **names_of(const struct store_experiment *experiments, size_t count, struct arena *arena)
{
  const char **plain = arena_alloc_array(arena, count + 1, sizeof *plain);
  const char **framed = arena_alloc_array(arena, count + 1, sizeof *framed);
  const char **names = arena_alloc_array(arena, count + 1, sizeof *names);
  for (size_t i = 0; i < count; i++)
    plain[i] = plain_name(&experiments[i], arena);
  for (size_t i = 0; i < count; i++)
    framed[i] = is_unique(plain, count, i) ? plain[i] : name_in_framework(&experiments[i], plain[i], arena);
  for (size_t i = 0; i < count; i++)
    names[i] = is_unique(framed, count, i) || framed[i] == plain[i]
                   ? framed[i]
                   : arena_format(arena, "%s, experiment %" PRId64, framed[i], experiments[i].experiment_id);
  return names;
}

// Queries of a scenario (xsp evaluate --scenario) arrive in their own ways: their runs are not pooled with others.
static enum status leave_out_scenarios(struct store *store, struct arena *arena, struct store_run *runs, size_t *count,
                                       struct error *err)
{
  struct store_note *notes;
  size_t note_count, scenario_count = 0, kept = 0;
  XSP_TRY(store_notes(store, -1, arena, &notes, &note_count, err));
  for (size_t i = 0; i < note_count; i++) // mostly none
    if (strcmp(notes[i].key, "scenario") == 0)
      notes[scenario_count++] = notes[i];
  for (size_t i = 0; i < *count; i++) {
    bool is_of_scenario = false;
    for (size_t k = 0; k < scenario_count; k++)
      is_of_scenario |= notes[k].run_id == runs[i].run_id;
    if (!is_of_scenario)
      runs[kept++] = runs[i];
  }
  *count = kept;
  return STATUS_OK;
}

enum status experiments_list(struct store *const *stores, size_t store_count, struct arena *arena,
                             struct experiment_runs **ret_experiments, size_t *ret_count, struct store **ret_broken,
                             struct error *err)
{
  struct experiment_runs *all = NULL;
  size_t all_count = 0;
  for (size_t i = 0; i < store_count; i++) {
    struct store_experiment *experiments;
    struct store_run *runs;
    size_t count, run_count;
    if (ret_broken != NULL)
      *ret_broken = stores[i];
    XSP_TRY(store_experiments(stores[i], arena, &experiments, &count, err));
    XSP_TRY(store_runs(stores[i], arena, &runs, &run_count, err));
    XSP_TRY(leave_out_scenarios(stores[i], arena, runs, &run_count, err));
    const char **names = names_of(experiments, count, arena);
    struct experiment_runs *larger = arena_alloc_array(arena, all_count + count + 1, sizeof *larger);
    if (all_count > 0)
      memcpy(larger, all, all_count * sizeof *larger);
    all = larger;
    for (size_t k = 0; k < count; k++)
      all[all_count++] = (struct experiment_runs){stores[i], &experiments[k], names[k], runs, run_count};
  }
  if (all_count == 0)
    return error_set(err, STATUS_NO, "cannot analyze", store_count > 0 ? store_path(stores[0]) : NULL, NULL,
                     "there is no experiment in it");
  *ret_experiments = all;
  *ret_count = all_count;
  return STATUS_OK;
}
