// SPDX-License-Identifier: Apache-2.0
// F59, starts of a loader: its processes end and start anew several times, as in each epoch, and steps wait for their first batch.
#include "analyze/causes/time_parts.h"
#include "analyze/findings/input_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

#define EPOCH_LEAST 5 // observations: in a shorter run, processes that start one after the other look like epochs

struct starts {
  bool *at;                    // of the set's observations: a process that starts anew makes its first batch in it
  size_t times, processes, of; // starts anew; processes in them; observations in which they make their first batches
};
struct process {
  int64_t first_ns, last_ns; // start of its first batch, end of its last; 0: it makes none
  bool runs_models, is_anew;
};

SORTED_BY(by_first, struct process, RISING(first_ns))

static enum status load_processes(struct findings *findings, const struct view_run *run, struct arena *arena,
                                  struct process **ret, size_t *ret_count, struct error *err)
{
  struct store *store = findings->question->view->store;
  const uint32_t columns = STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_TRACK_ID) |
                           STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS);
  struct map process_of SCOPED(map_done) = {0};
  struct store_spans spans;
  uint32_t input;
  XSP_TRY(run_processes_load(store, run->run->run_id, arena, &process_of, ret_count, err));
  XSP_TRY(store_load_spans(store, run->run->run_id, columns, arena, &spans, err));
  struct process *processes = arena_alloc_array(arena, *ret_count + 1, sizeof *processes);
  bool has_input = store_find_string(store, "input", 5, &input);
  for (size_t i = 0; i < spans.count && has_input; i++) {
    const uint64_t *found = map_find(&process_of, map_number(spans.track_id[i]));
    if (found == NULL)
      continue;
    struct process *process = &processes[*found];
    process->runs_models |= spans.level[i] == XSP_LEVEL_MODEL;
    if (spans.category[i] != input)
      continue;
    int64_t end_ns = saturate_add(spans.start_ns[i], spans.duration_ns[i]);
    if (process->first_ns == 0 || spans.start_ns[i] < process->first_ns)
      process->first_ns = spans.start_ns[i];
    process->last_ns = end_ns > process->last_ns ? end_ns : process->last_ns;
  }
  qsort(processes, *ret_count, sizeof *processes, by_first);
  *ret = processes;
  return STATUS_OK;
}

// Processes start anew where one of those that started together before has made its last batch. Returns how often they do.
static size_t find_anew(struct process *processes, size_t count)
{
  int64_t ended_ns = INT64_MAX;
  size_t times = 0;
  bool is_anew = false;
  for (size_t i = 0; i < count; i++) {
    struct process *process = &processes[i];
    if (process->first_ns == 0 || process->runs_models)
      continue;
    if (process->first_ns > ended_ns) {
      is_anew = true;
      times++;
      ended_ns = INT64_MAX;
    }
    process->is_anew = is_anew;
    ended_ns = process->last_ns < ended_ns ? process->last_ns : ended_ns;
  }
  return times;
}

// `first`: of the run's observations in the set's.
static enum status add_run(struct findings *findings, const struct view_run *run, size_t *first, struct starts *starts,
                           struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct process *processes;
  size_t count;
  XSP_TRY(load_processes(findings, run, &arena, &processes, &count, err));
  size_t times = find_anew(processes, count), from = *first;
  for (size_t k = 0; k < run->observation_count; k++)
    *first += !run->observations[k].warmup;
  if ((double)times < findings_threshold(findings, "loader_starts-count") || times * EPOCH_LEAST > *first - from)
    return STATUS_OK;
  starts->times += times;
  for (size_t i = 0; i < count; i++)
    starts->processes += processes[i].is_anew;
  for (size_t k = 0; k < run->observation_count; k++) {
    const struct store_observation *observation = &run->observations[k];
    if (observation->warmup)
      continue;
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    for (size_t i = 0; i < count; i++)
      starts->at[from] |=
          processes[i].is_anew && processes[i].first_ns > observation->start_ns && processes[i].first_ns <= end_ns;
    starts->of += starts->at[from++];
  }
  return STATUS_OK;
}

// What the observations wait in which processes start, beyond the median of the others.
static double waiting_ms(struct findings *findings, const struct time_parts *parts, const struct starts *starts)
{
  size_t count = findings->set->observation_count, others = 0;
  double *rising = arena_alloc_array(findings->question->scratch, count + 1, sizeof *rising), sum_ms = 0;
  for (size_t i = 0; i < count; i++)
    if (!starts->at[i])
      rising[others++] = parts->parts[TIME_LOADER][i] + parts->parts[TIME_REST][i];
  findings_sort(rising, others);
  double usual_ms = findings_quantile(rising, others, 0.5);
  for (size_t i = 0; i < count; i++)
    if (starts->at[i])
      sum_ms += fmax(parts->parts[TIME_LOADER][i] + parts->parts[TIME_REST][i] - usual_ms, 0);
  return sum_ms;
}

static void add(struct findings *findings, const struct places *places, const struct starts *starts, double ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_loader(findings, places, finding);
  finding->time_ms = ms / (double)findings->set->observation_count;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings_mean_loop_ms(findings));
  finding->saving_ms = finding->share_pct / 100 * findings->loop_ms;
  finding->saving_basis =
      "time in the loader, and in which nothing is recorded, of observations in which its processes "
      "start anew, beyond the median of the others";
  finding->title =
      arena_format(findings->question->arena,
                   "the data loader starts its processes anew %zu times, %zu processes in all, in %zu observations",
                   starts->times, starts->processes, findings->set->observation_count);
  finding->advice =
      "keep them: persistent_workers=True, and one loader for all epochs; or no processes (num_workers=0) "
      "where batches cost little";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "processes", (double)starts->processes);
  finding_number(finding, "starts", (double)starts->times);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct view_set *set = findings->set;
  struct starts starts = {
      .at = arena_alloc_array(findings->question->scratch, set->observation_count + 1, sizeof *starts.at)};
  const struct places *places;
  struct time_parts parts;
  size_t first = 0;
  for (size_t i = 0; i < set->run_count; i++)
    XSP_TRY(add_run(findings, set->runs[i], &first, &starts, err));
  if (starts.of == 0)
    return STATUS_OK;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(time_parts_load(findings->question, set, &parts, err));
  double ms = waiting_ms(findings, &parts, &starts);
  if (analyze_share_pct(ms / (double)set->observation_count, findings_mean_loop_ms(findings)) >=
      findings_threshold(findings, "loader_starts-share"))
    add(findings, places, &starts, ms);
  return STATUS_OK;
}

const struct finding_rule finding_f59 = {
    .id = "F59",
    .key = "loader_starts",
    .title = "processes of a data loader that start again and again",
    .thresholds = {{"loader_starts-count", "", 3, "times that a run starts processes of the loader anew, at least"},
                   {"loader_starts-share", "%", 10, "what they wait beyond others, of the program's loop, at least"}},
    .is_general = true, // F6 counts the same time, where steps always wait
    .find = find,
};
