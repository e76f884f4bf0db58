// SPDX-License-Identifier: Apache-2.0
// Runs the matrix (batch size × repetition × level set) and writes the .xsp file. One thread; the collector's work is
// done between observations, so that it does not disturb what is measured on a machine with few cores.
#include "programs/xsp/profile_experiment.h"

#include "analyze/analyze.h"
#include "collect/collect.h"
#include "correlate/correlate.h"
#include "programs/xsp/profile_windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COMMIT_EVERY_S 1.0
#define SYSTEM_VALUES_MAXIMUM 32

struct lane { // one level set
  struct runner runner;
  struct collect_session *session;
  struct collect_counts counted; // totals already assigned to runs
};

struct experiment {
  const struct profile_options *options;
  struct profile_result *result;
  struct store *store;
  struct lane lanes[PROFILE_SETS_MAXIMUM];
  struct store_run runs[PROFILE_SETS_MAXIMUM * PROFILE_BATCHES_MAXIMUM];
  unsigned done, total; // observations, for the progress line
  double started_s, committed_s, shown_s;
  size_t batches_begun;
  bool has_measured;
};

static double now_s(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct store_run *run_of(struct experiment *experiment, size_t set, size_t batch)
{
  return &experiment->runs[batch * experiment->options->set_count + set];
}

static void show_progress(struct experiment *experiment, int64_t batch, const char *levels)
{
  const struct profile_options *options = experiment->options;
  double now = now_s();
  bool is_terminal = isatty(STDERR_FILENO) == 1;
  if (options->quiet ||
      (now - experiment->shown_s < (is_terminal ? 0.2 : 5.0) && experiment->done != experiment->total))
    return;
  experiment->shown_s = now;
  double each = experiment->done > 0 ? (now - experiment->started_s) / experiment->done : NAN;
  double left = each * (experiment->total - experiment->done);
  fprintf(stderr, "%s%s: batch %" PRId64 ", %s, observation %u of %u", is_terminal ? "\r\033[K" : "", options->name,
          batch, levels, experiment->done, experiment->total);
  if (isfinite(left))
    fprintf(stderr, ", about %.0f s left", left);
  fputs(is_terminal && experiment->done != experiment->total ? "" : "\n", stderr);
}

static enum status describe(struct experiment *experiment, struct error *err)
{
  const struct profile_options *options = experiment->options;
  const struct runner *runner = &experiment->lanes[0].runner;
  struct arena arena = {0};
  struct store_system_value values[SYSTEM_VALUES_MAXIMUM];
  size_t count = system_describe(&arena, values, SYSTEM_VALUES_MAXIMUM - 2 - PEAKS_VALUES);
  values[count++] = (struct store_system_value){.key = "framework_library", .text = runner->library};
  if (options->runner.threads != 0)
    values[count++] =
        (struct store_system_value){.key = "threads", .number = options->runner.threads, .is_number = true};
  if (options->peaks != NULL)
    count += peaks_describe(options->peaks, values + count);
  int64_t system_id = 0;
  enum status status = store_add_system(experiment->store, values, count, &system_id, err);
  struct timespec created;
  clock_gettime(CLOCK_REALTIME, &created);
  struct store_experiment row = {
      .experiment_id = 1,
      .name = options->name,
      .workload = options->runner.model_path,
      .framework = runner->framework,
      .framework_version = runner->framework_version,
      .command = options->command,
      .created_ns = (int64_t)created.tv_sec * 1000000000 + created.tv_nsec,
      .system_id = system_id,
      .xsp_version = XSP_VERSION,
  };
  if (status == STATUS_OK)
    status = store_add_experiment(experiment->store, &row, err);
  arena_done(&arena);
  return status;
}

// The rows of a batch size's runs appear when its measurement begins: an interrupted experiment has no empty runs.
static enum status add_runs(struct experiment *experiment, size_t batch, struct error *err)
{
  const struct profile_options *options = experiment->options;
  for (size_t set = 0; set < options->set_count; set++) {
    struct store_run *run = run_of(experiment, set, batch);
    *run = (struct store_run){.run_id = (int64_t)(batch * options->set_count + set) + 1,
                              .experiment_id = 1,
                              .levels = options->sets[set],
                              .batch_size = options->batches[batch],
                              .epoch_is_unix = true,
                              .own_pct = NAN};
    XSP_TRY(store_add_run(experiment->store, run, err));
  }
  experiment->batches_begun = batch + 1;
  return STATUS_OK;
}

static enum status start_lanes(struct experiment *experiment, struct error *err)
{
  const struct profile_options *options = experiment->options;
  for (size_t i = 0; i < options->set_count; i++) {
    struct lane *lane = &experiment->lanes[i];
    struct collect_options session = {.level_mask = options->sets[i].mask};
    XSP_TRY(collect_create(&session, &lane->session, err));
    bool reaches_deep = level_set_deepest(options->sets[i]) > XSP_LEVEL_LAYER;
    XSP_TRY(runner_start(&lane->runner, &options->runner, options->sets[i], collect_directory(lane->session),
                         reaches_deep ? options->tracers : NULL, err));
    // One after the other: two frameworks that load at once only make each other slow.
    XSP_TRY(runner_wait_ready(&lane->runner, err));
  }
  const struct runner *last = &experiment->lanes[options->set_count - 1].runner;
  snprintf(experiment->result->framework, sizeof experiment->result->framework, "%s", last->framework);
  snprintf(experiment->result->framework_version, sizeof experiment->result->framework_version, "%s",
           last->framework_version);
  snprintf(experiment->result->library, sizeof experiment->result->library, "%s", last->library);
  snprintf(experiment->result->layer_source, sizeof experiment->result->layer_source, "%s", last->layer_source);
  snprintf(experiment->result->note, sizeof experiment->result->note, "%s", last->note);
  return STATUS_OK;
}

// What the session lost since the last look belongs to the run that was just drained.
static void count_losses(struct lane *lane, struct store_run *run)
{
  struct collect_counts now;
  collect_counts(lane->session, &now);
  uint64_t lost = (now.dropped + now.lost + now.overwritten) -
                  (lane->counted.dropped + lane->counted.lost + lane->counted.overwritten);
  run->dropped_count += (int64_t)lost;
  run->misused_count += (int64_t)(now.misused - lane->counted.misused);
  lane->counted = now;
}

static enum status observe(struct experiment *experiment, size_t set, size_t batch, bool is_warmup, struct error *err)
{
  struct lane *lane = &experiment->lanes[set];
  struct store_run *run = run_of(experiment, set, batch);
  XSP_TRY(runner_predict(&lane->runner, experiment->options->batches[batch], is_warmup, err));
  XSP_TRY(collect_drain(lane->session, experiment->store, run->run_id, err));
  count_losses(lane, run);
  experiment->has_measured = true;
  experiment->done++;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(experiment->options->sets[set], levels);
  show_progress(experiment, experiment->options->batches[batch], levels);
  if (now_s() - experiment->committed_s < COMMIT_EVERY_S)
    return STATUS_OK;
  experiment->committed_s = now_s();
  for (size_t i = 0; i < experiment->options->set_count; i++) // every lane gets its rings' space back
    XSP_TRY(collect_commit(experiment->lanes[i].session, experiment->store, err));
  return STATUS_OK;
}

// One batch size: every repetition visits every level set, beginning with another one each time, so that a drift of the
// machine's speed falls on all sets alike.
static enum status measure_batch(struct experiment *experiment, size_t batch, struct error *err)
{
  const struct profile_options *options = experiment->options;
  XSP_TRY(add_runs(experiment, batch, err));
  for (size_t set = 0; set < options->set_count; set++)
    XSP_TRY(runner_prepare(&experiment->lanes[set].runner, options->batches[batch], err));
  for (unsigned repetition = 0; repetition < options->warmups + options->runs; repetition++)
    for (size_t i = 0; i < options->set_count; i++) {
      if (*options->interrupted)
        return STATUS_OK;
      size_t set = (i + repetition) % options->set_count;
      XSP_TRY(observe(experiment, set, batch, repetition < options->warmups, err));
    }
  // A framework that holds its layers back until the end of a profile publishes them now, into this batch's runs.
  for (size_t set = 0; set < options->set_count; set++) {
    struct lane *lane = &experiment->lanes[set];
    XSP_TRY(runner_flush(&lane->runner, err));
    XSP_TRY(collect_drain(lane->session, experiment->store, run_of(experiment, set, batch)->run_id, err));
    count_losses(lane, run_of(experiment, set, batch));
  }
  return STATUS_OK;
}

struct observed { // one model span
  int64_t span_id, duration_ns;
  double own_ns; // NaN: not known
  bool is_warmup;
};

static int by_span_id(const void *a, const void *b)
{
  int64_t left = ((const struct observed *)a)->span_id, right = ((const struct observed *)b)->span_id;
  return (left > right) - (left < right);
}

// The run's model spans, with what their tags say.
static enum status load_observed(struct experiment *experiment, int64_t run_id, struct arena *arena,
                                 struct observed **ret_observed, size_t *ret_count, struct error *err)
{
  struct store_spans spans;
  struct store_tag *tags = NULL;
  size_t tag_count = 0, count = 0;
  uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_LEVEL);
  XSP_TRY(store_load_spans(experiment->store, run_id, columns, arena, &spans, err));
  XSP_TRY(store_load_tags(experiment->store, run_id, arena, &tags, &tag_count, err));
  uint32_t warmup_key = 0, own_key = 0;
  store_find_string(experiment->store, "warmup", 6, &warmup_key);
  store_find_string(experiment->store, "own_ns", 6, &own_key);
  struct observed *observed = arena_alloc_array(arena, spans.count + 1, sizeof *observed);
  if (observed == NULL)
    return error_set(err, STATUS_MEMORY, "cannot analyse the run", NULL, NULL, "out of memory");
  for (size_t i = 0; i < spans.count; i++)
    if (spans.level[i] == XSP_LEVEL_MODEL)
      observed[count++] = (struct observed){spans.span_id[i], spans.duration_ns[i], NAN, false};
  qsort(observed, count, sizeof *observed, by_span_id);
  for (size_t i = 0; i < tag_count; i++) {
    if (tags[i].key == 0 || (tags[i].key != warmup_key && tags[i].key != own_key) || tags[i].type != STORE_INT)
      continue;
    struct observed wanted = {.span_id = tags[i].span_id};
    struct observed *found = bsearch(&wanted, observed, count, sizeof *observed, by_span_id);
    if (found != NULL && tags[i].key == warmup_key)
      found->is_warmup = found->is_warmup || tags[i].value.integer != 0;
    else if (found != NULL)
      found->own_ns = (double)tags[i].value.integer;
  }
  *ret_observed = observed;
  *ret_count = count;
  return STATUS_OK;
}

// xsp's own share of a run: what its code inside the counted model spans took, as measured there (tag own_ns). The median
// over observations: the code is timed by the wall clock, and one preemption inside it would else be taken for its cost.
static enum status measure_own_share(struct experiment *experiment, struct store_run *run, struct arena *arena,
                                     struct noise *noise, bool is_model_set, struct error *err)
{
  struct observed *observed = NULL;
  size_t count = 0, counted = 0, own_known = 0;
  XSP_TRY(load_observed(experiment, run->run_id, arena, &observed, &count, err));
  double *latencies = arena_alloc_array(arena, count + 1, sizeof *latencies);
  double *shares = arena_alloc_array(arena, count + 1, sizeof *shares);
  if (latencies == NULL || shares == NULL)
    return error_set(err, STATUS_MEMORY, "cannot analyse the run", NULL, NULL, "out of memory");
  for (size_t i = 0; i < count; i++) {
    if (observed[i].is_warmup)
      continue;
    latencies[counted++] = (double)observed[i].duration_ns;
    if (!isnan(observed[i].own_ns) && observed[i].duration_ns > 0)
      shares[own_known++] = 100 * observed[i].own_ns / (double)observed[i].duration_ns;
  }
  struct statistic median;
  if (own_known > 0 && own_known == counted && statistic_parse("median", &median))
    run->own_pct = statistic_apply(&median, shares, own_known);
  if (is_model_set)
    noise_add_latencies(noise, run->batch_size, latencies, counted);
  return STATUS_OK;
}

static enum status write_notes(struct experiment *experiment, struct error *err)
{
  struct buf text;
  buf_init(&text, 4096);
  noise_explain(&experiment->result->noise, &text);
  enum status status = store_add_note(experiment->store, 0, "noise", text.data != NULL ? text.data : "", err);
  if (status == STATUS_OK)
    status =
        store_add_note(experiment->store, 0, "noise_grade", noise_grade_name(experiment->result->noise.grade), err);
  if (status == STATUS_OK)
    status = store_add_note(experiment->store, 0, "layer_source", experiment->result->layer_source, err);
  if (status == STATUS_OK && experiment->result->note[0] != 0)
    status = store_add_note(experiment->store, 0, "framework", experiment->result->note, err);
  if (status == STATUS_OK && experiment->result->was_interrupted)
    status = store_add_note(experiment->store, 0, "interrupted", "the user ended the experiment early", err);
  for (size_t set = 0; set < experiment->options->set_count && status == STATUS_OK; set++) {
    struct arena arena = {0};
    const char *messages = collect_messages(experiment->lanes[set].session, &arena);
    if (messages != NULL && messages[0] != 0)
      status = store_add_note(experiment->store, (int64_t)set + 1, "tracers", messages, err);
    arena_done(&arena);
  }
  buf_done(&text);
  return status;
}

static enum status finish(struct experiment *experiment, struct error *err)
{
  const struct profile_options *options = experiment->options;
  for (size_t set = 0; set < options->set_count; set++) {
    struct lane *lane = &experiment->lanes[set];
    struct store_run *last = run_of(experiment, set, experiment->batches_begun - 1);
    XSP_TRY(collect_drain_final(lane->session, experiment->store, last->run_id, err));
    count_losses(lane, last);
  }
  XSP_TRY(store_commit(experiment->store, err));
  for (size_t batch = 0; batch < experiment->batches_begun; batch++)
    for (size_t set = 0; set < options->set_count; set++) {
      struct arena arena = {0};
      struct store_run *run = run_of(experiment, set, batch);
      enum status status = measure_own_share(experiment, run, &arena, &experiment->result->noise, set == 0, err);
      if (status == STATUS_OK)
        status = store_add_run(experiment->store, run, err);
      arena_done(&arena);
      XSP_TRY(status);
    }
  return STATUS_OK;
}

static enum status run_experiment(struct experiment *experiment, struct error *err)
{
  const struct profile_options *options = experiment->options;
  struct disturbance before, after;
  noise_start(&experiment->result->noise);
  disturbance_read(&before);
  XSP_TRY(start_lanes(experiment, err));
  if (*options->interrupted) {
    experiment->result->was_interrupted = true;
    return error_set(err, STATUS_SYSTEM, "interrupted", options->runner.model_path, NULL, "nothing was measured yet");
  }
  XSP_TRY(store_create(options->output_path, options->force, &experiment->store, err));
  XSP_TRY(describe(experiment, err));
  experiment->total = (unsigned)(options->batch_count * options->set_count) * (options->runs + options->warmups);
  experiment->started_s = experiment->committed_s = now_s();
  for (size_t batch = 0; batch < options->batch_count && (batch == 0 || !*options->interrupted); batch++)
    XSP_TRY(measure_batch(experiment, batch, err));
  experiment->result->seconds = now_s() - experiment->started_s;
  experiment->result->was_interrupted = *options->interrupted != 0;
  for (size_t set = 0; set < options->set_count; set++)
    runner_close(&experiment->lanes[set].runner);
  disturbance_read(&after);
  XSP_TRY(finish(experiment, err));
  noise_finish(&experiment->result->noise, &before, &after);
  XSP_TRY(write_notes(experiment, err));
  if (strcmp(options->runner.predictor, "onnxruntime") == 0)
    XSP_TRY(profile_windows(experiment->store, options->runner.model_path, err));
  XSP_TRY(correlate_store(experiment->store, err));
  return store_finish(experiment->store, err);
}

enum status profile_experiment(const struct profile_options *options, struct profile_result *ret_result,
                               struct error *err)
{
  *ret_result = (struct profile_result){0};
  struct experiment *experiment = calloc(1, sizeof *experiment);
  if (experiment == NULL)
    return error_set(err, STATUS_MEMORY, "cannot start the experiment", NULL, NULL, "out of memory");
  experiment->options = options;
  experiment->result = ret_result;
  enum status status = run_experiment(experiment, err);
  for (size_t set = 0; set < options->set_count; set++) {
    runner_close(&experiment->lanes[set].runner);
    collect_close(experiment->lanes[set].session, true);
  }
  if (status == STATUS_OK) {
    ret_result->store = experiment->store;
  } else if (experiment->has_measured) {
    if (store_commit(experiment->store, NULL) == STATUS_OK)
      snprintf(ret_result->kept_partial, sizeof ret_result->kept_partial, "%s.partial", store_path(experiment->store));
    store_close(experiment->store);
  } else {
    store_discard(experiment->store);
  }
  free(experiment);
  return status;
}
