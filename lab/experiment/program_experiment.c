// SPDX-License-Identifier: Apache-2.0
// Programs over level sets and repetitions, into one file. Every execution is a run row of its own; analyses pool runs
// of one level set. One thread; lab/launch/execute.c runs the program.
#include "experiment/program_experiment.h"

#include "base/debug.h"
#include "correlate/correlate.h"
#include "experiment/absent_levels.h"
#include "experiment/matrix.h"
#include "experiment/plan.h"
#include "experiment/program_experiment_private.h"
#include "experiment/record.h"
#include "launch/launch.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct experiment {
  const struct run_experiment_options *options;
  struct run_experiment_result *result;
  struct store *store;
  struct correlate_fold *fold; // NULL: spans are stored
  struct streams streams;
  struct level_set sets[RUN_SETS_MAXIMUM];
  size_t set_count;
  unsigned executions; // begun
  unsigned repetition; // of the set that is executed; warm-ups have 0
  struct progress progress;
  char name[NAME_MAX + 1]; // of the program
  int64_t last_run_id;
  struct disturbance before;  // of the first execution
  struct run_spans published; // by the last execution
  bool is_over;               // the program failed, or was interrupted: no more executions
};

#define MESSAGE(experiment, ...)                                                                                       \
  do {                                                                                                                 \
    if ((experiment)->options->message != NULL)                                                                        \
      (experiment)->options->message("xsp: " __VA_ARGS__);                                                             \
  } while (0)

static enum status describe(struct experiment *experiment, struct error *err)
{
  const struct run_experiment_options *options = experiment->options;
  struct buf workload SCOPED(buf_done) = {0};
  for (char *const *word = options->run.command; *word != NULL; word++)
    buf_format(&workload, "%s%s", word == options->run.command ? "" : " ", *word);
  struct store_experiment row = {
      .experiment_id = 1, .name = experiment->name, .workload = workload.data, .command = options->command_line};
  struct buf pinned SCOPED(buf_done) = {0};
  pin_variables_explain(&pinned);
  const struct store_system_value value = {.key = "pinned_algorithms", .text = pinned.data};
  if (options->run.pin_algorithms)
    MESSAGE(experiment, "algorithms are pinned of %s; other frameworks have no variable for it", pinned.data);
  return record_experiment(experiment->store, &row, &value, options->run.pin_algorithms, err);
}

// ---- one execution ---------------------------------------------------------------------------------------------------
// CPU time of xsp as a share of the program's time. The cost of tracers inside the program is not in it: that
// is the difference between level sets.
static double own_pct(const struct launch_result *ran)
{
  int64_t duration_ns = ran->end_ns - ran->start_ns;
  return duration_ns > 0 ? 100 * (double)ran->own_ns / (double)duration_ns : NAN;
}

static enum status note_int(struct store *store, int64_t run_id, const char *key, int64_t value, struct error *err)
{
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  return store_add_note(store, run_id, key, text, err);
}

// The program's own span is the only one in the file.
static enum status note_folded(struct experiment *experiment, struct error *err)
{
  if (experiment->fold == NULL)
    return STATUS_OK;
  struct correlate_folded folded = correlate_fold_counts(experiment->fold);
  char text[256] = "";
  size_t length = 0;
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++) {
    if (folded.spans[level] == 0)
      continue;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRId64 " %s", length > 0 ? ", " : "",
                               folded.spans[level], level_name(level));
    experiment->published.level_mask |= XSP_LEVEL_MASK(level);
  }
  snprintf(text + length, sizeof text - length, "%s", length > 0 ? "" : "none");
  return store_add_note(experiment->store, 0, "folded", text, err);
}

static enum status write_run(struct experiment *experiment, struct store_run *run, const struct launch_result *ran,
                             struct error *err)
{
  struct store *store = experiment->store;
  run->own_pct = own_pct(ran);
  XSP_TRY(store_add_run(store, run, err));
  if (experiment->options->run.process_id == 0)
    XSP_TRY(note_int(store, run->run_id, "exit_status", launch_exit_status(ran->wait_status), err));
  XSP_TRY(note_int(store, run->run_id, "processes", ran->processes, err));
  if (experiment->options->run.call_paths != NULL)
    XSP_TRY(store_add_note(store, run->run_id, "call_paths", experiment->options->run.call_paths, err));
  if (ran->left_running > 0)
    XSP_TRY(note_int(store, run->run_id, "left_running", ran->left_running, err));
  if (ran->messages[0] != 0)
    XSP_TRY(store_add_note(store, run->run_id, "tracers", ran->messages, err));
  return store_commit(store, err);
}

// A repetition that ends otherwise than the first execution measured something else: it stays, in no statistic.
static enum status leave_failed(struct experiment *experiment, const struct launch_result *ran, struct error *err)
{
  char note[128];
  struct buf last;
  buf_init(&last, BUF_MAXIMUM_DEFAULT);
  streams_last_lines(&experiment->streams, &last);
  progress_clear(&experiment->progress);
  experiment->options->warning(
      "xsp: execution %u ended with status %d, the first with %d: no more are made%s%s", experiment->executions,
      launch_exit_status(ran->wait_status), experiment->result->exit_status,
      experiment->streams.input_is_lost ? "; its stdin was empty, because it could not be read twice" : "",
      last.length > 0 ? "; the last it wrote to stderr:" : "");
  for (char *rest = last.data, *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
    if (rest != NULL || line[0] != 0)
      experiment->options->warning("%s", line);
  buf_done(&last);
  snprintf(note, sizeof note, "execution %u ended with status %d, the first with %d: no more were made",
           experiment->executions, launch_exit_status(ran->wait_status), experiment->result->exit_status);
  experiment->result->exit_status = launch_exit_status(ran->wait_status);
  return store_add_note(experiment->store, 0, "failed", note, err);
}

static bool is_first(const struct experiment *experiment)
{
  return experiment->executions == 1;
}

static enum status record_program(struct experiment *experiment, struct store_run *run, struct launch_result *ret_ran,
                                  struct error *err)
{
  struct launch_options options = experiment->options->run;
  options.levels = run->levels;
  options.repetition = experiment->repetition;
  if (is_first(experiment)) {
    enum status first = launch_execute(&options, experiment->store, run, ret_ran, err);
    streams_first_ended(&experiment->streams);
    return first;
  }
  XSP_TRY(streams_redirect(&experiment->streams, err));
  enum status status = launch_execute(&options, experiment->store, run, ret_ran, err);
  streams_restore(&experiment->streams);
  return status;
}

// A pattern that matches nothing would silently make the whole program the observation.
static enum status miss_steps(struct experiment *experiment, struct level_set levels, struct error *err)
{
  char text[256];
  const char *range = experiment->options->run.model_range;
  if (range == NULL || experiment->published.has_steps || !(levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_MODEL)))
    return STATUS_OK;
  snprintf(text, sizeof text, "no range matched --model-range '%.150s': %s", range,
           experiment->published.level_mask & XSP_LEVEL_MASK(XSP_LEVEL_MODEL)
               ? "the models that the program ran are the observations"
               : "the whole program is the observation");
  MESSAGE(experiment, "%s", text);
  return store_add_note(experiment->store, 0, "model_range", text, err);
}

static unsigned count_planned(const struct experiment *experiment)
{
  return experiment->options->runs * (unsigned)experiment->set_count;
}

// Without --levels, the run has those at which something was published: the others are unknown, and an analysis
// must report that it lacks them, not that a device did nothing. The program is always a level: its duration is a model's.
static uint32_t asked_levels(const struct experiment *experiment)
{
  const struct run_experiment_options *options = experiment->options;
  if (options->sets_are_given || options->set_count > 1)
    return XSP_LEVEL_MASK_ALL;
  return experiment->published.level_mask | XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION) | XSP_LEVEL_MASK(XSP_LEVEL_MODEL);
}

// Whether it counts is known only when it has ended: a first execution that stays the only one is what was asked for.
static enum status execute(struct experiment *experiment, struct level_set levels, bool is_warmup, struct error *err)
{
  struct run_experiment_result *result = experiment->result;
  struct launch_result ran = {0};
  struct store_run run = {
      .run_id = ++experiment->last_run_id, .experiment_id = 1, .levels = levels, .epoch_is_unix = true, .own_pct = NAN};
  experiment->executions++;
  DEBUG(experiment, "run %lld: execution %u at level mask %#x%s", (long long)run.run_id, experiment->executions,
        levels.mask, is_warmup ? ", warm-up" : "");
  XSP_TRY(store_add_run(experiment->store, &run, err));
  enum status status = record_program(experiment, &run, &ran, err);
  if (is_first(experiment)) {
    result->first = ran;
    result->exit_status = launch_exit_status(ran.wait_status);
  }
  XSP_TRY(status);
  XSP_TRY(run_spans_look(experiment->store, run.run_id, ran.span_id, &experiment->published, err));
  XSP_TRY(note_folded(experiment, err));
  run.levels.mask &= asked_levels(experiment);
  XSP_TRY(write_run(experiment, &run, &ran, err));
  char set[LEVEL_SET_TEXT_SIZE];
  level_set_format(levels, set);
  progress_step(&experiment->progress, NULL, 0, set);
  bool has_failed = launch_exit_status(ran.wait_status) != 0;
  result->was_interrupted |= ran.was_interrupted;
  experiment->is_over = has_failed || ran.was_interrupted;
  if (has_failed && !ran.was_interrupted && !is_first(experiment))
    XSP_TRY(leave_failed(experiment, &ran, err));
  if (ran.was_interrupted)
    result->exit_status = launch_exit_status(ran.wait_status);
  if (is_first(experiment))
    XSP_TRY(miss_steps(experiment, levels, err));
  if (is_first(experiment) && has_failed && !ran.was_interrupted && (is_warmup || count_planned(experiment) > 1))
    MESSAGE(experiment, "it ended with status %d: it is not repeated", result->exit_status);
  bool counts = experiment->is_over ? is_first(experiment) : !is_warmup;
  if (counts)
    return STATUS_OK;
  XSP_TRY(run_spans_mark_warmup(experiment->store, run.run_id, ran.span_id, err));
  return store_commit(experiment->store, err);
}

// ---- all of them -----------------------------------------------------------------------------------------------------
static struct level_set deepest(const struct run_experiment_options *options)
{
  struct level_set all = {0};
  for (size_t i = 0; i < options->set_count; i++)
    if (level_set_contains(options->sets[i], all) && !level_set_is_twin(options->sets[i]))
      all = options->sets[i];
  for (size_t i = 0; i < options->set_count && all.mask == 0; i++) // all of them are twins
    all = options->sets[i];
  return all;
}

static enum status plan_by_first(struct experiment *experiment, struct level_set recorded, struct error *err)
{
  struct run_plan plan;
  struct buf text SCOPED(buf_done);
  run_plan_make(recorded, experiment->published.level_mask, &plan);
  experiment->set_count = plan.set_count;
  for (size_t i = 0; i < plan.set_count; i++)
    experiment->sets[i] = plan.sets[i];
  if (experiment->options->serialize)
    experiment->set_count = level_sets_add_serial(experiment->sets, plan.set_count, RUN_SETS_MAXIMUM);
  if (experiment->options->metrics)
    experiment->set_count = level_sets_add_metrics(experiment->sets, experiment->set_count, RUN_SETS_MAXIMUM);
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  run_plan_explain(&plan, &text);
  if (text.length > 0) {
    MESSAGE(experiment, "%s", text.data);
    XSP_TRY(store_add_note(experiment->store, 0, "level_sets", text.data, err));
  }
  return STATUS_OK;
}

// Said when the first execution has ended: it is the one whose output is seen.
static void announce(struct experiment *experiment, unsigned left)
{
  experiment->progress.total = experiment->executions + left;
  if (experiment->is_over || left == 0)
    return;
  char sets[RUN_SETS_MAXIMUM * LEVEL_SET_TEXT_SIZE] = "";
  for (size_t i = 0; i < experiment->set_count; i++) {
    char text[LEVEL_SET_TEXT_SIZE];
    level_set_format(experiment->sets[i], text);
    snprintf(sets + strlen(sets), sizeof sets - strlen(sets), "%s%s", i == 0 ? "" : ", ", text);
  }
  MESSAGE(experiment, "%u more execution%s, for %u at each of %s, about %.1f s; what they write to stdout is dropped",
          left, left == 1 ? "" : "s", experiment->options->runs, sets,
          progress_left_s(&experiment->progress, progress_now_s()));
  if (experiment->streams.input_is_lost)
    MESSAGE(experiment, "stdin cannot be read twice: they find it empty; a file would be read again by each");
}

// ---- the source of the matrix ----------------------------------------------------------------------------------------
static enum status observe(void *context, size_t lane, size_t batch, unsigned repetition, struct error *err)
{
  struct experiment *experiment = context;
  experiment->repetition = repetition;
  XSP_TRY(execute(experiment, experiment->sets[lane], false, err));
  if (is_first(experiment))
    announce(experiment, count_planned(experiment) - 1);
  return STATUS_OK;
}

static bool is_over(const void *context)
{
  const struct experiment *experiment = context;
  return experiment->is_over;
}

static const struct matrix_source source = {.observe = observe, .is_over = is_over};

static enum status measure(struct experiment *experiment, struct error *err)
{
  const struct run_experiment_options *options = experiment->options;
  bool is_planned = !options->sets_are_given && options->set_count > 1;
  struct level_set first = is_planned ? run_plan_everything() : deepest(options);
  unsigned warmups = is_planned && options->warmups == 0 ? 1 : options->warmups;
  experiment->set_count = options->set_count;
  memcpy(experiment->sets, options->sets, sizeof experiment->sets);
  for (unsigned i = 0; i < warmups && !experiment->is_over; i++) {
    XSP_TRY(execute(experiment, first, true, err));
    if (i == 0 && is_planned && !experiment->is_over)
      XSP_TRY(plan_by_first(experiment, first, err));
    if (i == 0)
      announce(experiment, warmups - 1 + count_planned(experiment));
  }
  const struct matrix matrix = {.lane_count = experiment->set_count, .batch_count = 1, .repetitions = options->runs};
  enum status status = matrix_measure(&matrix, &source, experiment, NULL, err);
  progress_clear(&experiment->progress);
  return status;
}

// How far the latencies can be trusted: only where there are several.
static enum status judge_noise(struct experiment *experiment, const struct disturbance *after, struct error *err)
{
  struct run_experiment_result *result = experiment->result;
  if (experiment->executions < 2)
    return STATUS_OK;
  XSP_TRY(noise_judge(experiment->store, NULL, &experiment->before, after, &result->noise, &result->has_noise, err));
  return result->has_noise ? noise_record(experiment->store, &result->noise, err) : STATUS_OK;
}

static enum status finish(struct experiment *experiment, struct error *err)
{
  struct run_experiment_result *result = experiment->result;
  struct disturbance after;
  disturbance_read(&after);
  if (result->was_interrupted)
    XSP_TRY(store_add_note(experiment->store, 0, "interrupted", "the user ended the experiment early", err));
  if (experiment->streams.input_is_lost && experiment->executions > 1)
    XSP_TRY(store_add_note(experiment->store, 0, "stdin", "only the first execution could read it", err));
  XSP_TRY(correlate_store(experiment->store, err));
  if (experiment->fold != NULL)
    XSP_TRY(correlate_context_metrics(experiment->store, err));
  XSP_TRY(absent_levels_say(experiment->store, experiment->options->message, err));
  XSP_TRY(judge_noise(experiment, &after, err));
  XSP_TRY(noise_record_stolen(experiment->store, &experiment->before, &after, err));
  result->executions = experiment->executions;
  const struct program_parts parts = {experiment->options, result, experiment->store, &experiment->streams};
  if (experiment->options->resolve && !experiment->is_over)
    XSP_TRY(program_resolve(&parts, err));
  return store_finish(experiment->store, err);
}

// Whether there may be a second execution.
static bool is_repeated(const struct run_experiment_options *options)
{
  return options->resolve || options->set_count > 1 || options->runs + options->warmups > 1;
}

enum status experiment_run(const struct run_experiment_options *options, struct run_experiment_result *ret_result,
                           struct error *err)
{
  *ret_result = (struct run_experiment_result){0};
  struct experiment experiment = {.options = options, .result = ret_result};
  file_name_program(options->run.command, experiment.name, sizeof experiment.name);
  experiment.progress = (struct progress){.name = experiment.name,
                                          .unit = "execution",
                                          .shows_each = true,
                                          .show = options->progress,
                                          .started_s = progress_now_s()};
  experiment.streams = STREAMS_NONE;
  XSP_TRY(store_create(options->output_path, options->force, &experiment.store, err));
  store_warn_of_leftover(experiment.store, options->warning);
  if (is_repeated(options))
    streams_begin(&experiment.streams);
  if (options->aggregate)
    experiment.fold = correlate_fold_begin(experiment.store);
  disturbance_read(&experiment.before);
  enum status status = describe(&experiment, err);
  if (status == STATUS_OK)
    status = measure(&experiment, err);
  if (status == STATUS_OK)
    status = finish(&experiment, err);
  correlate_fold_end(experiment.fold);
  streams_done(&experiment.streams);
  if (status != STATUS_OK)
    record_give_up(experiment.store, ret_result->first.was_started, experiment.last_run_id > 1, options->warning);
  else
    ret_result->store = experiment.store;
  return status;
}
