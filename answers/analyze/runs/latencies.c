// SPDX-License-Identifier: Apache-2.0
// Latencies of experiments with their errors, so that a later one can be compared without its observations. Called by the room history.
#include "analyze/experiments.h"
#include "analyze/runs/samples.h"
#include "base/vector.h"

static const struct analysis analysis_latencies = {.id = "latencies", .title = "latencies"};

struct latencies {
  const struct compare_request *request;
  struct arena *arena;
  VECTOR(struct latency_point) points;
};

static void add_point(struct latencies *latencies, struct question *question, const struct batch_point *batch)
{
  struct sample sample = analyze_sample_of_set(question, batch->set, 1);
  double first_ms, last_ms;
  *vector_add(&latencies->points) = (struct latency_point){
      .store = question->view->store,
      .experiment_id = question->view->experiment->experiment_id,
      .batch_size = batch->batch_size,
      .levels = arena_format(latencies->arena, "%s", batch->set->levels_text),
      .observations = batch->set->observation_count,
      .throughput_per_s = batch->throughput_per_s,
      .latency_ms = estimate_of_sample(&sample),
      .has_drift = analyze_sample_has_drift(&sample, sample.latency * latencies->request->same_within_pct / 100,
                                            &first_ms, &last_ms),
  };
}

static enum status add_experiment(struct latencies *latencies, const struct experiment_runs *of, struct arena *scratch,
                                  struct error *err)
{
  struct view view;
  struct question question;
  struct batches batches;
  const struct view_choice choice = {0};
  XSP_TRY(view_load(of, &choice, scratch, &view, err));
  XSP_TRY(question_start(&question, &analysis_latencies, &latencies->request->analyze, &view, scratch, scratch, err));
  XSP_TRY(question_batches(&question, &batches, err));
  for (size_t i = 0; i < batches.count; i++)
    if (batches.points[i].latency.value > 0)
      add_point(latencies, &question, &batches.points[i]);
  return STATUS_OK;
}

enum status analyze_latencies(struct store *const *stores, size_t store_count, const struct compare_request *request,
                              struct arena *arena, struct latency_point **ret_points, size_t *ret_count,
                              struct error *err)
{
  struct latencies latencies = {.request = request, .arena = arena};
  struct experiment_runs *experiments;
  size_t count;
  enum status status = experiments_list(stores, store_count, arena, &experiments, &count, NULL, err);
  for (size_t i = 0; status == STATUS_OK && i < count; i++) {
    struct arena scratch SCOPED(arena_done) = {0};
    status = add_experiment(&latencies, &experiments[i], &scratch, err);
  }
  *ret_count = latencies.points.count;
  *ret_points = arena_alloc_array(arena, *ret_count + 1, sizeof **ret_points);
  if (*ret_count > 0)
    memcpy(*ret_points, latencies.points.items, *ret_count * sizeof **ret_points);
  vector_done(&latencies.points);
  return status;
}
