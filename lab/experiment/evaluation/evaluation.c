// SPDX-License-Identifier: Apache-2.0
// Models over labelled data, into one file. One thread: it asks a runner for an inference, drains what that recorded, counts. Called
// by the verb evaluate.
#include "experiment/evaluation/evaluation.h"

#include "analyze/analyze.h"
#include "base/memory.h"
#include "correlate/correlate.h"
#include "experiment/absent_levels.h"
#include "experiment/lane.h"
#include "experiment/model_experiment_private.h"
#include "experiment/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct running {
  const struct evaluation_options *options;
  struct evaluation *evaluation;
  struct store *store;
  struct progress progress;
  size_t item_count;
  bool has_measured, has_committed;
  int64_t next_run_id; // of scenarios; the models' own runs have the ids of their experiments
  // of the model
  const struct evaluation_model *model;
  struct evaluation_result *result;
  struct lane lane;
  struct store_run run;
  struct outputs outputs;
  size_t first;      // item of the inference; those of a warm-up are not kept
  bool is_repeating; // pictures that were evaluated before: for their times alone
  bool is_kept;
};

// ---- inferences ------------------------------------------------------------------------------------------------------
static void take_score(struct evaluation_item *item, char *const *fields)
{
  if (item->count < PROTOCOL_SCORES) {
    item->best[item->count].place = strtoul(fields[2], NULL, 10);
    item->best[item->count++].score = strtof(fields[3], NULL);
  }
}

static bool take_found(void *context, char *const *fields, size_t count)
{
  struct running *running = context;
  bool is_score = count == 4 && strcmp(fields[0], "score") == 0;
  size_t at = count > 1 ? running->first + strtoul(fields[1], NULL, 10) : running->item_count;
  if (!running->is_kept || at >= running->item_count) // items that fill up the last batch
    return true;
  if (is_score)
    take_score(&running->result->items[at], fields);
  return is_score || predictions_take(&running->result->predictions, at, fields, count);
}

static enum status take_outputs(struct running *running, size_t first, struct error *err)
{
  size_t left = running->item_count - first, batch = (size_t)running->options->batch;
  const struct outputs_batch taken = {.model = (size_t)(running->result - running->evaluation->results),
                                      .output = running->model->output,
                                      .first_item = first,
                                      .count = left < batch ? left : batch,
                                      .batch = batch,
                                      .items = running->options->set->items,
                                      .item_count = running->item_count};
  return evaluation_outputs_take(&running->outputs, &running->lane.runner, &taken, running->store,
                                 &running->result->divergence, err);
}

// Of the batch that begins at `first`; a last one that is not full repeats its last item, since a batch's size is the run's.
static enum status infer(struct running *running, size_t first, enum runner_inference kind, size_t *ret_unreadable,
                         struct error *err)
{
  const struct evaluation_options *options = running->options;
  struct arena arena = {0};
  struct runner_picture *pictures = arena_alloc_array(&arena, (size_t)options->batch, sizeof *pictures);
  for (size_t i = 0; i < (size_t)options->batch; i++) {
    const struct data_item *item =
        &options->set->items[first + i < running->item_count ? first + i : running->item_count - 1];
    pictures[i] = data_item_picture(item);
    if (running->model->kind == OUTPUT_MASK)
      pictures[i].label = data_label_path(options->set, item, &arena);
  }
  running->first = first;
  running->is_kept = kind == INFERENCE_COUNTED && !running->is_repeating;
  enum status status = runner_infer(&running->lane.runner, pictures, (size_t)options->batch, kind,
                                    running->model->output, take_found, running, ret_unreadable, err);
  arena_done(&arena);
  XSP_TRY(status);
  XSP_TRY(accuracy_check_sizes(&running->result->predictions, options->set, first, err));
  if (running->is_kept)
    XSP_TRY(take_outputs(running, first, err));
  return lane_drain(&running->lane, running->store, &running->run, err);
}

// The same without pictures that cannot be read: they leave the set, so that nothing counts them and no other model gets them. One that
// only a later model cannot read is an error, since the first model counted it. None may be left from `first` on.
static enum status infer_readable(struct running *running, size_t first, enum runner_inference kind, struct error *err)
{
  do {
    size_t unreadable = SIZE_MAX;
    struct error why = {0};
    enum status status = infer(running, first, kind, &unreadable, &why);
    if (status == STATUS_OK)
      return STATUS_OK;
    if (unreadable == SIZE_MAX || running->result != running->evaluation->results || running->item_count == 1) {
      *err = why;
      return status;
    }
    char line[2 * sizeof why];
    error_prefix(&why, "left out: ");
    error_line(&why, line, sizeof line);
    running->options->warning("%s", line);
    size_t item = first + unreadable;
    data_set_leave_out(running->options->set, item < running->item_count ? item : running->item_count - 1);
  } while (--running->item_count > first);
  return STATUS_OK;
}

static void step(struct running *running)
{
  const struct evaluation_options *options = running->options;
  running->result->inferences++;
  progress_step(&running->progress, options->model_count > 1 ? running->model->profile.name : NULL, options->batch,
                "evaluate");
}

static enum status infer_all(struct running *running, struct error *err)
{
  const struct evaluation_options *options = running->options;
  size_t batch = (size_t)options->batch;
  for (unsigned i = 0; i < options->warmups; i++)
    XSP_TRY(infer_readable(running, 0, INFERENCE_WARMUP, err));
  for (size_t first = 0; first < running->item_count && !*options->interrupted; first += batch) {
    XSP_TRY(lane_hand_on(&running->lane, running->store, &running->run, &running->options->watcher, err));
    XSP_TRY(infer_readable(running, first, INFERENCE_COUNTED, err));
    if (running->item_count == first) // none of the last batch could be read
      break;
    running->has_measured = true;
    running->result->item_count = first + batch < running->item_count ? first + batch : running->item_count;
    step(running);
    if (first / batch % 256 == 255) {
      XSP_TRY(collect_commit(running->lane.session, running->store, err));
      running->has_committed = true;
    }
  }
  return STATUS_OK;
}

// Goes on with the pictures from the first one until the latency is known well enough. A picture that is gone by now ends it: its first
// reading counts.
static enum status infer_again(struct running *running, struct error *err)
{
  const struct evaluation_options *options = running->options;
  struct evaluation_result *result = running->result;
  unsigned next_look = EVALUATION_RUNS_LEAST, unused;
  running->is_repeating = true;
  for (size_t first = 0; !*options->interrupted; first += (size_t)options->batch) {
    bool is_last = result->inferences >= options->runs_most;
    if (result->inferences >= next_look || is_last) {
      next_look = model_spans_next_look(result->inferences);
      XSP_TRY(collect_commit(running->lane.session, running->store, err));
      running->has_committed = true;
      XSP_TRY(model_spans_reach(running->store, running->run.run_id, &result->reach_pct, &unused, err));
    }
    if (is_last || result->reach_pct <= options->precision_pct)
      break;
    first = first < running->item_count ? first : 0;
    size_t unreadable = SIZE_MAX;
    struct error why = {0};
    XSP_TRY(lane_hand_on(&running->lane, running->store, &running->run, &running->options->watcher, err));
    enum status status = infer(running, first, INFERENCE_COUNTED, &unreadable, &why);
    if (unreadable != SIZE_MAX) {
      char line[2 * sizeof why];
      error_prefix(&why, "no more for the latency: ");
      error_line(&why, line, sizeof line);
      options->warning("%s", line);
      break;
    }
    if (status != STATUS_OK) {
      *err = why;
      return status;
    }
    step(running);
  }
  running->is_repeating = false;
  return STATUS_OK;
}

// ---- a model ---------------------------------------------------------------------------------------------------------
static enum status start(struct running *running, size_t number, struct error *err)
{
  const struct evaluation_options *options = running->options;
  const struct profile_options *profile = &running->model->profile;
  struct runner_options runner = profile->runner;
  runner.predictor = profile->variants[0].predictor;
  runner.library = profile->variants[0].library;
  bool reaches_deep = level_set_deepest(profile->sets[0]) > XSP_LEVEL_LAYER;
  XSP_TRY(lane_start(&running->lane, &runner, profile->sets[0], reaches_deep ? profile->tracers : NULL, err));
  running->result->found = running->lane.runner.found;
  XSP_TRY(scenario_check(&running->lane.runner, options->scenarios, options->scenario_count, err));
  if (running->store == NULL) {
    XSP_TRY(store_create(options->output_path, options->force, &running->store, err));
    store_warn_of_leftover(running->store, options->warning);
  }
  int64_t id = (int64_t)number + 1;
  XSP_TRY(model_experiment_add(running->store, profile, 0, id, &running->result->found, err));
  running->run = (struct store_run){.run_id = id,
                                    .experiment_id = id,
                                    .levels = profile->sets[0],
                                    .batch_size = options->batch,
                                    .epoch_is_unix = true,
                                    .own_pct = NAN};
  return store_add_run(running->store, &running->run, err);
}

static enum status end(struct running *running, struct error *err)
{
  XSP_TRY(lane_finish(&running->lane, running->store, &running->run, running->run.run_id, err));
  running->has_committed = true;
  XSP_TRY(model_spans_own_share(running->store, &running->run, err));
  XSP_TRY(
      store_add_note(running->store, running->run.run_id, "layer_source", running->result->found.layer_source, err));
  return store_add_run(running->store, &running->run, err);
}

static void count_scores(struct running *running)
{
  struct evaluation_result *result = running->result;
  const struct data_set *set = running->options->set;
  for (size_t i = 0; i < result->item_count; i++) {
    struct evaluation_item *item = &result->items[i];
    item->wanted = set->items[i].place;
    if (item->wanted == DATA_NO_CLASS)
      continue;
    result->labelled++;
    result->one_after += item->count > 0 && item->best[0].place == item->wanted + 1;
    result->one_before += item->count > 0 && item->best[0].place + 1 == item->wanted;
    for (size_t k = 0; k < item->count; k++)
      if (item->best[k].place == item->wanted) {
        result->first_right += k == 0;
        result->among_right++;
      }
  }
}

static enum status measure_scenarios(struct running *running, struct error *err)
{
  const struct evaluation_options *options = running->options;
  struct scenario_lane lane = {.lane = &running->lane,
                               .store = running->store,
                               .run = running->run,
                               .set = options->set,
                               .item_count = running->item_count,
                               .sample_count = options->sample_count < running->item_count ? options->sample_count
                                                                                           : running->item_count,
                               .warmups = options->warmups,
                               .interrupted = options->interrupted};
  if (options->scenario_count > 0 && !*options->interrupted)
    XSP_TRY(scenario_load(&lane, options->batch, err));
  for (size_t i = 0; i < options->scenario_count && !*options->interrupted; i++) {
    progress_step(&running->progress, running->model->profile.name, options->scenarios[i].batch,
                  scenario_name(options->scenarios[i].kind));
    XSP_TRY(
        scenario_measure(&lane, &options->scenarios[i], &running->next_run_id, &running->result->scenarios[i], err));
  }
  return STATUS_OK;
}

static void count(struct running *running)
{
  const struct evaluation_model *model = running->model;
  const struct data_set *set = running->options->set;
  struct evaluation_result *result = running->result;
  struct arena *arena = &running->evaluation->arena;
  size_t items = result->item_count;
  if (output_form_has_boxes(model->kind))
    accuracy_of_boxes(&result->predictions, set, items, model->kind == OUTPUT_INSTANCES, arena, &result->accuracy);
  else if (model->kind == OUTPUT_MASK)
    accuracy_of_masks(&result->predictions, set, items, arena, &result->accuracy);
  else if (model->kind == OUTPUT_TEXT)
    accuracy_of_texts(&result->predictions, set, items, model->labels, model->label_count, model->separator, arena,
                      &result->accuracy);
  else
    count_scores(running);
  if (model->kind > OUTPUT_SCORES)
    result->labelled = result->accuracy.labelled;
}

static enum status evaluate_model(struct running *running, size_t number, struct error *err)
{
  running->model = &running->options->models[number];
  running->result = &running->evaluation->results[number];
  running->result->reach_pct = NAN;
  running->result->items = memory_new(running->item_count, sizeof *running->result->items);
  running->result->resolution =
      data_set_resolve(running->options->set, running->model->labels, running->model->label_count);
  enum status status = start(running, number, err);
  if (status == STATUS_OK)
    status = infer_all(running, err);
  if (status == STATUS_OK && running->options->precision_pct > 0)
    status = infer_again(running, err);
  if (status == STATUS_OK)
    status = lane_flush(&running->lane, running->store, &running->run, err);
  if (status == STATUS_OK)
    status = measure_scenarios(running, err);
  if (status == STATUS_OK)
    status = end(running, err);
  running->has_committed |= running->lane.handed_on_s > 0;
  lane_close(&running->lane);
  if (status != STATUS_OK && running->options->model_count > 1) {
    char prefix[128];
    snprintf(prefix, sizeof prefix, "%.100s: ", running->model->profile.name);
    error_prefix(err, prefix);
  }
  divergence_finish(&running->result->divergence);
  if (status == STATUS_OK)
    count(running);
  return status;
}

// ---- all of them -----------------------------------------------------------------------------------------------------
static enum status evaluate(struct running *running, struct error *err)
{
  const struct evaluation_options *options = running->options;
  struct evaluation *evaluation = running->evaluation;
  running->progress.started_s = progress_now_s();
  for (size_t i = 0; i < options->model_count && !*options->interrupted; i++)
    XSP_TRY(evaluate_model(running, i, err));
  evaluation->was_interrupted = *options->interrupted != 0;
  if (!running->has_measured)
    return error_set(err, STATUS_SYSTEM, "interrupted", options->set->path, NULL, "nothing was evaluated yet");
  if (evaluation->was_interrupted)
    XSP_TRY(store_add_note(running->store, 0, "interrupted", "the user ended the evaluation early", err));
  if (options->set->unreadable > 0) {
    char text[96];
    snprintf(text, sizeof text, EVALUATION_UNREADABLE, options->set->unreadable);
    XSP_TRY(store_add_note(running->store, 0, "unreadable", text, err));
  }
  XSP_TRY(store_add_note(running->store, 0, "data_set", options->set->path, err));
  if (options->set->sha256 != NULL)
    XSP_TRY(store_add_note(running->store, 0, "data_set_sha256", options->set->sha256, err));
  XSP_TRY(store_commit(running->store, err));
  XSP_TRY(correlate_store(running->store, err));
  XSP_TRY(absent_levels_say(running->store, options->warning, err));
  for (size_t i = 0; i < options->model_count; i++)
    if (evaluation->results[i].item_count > 0) {
      XSP_TRY(evaluation_times_read(running->store, options, i, &evaluation->results[i], err));
      for (size_t k = 0; k < options->scenario_count; k++)
        if (evaluation->results[i].scenarios[k].run_id != 0)
          XSP_TRY(scenario_read(running->store, &evaluation->results[i].scenarios[k], err));
      XSP_TRY(evaluation_keep(running->store, options, evaluation, i, err));
    }
  return store_finish(running->store, err);
}

enum status evaluation_run(const struct evaluation_options *options, struct evaluation *ret_evaluation,
                           struct error *err)
{
  size_t all = options->set->count;
  struct running running = {.options = options, .evaluation = ret_evaluation};
  *ret_evaluation = (struct evaluation){0};
  running.next_run_id = (int64_t)options->model_count + 1;
  running.outputs.is_kept = options->keep_outputs;
  running.outputs.is_compared = evaluation_compares(options);
  running.item_count = options->limit > 0 && options->limit < all ? options->limit : all;
  size_t batches = (running.item_count + (size_t)options->batch - 1) / (size_t)options->batch;
  size_t inferences = options->precision_pct > 0 && options->runs_most > batches ? options->runs_most : batches;
  running.progress =
      (struct progress){.name = options->model_count == 1 ? options->models[0].profile.name : "evaluation",
                        .unit = "inference",
                        .show = options->progress,
                        .total = (unsigned)((inferences + options->scenario_count) * options->model_count)};
  enum status status = evaluate(&running, err);
  progress_clear(&running.progress);
  evaluation_outputs_done(&running.outputs);
  if (status == STATUS_OK)
    ret_evaluation->store = running.store;
  else
    record_give_up(running.store, running.has_measured, running.has_committed, options->warning);
  return status;
}

void evaluation_done(struct evaluation *evaluation)
{
  store_close(evaluation->store);
  for (size_t i = 0; i < EVALUATION_MODELS_MOST; i++) {
    free(evaluation->results[i].items);
    predictions_done(&evaluation->results[i].predictions);
    free(evaluation->results[i].latencies_ms);
    for (size_t k = 0; k < SCENARIO_KINDS; k++)
      free(evaluation->results[i].scenarios[k].latencies_ms);
  }
  arena_done(&evaluation->arena);
  *evaluation = (struct evaluation){0};
}
