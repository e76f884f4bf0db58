// SPDX-License-Identifier: Apache-2.0
// F30, too many threads: far more threads of a process compute, by samples, than there are processors. They take turns, and wait for
// each other at the end of each operator.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_PART 0.1 // of the time that a thread has on average, for it to count

struct computing { // of the process with most threads that compute
  size_t threads;
  double ns; // of these
};

// `ns`: CPU time by track of a process.
static void count_process(const double *ns, const int64_t *process, size_t count, int64_t process_id,
                          struct computing *most)
{
  double sum_ns = 0;
  size_t threads = 0, busy = 0;
  for (size_t i = 0; i < count; i++)
    if (process[i] == process_id && ns[i] > 0) {
      sum_ns += ns[i];
      threads++;
    }
  for (size_t i = 0; i < count; i++)
    busy += process[i] == process_id && ns[i] > 0 && ns[i] >= LEAST_PART * sum_ns / (double)threads;
  if (busy > most->threads)
    *most = (struct computing){busy, sum_ns};
}

static enum status count_run(struct findings *findings, const struct view_run *run, struct computing *most,
                             struct error *err)
{
  struct store *store = findings->question->view->store;
  struct arena arena = {0};
  struct store_samples samples;
  struct store_track *tracks;
  size_t count;
  enum status status = store_load_samples(store, run->run->run_id, &arena, &samples, err);
  if (status == STATUS_OK)
    status = store_tracks(store, run->run->run_id, &arena, &tracks, &count, err);
  if (status == STATUS_OK) {
    double *ns = arena_alloc_array(&arena, count + 1, sizeof *ns);
    int64_t *process = arena_alloc_array(&arena, count + 1, sizeof *process);
    struct map index_of = {0};
    for (size_t i = 0; i < count; i++) {
      process[i] = tracks[i].process_id;
      *map_at(&index_of, map_number((uint64_t)tracks[i].track_id), NULL) = i;
    }
    for (size_t i = 0; i < samples.count; i++) {
      const uint64_t *at = samples.kind[i] == SAMPLE_CPU ? map_find(&index_of, map_number(samples.track_id[i])) : NULL;
      if (at != NULL)
        ns[*at] += (double)samples.duration_ns[i];
    }
    for (size_t i = 0; i < count; i++)
      count_process(ns, process, count, process[i], most);
    map_done(&index_of);
  }
  arena_done(&arena);
  return status;
}

// Where the program asks for so many threads: its last such call, else the line with most time.
static enum status find_place(struct findings *findings, uint32_t *ret_place, struct error *err)
{
  const struct places *places = findings->places;
  struct store *store = findings->question->view->store;
  uint32_t category;
  *ret_place = findings_busiest_place(findings);
  if (!store_find_string(store, "threads", 7, &category))
    return STATUS_OK;
  for (size_t i = 0; i < findings->set->run_count; i++) {
    struct run_columns columns;
    struct arena arena = {0};
    enum status status =
        run_columns_load(store, findings->set->runs[i], STORE_BIT(STORE_CATEGORY), &arena, &columns, err);
    for (size_t row = 0; status == STATUS_OK && row < columns.spans.count; row++)
      if (columns.spans.category[row] == category && places->runs[i].place_of[row] != PLACE_NONE)
        *ret_place = places->runs[i].place_of[row];
    arena_done(&arena);
    XSP_TRY(status);
  }
  return STATUS_OK;
}

static void add(struct findings *findings, const struct computing *most, uint32_t place, double processors)
{
  struct finding *finding = findings_add(findings);
  if (place != PLACE_NONE)
    finding_at_place(findings, finding, place);
  finding->context = "threads";
  finding->time_ms = findings_per_observation_ms(findings, findings->places->total.operators.ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * (1 - processors / (double)most->threads);
  finding->saving_basis = "time of the operators, as if they took turns at no cost";
  finding->title = arena_format(findings->question->arena, "%zu threads of the program compute on %.0f processors",
                                most->threads, processors);
  finding->advice = "as many threads as processors that the program may use: torch.set_num_threads(), OMP_NUM_THREADS, "
                    "intra_op_num_threads; in containers libraries count the host's processors";
  finding->threshold = findings_threshold_of(findings, "threads-times");
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "threads", (double)most->threads);
  finding_number(finding, "processors", processors);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct computing most = {0};
  double processors;
  uint32_t place;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(findings_system(findings, "cpus_allowed", &processors, err));
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(count_run(findings, findings->set->runs[i], &most, err));
  if (isnan(processors) || most.threads == 0)
    return findings_lack(findings, err, "it has no samples (xsp run -t cpu), or no number of processors");
  XSP_TRY(find_place(findings, &place, err));
  if (places->total.operators.ns > 0 &&
      (double)most.threads > findings_threshold(findings, "threads-times") * processors)
    add(findings, &most, place, processors);
  return STATUS_OK;
}

const struct finding_rule finding_f30 = {
    .id = "F30",
    .key = "threads",
    .title = "more threads than processors",
    .thresholds = {{"threads-times", "", 2, "threads that compute, in times of the processors, more than"}},
    .find = find,
};
