// SPDX-License-Identifier: Apache-2.0
// F59, starts of a loader: each epoch starts the loader's processes anew, and waits for their first batch.
#include "analyze/causes/time_parts.h"
#include "analyze/findings/input_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include "base/saturate.h"

#include <math.h>

struct starts {
  bool *at;             // of the set's observations: a process makes its first batch in it
  size_t processes, of; // that load; observations in which they start
};

// The first batch of each process that runs no model: `first_ns` by process, 0: none.
static enum status load_first(struct findings *findings, const struct view_run *run, struct arena *arena,
                              int64_t **ret_first_ns, size_t *ret_count, struct error *err)
{
  struct store *store = findings->question->view->store;
  const uint32_t columns =
      STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_START_NS);
  struct map process_of SCOPED(map_done) = {0};
  struct store_spans spans;
  uint32_t input;
  XSP_TRY(run_processes_load(store, run->run->run_id, arena, &process_of, ret_count, err));
  XSP_TRY(store_load_spans(store, run->run->run_id, columns, arena, &spans, err));
  int64_t *first_ns = arena_alloc_array(arena, *ret_count + 1, sizeof *first_ns);
  bool *runs_models = arena_alloc_array(arena, *ret_count + 1, sizeof *runs_models);
  bool has_input = store_find_string(store, "input", 5, &input);
  for (size_t i = 0; i < spans.count && has_input; i++) {
    const uint64_t *process = map_find(&process_of, map_number(spans.track_id[i]));
    if (process == NULL)
      continue;
    runs_models[*process] |= spans.level[i] == XSP_LEVEL_MODEL;
    if (spans.category[i] == input && (first_ns[*process] == 0 || spans.start_ns[i] < first_ns[*process]))
      first_ns[*process] = spans.start_ns[i];
  }
  for (size_t i = 0; i < *ret_count; i++)
    first_ns[i] = runs_models[i] ? 0 : first_ns[i];
  *ret_first_ns = first_ns;
  return STATUS_OK;
}

// `first`: of the run's observations in the set's.
static enum status add_run(struct findings *findings, const struct view_run *run, size_t *first, struct starts *starts,
                           struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  int64_t *first_ns;
  size_t count;
  XSP_TRY(load_first(findings, run, &arena, &first_ns, &count, err));
  for (size_t i = 0; i < count; i++)
    starts->processes += first_ns[i] != 0;
  for (size_t k = 0; k < run->observation_count; k++) {
    const struct store_observation *observation = &run->observations[k];
    if (observation->warmup)
      continue;
    for (size_t i = 0; i < count; i++)
      starts->at[*first] |= first_ns[i] > observation->start_ns &&
                            first_ns[i] <= saturate_add(observation->start_ns, observation->duration_ns);
    starts->of += starts->at[(*first)++];
  }
  return STATUS_OK;
}

// What the observations wait in which processes start, beyond the median of the others; the first start has to be.
static double waiting_ms(struct findings *findings, const struct time_parts *parts, const struct starts *starts)
{
  size_t count = findings->set->observation_count, others = 0;
  double *rising = arena_alloc_array(findings->question->scratch, count + 1, sizeof *rising), sum_ms = 0;
  bool is_first = true;
  for (size_t i = 0; i < count; i++)
    if (!starts->at[i])
      rising[others++] = parts->parts[TIME_LOADER][i] + parts->parts[TIME_REST][i];
  findings_sort(rising, others);
  double usual_ms = findings_quantile(rising, others, 0.5);
  for (size_t i = 0; i < count; i++) {
    if (starts->at[i] && !is_first)
      sum_ms += fmax(parts->parts[TIME_LOADER][i] + parts->parts[TIME_REST][i] - usual_ms, 0);
    is_first &= !starts->at[i];
  }
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
      "start, beyond the median of the others; without the first start";
  finding->title = arena_format(findings->question->arena,
                                "the data loader starts its processes anew, %zu in all, in %zu of %zu observations",
                                starts->processes, starts->of, findings->set->observation_count);
  finding->advice =
      "keep them: persistent_workers=True, and one loader for all epochs; or no processes (num_workers=0) "
      "where batches cost little";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "processes", (double)starts->processes);
  finding_number(finding, "starts", (double)starts->of);
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
  if ((double)starts.of < findings_threshold(findings, "loader_starts-count"))
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
    .thresholds = {{"loader_starts-count", "", 3, "observations in which processes of the loader start, at least"},
                   {"loader_starts-share", "%", 10, "what they wait beyond others, of the program's loop, at least"}},
    .is_general = true, // F6 counts the same time, where steps always wait
    .find = find,
};
