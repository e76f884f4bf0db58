// SPDX-License-Identifier: Apache-2.0
// Counts what a file holds, run by run. Called by verb_info.c. Prints nothing.
#include "correlate/facts.h"

#include <sys/stat.h>

static enum status count_spans(struct store *store, struct info_run *info, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0}; // a run's columns: given back before the next run
  struct store_spans spans;
  struct store_derived derived;
  int64_t run_id = info->run->run_id;
  uint32_t columns = STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_FLAGS);
  XSP_TRY(store_load_spans(store, run_id, columns, &arena, &spans, err));
  XSP_TRY(store_load_derived(store, run_id, &arena, &derived, err));
  info->span_count = spans.count;
  for (size_t row = 0; row < spans.count; row++) {
    if (spans.level[row] < XSP_LEVEL_COUNT)
      info->spans_by_level[spans.level[row]]++;
    info->open_count += (spans.flags[row] & STORE_SPAN_OPEN) != 0;
  }
  for (size_t row = 0; row < derived.count; row++)
    if (derived.basis[row] < BASIS_COUNT)
      info->parents[derived.basis[row]]++;
  return STATUS_OK;
}

static enum status collect_run(struct store *store, struct arena *arena, struct info_run *info, struct error *err)
{
  XSP_TRY(count_spans(store, info, err));
  XSP_TRY(store_count_samples(store, info->run->run_id, &info->sample_count, err));
  struct store_observation *observations = NULL;
  XSP_TRY(store_observations(store, info->run->run_id, arena, &observations, &info->observation_count, err));
  for (size_t i = 0; i < info->observation_count; i++)
    info->warmup_count += observations[i].warmup;
  struct store_track *tracks = NULL;
  return store_tracks(store, info->run->run_id, arena, &tracks, &info->track_count, err);
}

enum status correlate_info_collect(struct store *store, struct arena *arena, struct info_file *ret_file,
                                   struct error *err)
{
  *ret_file =
      (struct info_file){.path = store_path(store), .format_version = store_format_version(store), .size_bytes = -1};
  struct stat there;
  if (stat(ret_file->path, &there) == 0)
    ret_file->size_bytes = there.st_size;
  XSP_TRY(store_notes(store, -1, arena, &ret_file->notes, &ret_file->note_count, err));
  for (size_t i = 0; i < ret_file->note_count; i++)
    if (ret_file->notes[i].value == NULL)
      ret_file->notes[i].value = "";
  struct store_experiment *experiments = NULL;
  struct store_run *runs = NULL;
  size_t run_count = 0;
  XSP_TRY(store_experiments(store, arena, &experiments, &ret_file->experiment_count, err));
  XSP_TRY(store_runs(store, arena, &runs, &run_count, err));
  ret_file->experiments = arena_alloc_array(arena, ret_file->experiment_count + 1, sizeof *ret_file->experiments);
  for (size_t i = 0; i < ret_file->experiment_count; i++) {
    struct info_experiment *info = &ret_file->experiments[i];
    info->experiment = &experiments[i];
    XSP_TRY(store_system(store, experiments[i].system_id, arena, &info->system, &info->system_count, err));
    XSP_TRY(store_workload(store, experiments[i].experiment_id, arena, &info->workload, &info->workload_count, err));
    info->runs = arena_alloc_array(arena, run_count + 1, sizeof *info->runs);
    for (size_t j = 0; j < run_count; j++)
      if (runs[j].experiment_id == experiments[i].experiment_id) {
        info->runs[info->run_count].run = &runs[j];
        XSP_TRY(collect_run(store, arena, &info->runs[info->run_count++], err));
      }
  }
  return STATUS_OK;
}
