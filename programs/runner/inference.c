// SPDX-License-Identifier: Apache-2.0
// Inferences: inputs made or filled with pictures, the model span, what is sent back. Called by main.c.
#include "programs/runner/runner.h"

#include "base/clock.h"
#include "programs/runner/control.h"
#include "programs/runner/results.h"
#include <xsp/tracer.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAXIMUM (1 << 20)

XSP_SITE_FULL(prepare_site, XSP_LEVEL_APPLICATION, "prepare inputs", "preprocess", "runner");
XSP_SITE_FULL(preprocess_site, XSP_LEVEL_APPLICATION, "preprocess", "preprocess", "runner");
XSP_SITE_FULL(postprocess_site, XSP_LEVEL_APPLICATION, "postprocess", "postprocess", "runner");

static int64_t ticks_to_ns(const struct runner_state *runner, uint64_t ticks)
{
  uint64_t ticks_passed = xsp_clock_ticks() - runner->first_ticks,
           ns_passed = clock_now_ns(CLOCK_MONOTONIC) - runner->first_ns;
  return ticks_passed == 0 ? 0 : (int64_t)((double)ticks * (double)ns_passed / (double)ticks_passed);
}

static enum status read_batch(const char *text, int64_t *ret_batch, struct error *err)
{
  char *end = NULL;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != 0 || value < 1 || value > BATCH_MAXIMUM)
    return error_set(err, STATUS_USE, "cannot make inputs", "--batch", NULL, "no batch size: %s", text);
  *ret_batch = value;
  return STATUS_OK;
}

static enum status make_inputs(struct runner_state *runner, int64_t batch, struct error *err)
{
  XSP_TRY(inference_inputs_prepare(&runner->inputs, &runner->model, &runner->arguments, batch, err));
  runner->model.batch = batch;
  if (runner->predictor->prepare == NULL)
    return STATUS_OK;
  enum status status = runner->predictor->prepare(&runner->model, runner->inputs.tensors, err);
  if (status != STATUS_OK)
    inference_inputs_done(&runner->inputs); // nothing is prepared
  return status;
}

// The inputs are made once for a batch size, not for each inference: tag `once`.
static enum status prepare(struct runner_state *runner, int64_t batch, struct error *err)
{
  if (runner->predictor->resume != NULL)
    XSP_TRY(runner->predictor->resume(&runner->model, err));
  if (runner->inputs.batch == batch)
    return STATUS_OK;
  struct xsp_span span = xsp_span_start(&prepare_site);
  xsp_span_tag_int(&span, "batch_size", batch);
  xsp_span_tag_int(&span, "once", 1);
  enum status status = make_inputs(runner, batch, err);
  xsp_span_finish(&span);
  return status;
}

static uint64_t listener_ticks(const struct runner_state *runner)
{
  return runner->model.own_ticks != NULL ? runner->model.own_ticks() : 0;
}

// CLOCK_MONOTONIC at `ticks`, a moment ago. Of a few readings of both clocks the one that took least: one may be interrupted.
static uint64_t ns_at(const struct runner_state *runner, uint64_t ticks)
{
  uint64_t least = UINT64_MAX, found_ns = 0;
  for (int i = 0; i < 3; i++) {
    uint64_t before = xsp_clock_ticks(), now_ns = clock_now_ns(CLOCK_MONOTONIC), took = xsp_clock_ticks() - before;
    if (took < least)
      found_ns = now_ns - (uint64_t)ticks_to_ns(runner, before + took / 2 - ticks);
    least = took < least ? took : least;
  }
  return found_ns;
}

static struct xsp_span emit_interval(struct runner_state *runner, struct xsp_site *site,
                                     const struct predictor_interval *interval)
{
  if (runner->interval_track == 0) {
    const struct xsp_track_options options = {
        .size = sizeof options,
        .name = runner->model.framework,
        .clock = runner->model.reported.clock == XSP_CLOCK_FOREIGN ? PREDICTOR_CLOCK_SIMULATED : NULL,
        .device_id = -1,
        .stream_id = -1};
    runner->interval_track = xsp_track_create(&options);
  }
  const struct xsp_interval emitted = {
      .size = sizeof emitted,
      .track = runner->interval_track,
      .kind = XSP_KIND_SYNC,
      .clock = (uint8_t)runner->model.reported.clock,
      .start = interval->start_ns,
      .end = interval->end_ns,
  };
  return xsp_span_emit(site, &emitted);
}

static void tag_model(struct xsp_span *span, const struct runner_state *runner, uint64_t start_ns)
{
  const struct predictor_model *model = &runner->model;
  xsp_span_tag_int(span, "batch_size", model->batch);
  if (runner->arrival_ns != 0)
    xsp_span_tag_int(span, "wait_ns", (int64_t)(start_ns - runner->arrival_ns));
  if (model->is_warmup)
    xsp_span_tag_int(span, "warmup", 1);
  if (model->is_cold)
    xsp_span_tag_int(span, "cold", 1);
}

// One inference in another process: its span has that process's times, without the transport.
static enum status predict_elsewhere(struct runner_state *runner, struct error *err)
{
  struct predictor_model *model = &runner->model;
  XSP_TRY(runner->predictor->predict(model, runner->inputs.tensors, err));
  if (model->reported.preprocess.end_ns != 0)
    emit_interval(runner, &preprocess_site, &model->reported.preprocess);
  struct xsp_span span = emit_interval(runner, runner->site, &model->reported.model);
  if (model->reported.clock != XSP_CLOCK_MONOTONIC) // another clock than that of the arrival
    runner->arrival_ns = 0;
  tag_model(&span, runner, model->reported.model.start_ns);
  xsp_span_tag_int(&span, "own_ns", 0);
  if (model->reported.clock == XSP_CLOCK_FOREIGN)
    xsp_span_tag_int(&span, "wall_ns", (int64_t)model->reported.wall_ns);
  else
    xsp_span_tag_int(&span, "transport_ns", (int64_t)model->reported.transport_ns);
  model->model_span = xsp_span_context(&span);
  if (model->reported.postprocess.end_ns != 0)
    emit_interval(runner, &postprocess_site, &model->reported.postprocess);
  return STATUS_OK;
}

// One inference inside one model span. `kind` as in the protocol: "0", "1" or "cold". own_ns is what xsp's code took between
// its start and its end.
static enum status predict(struct runner_state *runner, int64_t batch, const char *kind, struct error *err)
{
  XSP_TRY(prepare(runner, batch, err));
  runner->model.is_cold = strcmp(kind, "cold") == 0;
  runner->model.is_warmup = runner->model.is_cold || strcmp(kind, "1") == 0;
  if (runner->predictor->publishes_model)
    return runner->predictor->predict(&runner->model, runner->inputs.tensors, err);
  if (runner->predictor->tells_times)
    return predict_elsewhere(runner, err);
  uint64_t listener_before = listener_ticks(runner);
  struct xsp_span span = xsp_span_start(runner->site);
  uint64_t begin = xsp_clock_ticks();
  tag_model(&span, runner, runner->arrival_ns != 0 ? ns_at(runner, span.start) : 0);
  runner->model.model_span = xsp_span_context(&span);
  uint64_t own = xsp_clock_ticks() - begin;
  enum status status = runner->predictor->predict(&runner->model, runner->inputs.tensors, err);
  own += listener_ticks(runner) - listener_before;
  xsp_span_tag_int(&span, "own_ns", ticks_to_ns(runner, own));
  xsp_span_finish(&span);
  return status;
}

// The inputs' values are others than before.
static enum status refresh(struct runner_state *runner, struct error *err)
{
  return runner->predictor->refresh != NULL ? runner->predictor->refresh(&runner->model, runner->inputs.tensors, err)
                                            : STATUS_OK;
}

// An inference whose input is made of the pictures, and what is found in `output`; NULL: nothing.
enum status inference_of_pictures(struct runner_state *runner, const char *kind, const char *output, struct error *err)
{
  int64_t batch = (int64_t)runner->pictures.paths.count;
  if (runner->predictor->read_output == NULL)
    return error_set(err, STATUS_INPUT, "cannot read the scores", runner->predictor->name,
                     "another framework (xsp check)", "the predictor does not hand out outputs");
  if (batch == 0)
    return error_set(err, STATUS_USE, "wrong use of xsp-runner", "infer", NULL, "there are no pictures");
  XSP_TRY(prepare(runner, batch, err));
  enum status status =
      inference_pictures_fill(&runner->pictures, &runner->arguments, &runner->code, &runner->inputs, err);
  if (status != STATUS_OK && runner->pictures.unreadable != SIZE_MAX) {
    control_send_unreadable(runner->arguments.control_fd, runner->pictures.unreadable, err);
    inference_pictures_clear(&runner->pictures);
    return STATUS_OK;
  }
  XSP_TRY(status);
  runner->model.keep_outputs = true;
  XSP_TRY(refresh(runner, err));
  XSP_TRY(predict(runner, batch, kind, err));
  if (output != NULL)
    XSP_TRY(results_send(runner->predictor, &runner->model, &runner->arguments, &runner->pictures, &runner->code,
                         output, err));
  inference_pictures_clear(&runner->pictures);
  xsp_tracers_flush();
  return STATUS_OK;
}

// Prepares the pictures and keeps them for queries.
enum status inference_load(struct runner_state *runner, struct error *err)
{
  size_t count = runner->pictures.paths.count;
  struct tensor *tensor = NULL;
  if (count == 0)
    return error_set(err, STATUS_USE, "wrong use of xsp-runner", "load", NULL, "there are no pictures");
  XSP_TRY(prepare(runner, (int64_t)count, err));
  XSP_TRY(inference_pictures_fill(&runner->pictures, &runner->arguments, &runner->code, &runner->inputs, err));
  XSP_TRY(inference_pictures_input(&runner->arguments, &runner->inputs, count, &tensor, err));
  inference_pictures_clear(&runner->pictures);
  return samples_add(&runner->samples, tensor, count, err);
}

// One inference of loaded pictures, from `first` on, once its time has come.
enum status inference_query(struct runner_state *runner, char **fields, struct error *err)
{
  int64_t count = 0;
  struct tensor *tensor = NULL;
  XSP_TRY(read_batch(fields[4], &count, err));
  XSP_TRY(prepare(runner, count, err));
  XSP_TRY(inference_pictures_input(&runner->arguments, &runner->inputs, (size_t)count, &tensor, err));
  runner->arrival_ns = strtoull(fields[2], NULL, 10);
  if (runner->arrival_ns != 0)
    samples_wait(runner->arrival_ns);
  XSP_TRY(samples_take(&runner->samples, strtoull(fields[3], NULL, 10), (size_t)count, tensor, err));
  runner->model.keep_outputs = false;
  XSP_TRY(refresh(runner, err));
  XSP_TRY(predict(runner, count, fields[1], err));
  runner->arrival_ns = 0;
  xsp_tracers_flush();
  return STATUS_OK;
}

// ---- requests --------------------------------------------------------------------------------------------------------
enum status inference_prepare(struct runner_state *runner, const char *batch, struct error *err)
{
  int64_t count = 0;
  XSP_TRY(read_batch(batch, &count, err));
  return prepare(runner, count, err);
}

enum status inference_predict(struct runner_state *runner, const char *batch, const char *kind, struct error *err)
{
  int64_t count = 0;
  XSP_TRY(read_batch(batch, &count, err));
  XSP_TRY(predict(runner, count, kind, err));
  xsp_tracers_flush(); // what belongs to this inference is read before the next
  return STATUS_OK;
}
