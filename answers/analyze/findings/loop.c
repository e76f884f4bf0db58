// SPDX-License-Identifier: Apache-2.0
// What an observation of the program takes, with its share of the time between observations: what rules compare times with. Called by
// findings.c before all rules, so that each has the same.
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/work_paths.h"
#include "base/saturate.h"

#include <math.h>

// Time of a run in no observation, from the first one to the last.
static double between_ns(const struct view_run *run)
{
  int64_t last_ns = INT64_MAX;
  double sum_ns = 0;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *observation = &run->observations[i];
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    if (observation->start_ns > last_ns && !observation->warmup)
      sum_ns += (double)saturate_subtract(observation->start_ns, last_ns);
    last_ns = last_ns == INT64_MAX || end_ns > last_ns ? end_ns : last_ns;
  }
  return sum_ns;
}

// From the first sample of the program's own functions to the last, but for imports; 0: there are not two.
static enum status load_own_ns(struct findings *findings, const struct view_run *run, double *ret_ns, struct error *err)
{
  struct store *store = findings->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct map tracks SCOPED(map_done) = {0};
  struct store_call_paths paths;
  struct work_paths work_paths;
  struct store_samples samples;
  size_t threads;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  XSP_TRY(store_load_samples(store, run->run->run_id, &arena, &samples, err));
  if (samples.count > 0) {
    XSP_TRY(store_call_paths(store, &arena, &paths, err));
    XSP_TRY(server_tracks(findings, run, &tracks, &threads, err));
    work_paths_start(&work_paths, &paths, &arena);
  }
  for (size_t i = 0; i < samples.count; i++) {
    uint32_t context_id = samples.context_id[i];
    const struct work_path *path = context_id != 0 ? work_path_of(&work_paths, context_id) : NULL;
    if (path == NULL || path->own == 0 || path->kind == WORK_IMPORT || !findings_is_in_loop(run, samples.time_ns[i]) ||
        map_find(&tracks, map_number(samples.track_id[i])) == NULL)
      continue;
    first_ns = samples.time_ns[i] < first_ns ? samples.time_ns[i] : first_ns;
    last_ns = samples.time_ns[i] > last_ns ? samples.time_ns[i] : last_ns;
  }
  *ret_ns = first_ns < last_ns ? (double)saturate_subtract(last_ns, first_ns) : 0;
  return STATUS_OK;
}

// A program lasts that long, so shares are of it; files of `xsp profile` and of other profilers have observations alone. The loop of a
// program without steps or predictions is what its own functions take: imports are not in it.
enum status findings_loop_ms(struct findings *findings, double *ret_ms, struct error *err)
{
  const struct view_set *set = findings->set;
  uint32_t program;
  double sum_ns = 0, own_ns = 0;
  *ret_ms = findings->latency_ms;
  if (isnan(findings->latency_ms))
    return STATUS_OK;
  for (size_t i = 0; i < set->run_count; i++)
    sum_ns += between_ns(set->runs[i]);
  if (store_find_string(findings->question->view->store, "program", 7, &program))
    *ret_ms += sum_ns / 1e6 / (double)set->observation_count;
  if (set->observation_count == 1)
    XSP_TRY(load_own_ns(findings, set->runs[0], &own_ns, err));
  if (own_ns > 0)
    *ret_ms = fmin(*ret_ms, own_ns / 1e6);
  return STATUS_OK;
}
