// SPDX-License-Identifier: Apache-2.0
// Models over batch sizes, repetitions, variants and level sets, into one file. One thread; it drains between
// observations, so that the collector does not disturb a measurement on a machine with few cores.
#include "experiment/model_experiment.h"

#include "base/debug.h"
#include "base/memory.h"
#include "collect/collect.h"
#include "correlate/correlate.h"
#include "experiment/absent_levels.h"
#include "experiment/gpus.h"
#include "experiment/lane.h"
#include "experiment/matrix.h"
#include "experiment/model_experiment_private.h"
#include "experiment/progress.h"
#include "experiment/record.h"
#include "experiment/software.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMIT_EVERY_S 1.0

// A lane is a variant at a level set: number variant * set_count + set. Its run at a batch size is number batch *
// lane_count + lane, and has that number, from 1, as its id.
struct experiment {
  const struct profile_options *options;
  struct profile_result *result;
  struct store *store;
  size_t lane_count;
  struct lane *lanes;
  struct store_run *runs; // run_id 0: not begun
  struct progress progress;
  double committed_s;
  unsigned next_look; // with a precision: counted observations at which latencies are looked at again
  struct model_windows windows[PROFILE_VARIANTS_MAXIMUM]; // of variants
  struct lane_watcher watcher;
  bool has_measured, has_committed;
};

struct span_of_lanes { // what is measured at the same time: all lanes, or those of one variant
  size_t first, count;
};

static size_t variant_of(const struct experiment *experiment, size_t lane)
{
  return lane / experiment->options->set_count;
}

static struct level_set levels_of(const struct experiment *experiment, size_t lane)
{
  return experiment->options->sets[lane % experiment->options->set_count];
}

static struct store_run *run_of(struct experiment *experiment, size_t lane, size_t batch)
{
  return &experiment->runs[batch * experiment->lane_count + lane];
}

static enum status blame(const struct experiment *experiment, size_t lane, enum status status, struct error *err)
{
  const struct profile_options *options = experiment->options;
  return variant_blame(options->variants, options->variant_count, variant_of(experiment, lane), status, err);
}

static enum status start_lane(struct experiment *experiment, size_t number, struct error *err)
{
  const struct profile_options *options = experiment->options;
  const struct profile_variant *variant = &options->variants[variant_of(experiment, number)];
  struct lane *lane = &experiment->lanes[number];
  struct runner_options runner = options->runner;
  runner.predictor = variant->predictor;
  runner.library = variant->library;
  struct level_set levels = levels_of(experiment, number);
  bool reaches_deep = level_set_deepest(levels) > XSP_LEVEL_LAYER;
  XSP_TRY(lane_start(lane, &runner, levels, reaches_deep ? options->tracers : NULL, err));
  experiment->result->found[variant_of(experiment, number)] = lane->runner.found; // the last set's: its layers are on
  return STATUS_OK;
}

// One after the other: two frameworks that load at once only make each other slow.
static enum status start_lanes(struct experiment *experiment, struct span_of_lanes lanes, struct error *err)
{
  for (size_t lane = lanes.first; lane < lanes.first + lanes.count; lane++)
    XSP_TRY(blame(experiment, lane, start_lane(experiment, lane, err), err));
  return STATUS_OK;
}

// ---- rows other than runs and spans -----------------------------------------------------------------------------------
static enum status describe_device(const struct profile_options *options, const struct profile_found *found,
                                   struct arena *arena, struct store_system_value *values, size_t *count,
                                   struct error *err)
{
  struct gpus gpus = {0};
  if (found->device[0] != 0)
    values[(*count)++] = (struct store_system_value){.key = "device", .text = found->device};
  if (found->device_class == PREDICTOR_ON_CUDA)
    XSP_TRY(gpus_read(arena, &gpus, err));
  if (gpus.model != NULL)
    values[(*count)++] = (struct store_system_value){.key = "gpu", .text = gpus.model};
  if (found->cudnn_version != 0)
    values[(*count)++] = system_number("cudnn_version", (double)found->cudnn_version);
  bool is_on_cpu = found->device_class == PREDICTOR_ON_CPU || found->device_class == PREDICTOR_ON_UNKNOWN;
  if (options->peaks != NULL && is_on_cpu) // a wrong roof is worse than none
    *count += peaks_describe(options->peaks, values + *count);
  return STATUS_OK;
}

enum status model_experiment_add(struct store *store, const struct profile_options *options, size_t variant,
                                 int64_t experiment_id, const struct profile_found *found, struct error *err)
{
  struct arena arena = {0};
  struct store_system_value values[6 + PEAKS_VALUES + SOFTWARE_VALUES] = {
      {.key = "framework_library", .text = found->library}};
  size_t count = 1;
  if (options->runner.threads != 0)
    values[count++] = system_number("threads", options->runner.threads);
  if (options->runner.pin_algorithms)
    values[count++] =
        (struct store_system_value){.key = "pinned_algorithms", .text = variant_pinned_by(&options->variants[variant])};
  count += software_describe(options->runner.isolation, found->library, &arena, values + count);
  enum status status = describe_device(options, found, &arena, values, &count, err);
  struct store_experiment row = {
      .experiment_id = experiment_id,
      .name = options->name,
      .workload = options->runner.model_path,
      .framework = found->framework,
      .framework_version = found->framework_version,
      .command = options->command,
  };
  if (status == STATUS_OK)
    status = record_experiment(store, &row, values, count, err);
  arena_done(&arena);
  XSP_TRY(status);
  return store_add_workload(store, row.experiment_id, options->workload, options->workload_count, err);
}

static enum status note_run(struct store *store, int64_t run_id, const struct profile_found *found, struct error *err)
{
  XSP_TRY(store_add_note(store, run_id, "layer_source", found->layer_source, err));
  return found->note[0] == 0 ? STATUS_OK : store_add_note(store, run_id, "framework", found->note, err);
}

// ---- the source of the matrix ----------------------------------------------------------------------------------------
// A run's row appears when its measurement begins: an interrupted experiment has no empty runs.
static enum status begin(void *context, size_t lane, size_t batch, struct error *err)
{
  struct experiment *experiment = context;
  struct store_run *run = run_of(experiment, lane, batch);
  *run = (struct store_run){.run_id = run - experiment->runs + 1,
                            .experiment_id = experiment_id_of(variant_of(experiment, lane)),
                            .levels = levels_of(experiment, lane),
                            .batch_size = experiment->options->batches[batch],
                            .epoch_is_unix = true,
                            .own_pct = NAN};
  DEBUG(experiment, "run %lld: lane %zu, batch size %lld, level mask %#x", (long long)run->run_id, lane,
        (long long)run->batch_size, run->levels.mask);
  XSP_TRY(store_add_run(experiment->store, run, err));
  XSP_TRY(blame(experiment, lane, runner_prepare(&experiment->lanes[lane].runner, run->batch_size, err), err));
  experiment->next_look = 0;
  return lane_begin(&experiment->lanes[lane], experiment->store, run, err);
}

static enum status commit(struct experiment *experiment, struct error *err)
{
  experiment->committed_s = progress_now_s();
  for (size_t i = 0; i < experiment->lane_count; i++) // every lane gets its rings' space back
    if (experiment->lanes[i].session != NULL)
      XSP_TRY(collect_commit(experiment->lanes[i].session, experiment->store, err));
  experiment->has_committed = true;
  return STATUS_OK;
}

static unsigned repetitions(const struct profile_options *options) // at most
{
  return options->warmups + (options->precision_pct > 0 ? options->runs_most : options->runs);
}

// Layers are complete before anybody gets them.
static bool hand_on(void *context, struct store *store, int64_t run_id)
{
  struct experiment *experiment = context;
  const struct lane_watcher *watcher = &experiment->options->watcher;
  size_t variant = variant_of(experiment, (size_t)(run_id - 1) % experiment->lane_count);
  return model_spans_tag_windows(&experiment->windows[variant], store, run_id, NULL) == STATUS_OK &&
         watcher->hand_on(watcher->context, store, run_id);
}

static enum status observe(void *context, size_t lane, size_t batch, unsigned repetition, struct error *err)
{
  struct experiment *experiment = context;
  const struct profile_options *options = experiment->options;
  struct store_run *run = run_of(experiment, lane, batch);
  enum runner_inference kind = repetition < options->warmups ? INFERENCE_WARMUP : INFERENCE_COUNTED;
  if (repetition + 1 == repetitions(options))
    experiment->lanes[lane].handed_on_s = 0; // now, since the rest of the run goes at the end of the experiment
  enum status status = lane_hand_on(&experiment->lanes[lane], experiment->store, run, &experiment->watcher, err);
  experiment->has_committed |= experiment->lanes[lane].handed_on_s > 0;
  if (status == STATUS_OK)
    status = lane_observe(&experiment->lanes[lane], experiment->store, run, kind, err);
  XSP_TRY(blame(experiment, lane, status, err));
  experiment->has_measured = true;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  progress_step(&experiment->progress,
                options->variant_count > 1 ? options->variants[variant_of(experiment, lane)].predictor : NULL,
                run->batch_size, levels);
  bool is_due = progress_now_s() - experiment->committed_s >= COMMIT_EVERY_S;
  return is_due ? blame(experiment, lane, commit(experiment, err), err) : STATUS_OK;
}

static enum status end(void *context, size_t lane, size_t batch, struct error *err)
{
  struct experiment *experiment = context;
  struct store_run *run = run_of(experiment, lane, batch);
  XSP_TRY(lane_end(&experiment->lanes[lane], err));
  return blame(experiment, lane, lane_flush(&experiment->lanes[lane], experiment->store, run, err), err);
}

static bool is_over(const void *context)
{
  const struct experiment *experiment = context;
  return *experiment->options->interrupted != 0;
}

static enum status is_enough(void *context, size_t batch, unsigned repetition, bool *ret_is_enough, struct error *err)
{
  struct experiment *experiment = context;
  const struct profile_options *options = experiment->options;
  unsigned counted = repetition + 1 > options->warmups ? repetition + 1 - options->warmups : 0;
  if (options->precision_pct <= 0 || counted < options->runs || counted < experiment->next_look)
    return STATUS_OK;
  experiment->next_look = model_spans_next_look(counted);
  XSP_TRY(commit(experiment, err));
  *ret_is_enough = true;
  for (size_t lane = 0; lane < experiment->lane_count && *ret_is_enough; lane += options->set_count) {
    double reach_pct = 0;
    unsigned count;
    if (experiment->lanes[lane].session != NULL)
      XSP_TRY(model_spans_reach(experiment->store, run_of(experiment, lane, batch)->run_id, &reach_pct, &count, err));
    *ret_is_enough = reach_pct <= options->precision_pct;
  }
  return STATUS_OK;
}

static const struct matrix_source source = {begin, observe, end, is_over, is_enough};

// Ends the lanes. Messages of their tracers become notes of their first run.
static enum status end_lanes(struct experiment *experiment, struct span_of_lanes lanes, size_t batches_begun,
                             struct error *err)
{
  for (size_t i = lanes.first; i < lanes.first + lanes.count; i++)
    runner_close(&experiment->lanes[i].runner);
  for (size_t i = lanes.first; i < lanes.first + lanes.count; i++) {
    struct lane *lane = &experiment->lanes[i];
    XSP_TRY(lane_finish(lane, experiment->store, run_of(experiment, i, batches_begun - 1),
                        run_of(experiment, i, 0)->run_id, err));
    experiment->has_committed = true;
    lane_close(lane);
  }
  return STATUS_OK;
}

static enum status measure(struct experiment *experiment, struct span_of_lanes lanes, struct error *err)
{
  const struct profile_options *options = experiment->options;
  XSP_TRY(start_lanes(experiment, lanes, err));
  if (*options->interrupted)
    return STATUS_OK;
  if (experiment->store == NULL) {
    XSP_TRY(store_create(options->output_path, options->force, &experiment->store, err));
    store_warn_of_leftover(experiment->store, options->warning);
  }
  for (size_t lane = lanes.first; lane < lanes.first + lanes.count; lane += options->set_count) {
    size_t variant = variant_of(experiment, lane);
    model_spans_read_windows(&experiment->windows[variant], predictor_find(options->variants[variant].predictor),
                             options->runner.model_path);
    XSP_TRY(model_experiment_add(experiment->store, options, variant, experiment_id_of(variant),
                                 &experiment->result->found[variant], err));
  }
  if (experiment->progress.started_s == 0)
    experiment->progress.started_s = experiment->committed_s = progress_now_s();
  size_t batches_begun = 0;
  const struct matrix matrix = {lanes.first, lanes.count, options->batch_count, repetitions(options)};
  XSP_TRY(matrix_measure(&matrix, &source, experiment, &batches_begun, err));
  return end_lanes(experiment, lanes, batches_begun, err);
}

static enum status note_interruption(struct store *store, const struct profile_result *result, struct error *err)
{
  char text[128];
  snprintf(text, sizeof text, "the user ended the experiment after %u of %u observations, warm-ups among them",
           result->observations, result->planned);
  return store_add_note(store, 0, "interrupted", text, err);
}

static enum status note_precision(struct store *store, int64_t run_id, struct profile_result *result, struct error *err)
{
  char text[128];
  unsigned count;
  double reach_pct;
  XSP_TRY(model_spans_reach(store, run_id, &reach_pct, &count, err));
  result->reach_pct = model_spans_wider(result->reach_pct, reach_pct);
  result->runs_least = result->runs_most == 0 || count < result->runs_least ? count : result->runs_least;
  result->runs_most = count > result->runs_most ? count : result->runs_most;
  if (isnan(reach_pct))
    snprintf(text, sizeof text, "%u runs; too few to know how precise the latency is", count);
  else
    snprintf(text, sizeof text, "%u runs; the latency is known within %.3g %% (95 %%)", count, reach_pct);
  return store_add_note(store, run_id, "precision", text, err);
}

// What needs all spans of a run.
static enum status finish_runs(struct experiment *experiment, struct error *err)
{
  const struct profile_options *options = experiment->options;
  XSP_TRY(store_commit(experiment->store, err));
  for (size_t i = 0; i < options->batch_count * experiment->lane_count; i++) {
    struct store_run *run = &experiment->runs[i];
    size_t variant = variant_of(experiment, i % experiment->lane_count);
    if (run->run_id == 0)
      continue;
    XSP_TRY(model_spans_own_share(experiment->store, run, err));
    if (options->precision_pct > 0 && i % options->set_count == 0)
      XSP_TRY(note_precision(experiment->store, run->run_id, experiment->result, err));
    XSP_TRY(store_add_run(experiment->store, run, err));
    if (options->variant_count > 1)
      XSP_TRY(note_run(experiment->store, run->run_id, &experiment->result->found[variant], err));
  }
  return STATUS_OK;
}

static enum status measure_all(struct experiment *experiment, struct error *err)
{
  const struct profile_options *options = experiment->options;
  struct profile_result *result = experiment->result;
  struct disturbance before, after;
  disturbance_read(&before);
  size_t together = options->sequential ? options->set_count : experiment->lane_count;
  for (size_t first = 0; first < experiment->lane_count; first += together)
    if (first == 0 || !*options->interrupted)
      XSP_TRY(measure(experiment, (struct span_of_lanes){first, together}, err));
  if (*options->interrupted && !experiment->has_measured) {
    result->was_interrupted = true;
    return error_set(err, STATUS_SYSTEM, "interrupted", options->runner.model_path, NULL, "nothing was measured yet");
  }
  disturbance_read(&after);
  int64_t cold_run_id = (int64_t)(experiment->lane_count * options->batch_count) + 1;
  if (options->cold > 0)
    XSP_TRY(cold_measure(options, experiment->store, cold_run_id, &experiment->progress, err));
  result->seconds = progress_now_s() - experiment->progress.started_s;
  result->was_interrupted = *options->interrupted != 0;
  result->observations = experiment->progress.done;
  result->planned = experiment->progress.total;
  XSP_TRY(finish_runs(experiment, err));
  XSP_TRY(model_spans_tag_all(experiment->windows, experiment->store, err));
  if (options->variant_count == 1)
    XSP_TRY(note_run(experiment->store, 0, &result->found[0], err));
  if (options->runner.call_paths != NULL)
    XSP_TRY(store_add_note(experiment->store, 0, "call_paths", options->runner.call_paths, err));
  if (result->was_interrupted)
    XSP_TRY(note_interruption(experiment->store, result, err));
  XSP_TRY(correlate_store(experiment->store, err));
  XSP_TRY(absent_levels_say(experiment->store, options->warning, err));
  bool is_known;
  XSP_TRY(noise_judge(experiment->store, &options->sets[0], &before, &after, &result->noise, &is_known, err));
  XSP_TRY(noise_record(experiment->store, &result->noise, err));
  return store_finish(experiment->store, err);
}

enum status experiment_profile(const struct profile_options *options, struct profile_result *ret_result,
                               struct error *err)
{
  *ret_result = (struct profile_result){0};
  struct experiment experiment = {.options = options,
                                  .result = ret_result,
                                  .watcher = {options->watcher.hand_on == NULL ? NULL : hand_on, &experiment}};
  experiment.lane_count = options->variant_count * options->set_count;
  experiment.lanes = memory_new(experiment.lane_count, sizeof *experiment.lanes);
  experiment.runs = memory_new(experiment.lane_count * options->batch_count, sizeof *experiment.runs);
  experiment.progress = (struct progress){
      .name = options->name,
      .unit = "observation",
      .show = options->progress,
      .total = (unsigned)(options->batch_count * experiment.lane_count * repetitions(options) + cold_starts(options)),
  };
  enum status status = measure_all(&experiment, err);
  for (size_t i = 0; i < experiment.lane_count; i++)
    lane_close(&experiment.lanes[i]);
  if (status == STATUS_OK)
    ret_result->store = experiment.store;
  else
    record_give_up(experiment.store, experiment.has_measured, experiment.has_committed, options->warning);
  for (size_t i = 0; i < options->variant_count; i++)
    model_spans_windows_done(&experiment.windows[i]);
  free(experiment.lanes);
  free(experiment.runs);
  return status;
}
