// SPDX-License-Identifier: Apache-2.0
// Any program that speaks the predictor protocol (docs/predictor_protocol.md) as a framework: started here, asked over a
// socket, its inputs handed over in a file in memory, its times and layers taken from its answers. Called by the runner
// (open, prepare, predict, flush, resume, close) and by `xsp check` (probe). One thread.
#include "frameworks/common/predictor.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "frameworks/common/layer_publish.h"
#include "frameworks/program/messages.h"
#include "frameworks/program/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_MOST ((size_t)4 << 20)
#define INPUT_ALIGNMENT 64u

struct state {
  struct predictor_state common; // first
  struct program program;
  const char *path;           // of the program
  struct program_facts facts; // in the caller's arena
  struct buf request;
  // The inference whose layers are still to be published
  struct arena arena;
  struct program_prediction prediction;
  uint64_t start_ns; // when it began, CLOCK_MONOTONIC
  struct layer_publisher *publisher;
};

// ---- open ------------------------------------------------------------------------------------------------------------

// A program that was named for all models of this kind: --library program=PATH. NULL: each model is its own.
static const char *given_program(const char *library_path)
{
  const char *given = library_path != NULL ? library_path : getenv("XSP_LIBRARY_PROGRAM");
  return given != NULL && given[0] != 0 ? given : NULL;
}

// The version is the protocol's: a program reports its own when it is started.
static enum status program_probe(const char *library_path, char *library, size_t library_size, char *version,
                                 size_t version_size, struct error *err)
{
  const char *given = given_program(library_path);
  if (given != NULL && access(given, R_OK) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot open library", given,
                           "--library program=PATH or XSP_LIBRARY_PROGRAM=PATH, of a predictor program");
  snprintf(library, library_size, "%s", given != NULL ? given : "built in");
  snprintf(version, version_size, "%d", PROGRAM_VERSION);
  return STATUS_OK;
}

static void begin_request(struct state *state, struct json_writer *json, const char *name)
{
  buf_clear(&state->request);
  json_start(json, &state->request);
  json_object(json);
  json_member_string(json, "request", name);
}

static void end_request(struct state *state, struct json_writer *json)
{
  json_object_end(json);
  buf_text(&state->request, "\n");
}

static enum status ask_open(struct state *state, const struct predictor_options *options, struct arena *arena,
                            struct error *err)
{
  char real[PATH_MAX];
  if (realpath(options->model_path, real) == NULL)
    return error_set_errno(err, STATUS_INPUT, "cannot open model", options->model_path, "another path");
  struct json_writer json;
  begin_request(state, &json, "open");
  json_member_int(&json, "version", PROGRAM_VERSION);
  json_member_string(&json, "model", real);
  json_member_bool(&json, "layers", state->common.has_layers);
  json_member_int(&json, "threads", options->threads);
  end_request(state, &json);
  XSP_TRY(program_ask(&state->program, "open", &state->request, err));
  return program_read_open(state->program.line.data, state->program.line.length, state->path, arena, &state->facts,
                           err);
}

static void make_publisher(struct state *state, struct arena *arena)
{
  bool laid_out = state->facts.untold & PROGRAM_NO_START;
  const struct layer_publisher_options options = {
      .tracer = state->facts.framework,
      .untold = program_untold_text(state->facts.untold, arena),
      .times = laid_out                   ? LAYER_TIMES_LAID_OUT
               : state->facts.is_realtime ? LAYER_TIMES_REALTIME
                                          : LAYER_TIMES_MONOTONIC,
  };
  state->publisher = layer_publisher_create(&options);
}

static enum status program_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct state *state = model->state;
  const struct predictor_options *options = &state->common.options;
  const char *given = given_program(options->library_path);
  state->program = (struct program){.socket = -1, .inputs = -1, .guarded = -1};
  buf_init(&state->request, REQUEST_MOST);
  state->path = given != NULL ? given : options->model_path;
  XSP_TRY(program_start(state->path, &state->program, err));
  XSP_TRY(ask_open(state, options, arena, err));
  model->framework = state->facts.framework;
  model->framework_version = state->facts.framework_version;
  model->library_path = state->path;
  model->inputs = state->facts.inputs;
  model->input_count = state->facts.input_count;
  model->layer_source = state->common.has_layers ? "program" : "none";
  model->note = state->facts.note;
  model->reported.is_realtime = state->facts.is_realtime;
  make_publisher(state, arena);
  return STATUS_OK;
}

// ---- prepare ---------------------------------------------------------------------------------------------------------

// By write, not through a mapping: the program could cut the file under us.
static enum status write_input(const struct state *state, const struct tensor *input, uint64_t offset,
                               struct error *err)
{
  for (size_t done = 0; done < input->size_bytes;) {
    ssize_t more = pwrite(state->program.inputs, (const char *)input->data + done, input->size_bytes - done,
                          (off_t)(offset + done));
    if (more < 0 && errno == EINTR)
      continue;
    if (more <= 0)
      return error_set_errno(err, STATUS_SYSTEM, "cannot hand over an input", input->info->name, "a smaller batch");
    done += (size_t)more;
  }
  return STATUS_OK;
}

static void describe_input(struct json_writer *json, const struct tensor *input, uint64_t offset)
{
  json_object(json);
  json_member_string(json, "name", input->info->name);
  json_member_string(json, "type", tensor_type_facts(input->info->type)->name);
  json_member_array(json, "shape");
  for (unsigned i = 0; i < input->info->rank; i++)
    json_int(json, input->shape[i]);
  json_array_end(json);
  json_member_int(json, "offset", (int64_t)offset);
  json_member_int(json, "bytes", (int64_t)input->size_bytes);
  json_object_end(json);
}

static enum status program_flush(struct predictor_model *model, struct error *err);

static enum status program_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  XSP_TRY(program_flush(model, err));
  struct json_writer json;
  uint64_t offset = 0;
  begin_request(state, &json, "prepare");
  json_member_int(&json, "batch", model->batch);
  json_member_array(&json, "inputs");
  for (size_t i = 0; i < model->input_count; i++) {
    XSP_TRY(write_input(state, &inputs[i], offset, err));
    describe_input(&json, &inputs[i], offset);
    offset += (inputs[i].size_bytes + INPUT_ALIGNMENT - 1) / INPUT_ALIGNMENT * INPUT_ALIGNMENT;
  }
  json_array_end(&json);
  uint64_t bytes = offset > 0 ? offset : INPUT_ALIGNMENT; // a mapping of nothing is an error in most languages
  json_member_int(&json, "bytes", (int64_t)bytes);
  end_request(state, &json);
  if (ftruncate(state->program.inputs, (off_t)bytes) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot hand over the inputs", state->path, "a smaller batch");
  XSP_TRY(program_ask(&state->program, "prepare", &state->request, err));
  return program_read_done(state->program.line.data, state->program.line.length, "prepare", state->path, err);
}

// ---- predict ---------------------------------------------------------------------------------------------------------

static uint64_t transport_ns(const struct program_question *question, const struct program_prediction *prediction)
{
  const struct predictor_interval *model = &prediction->model;
  uint64_t first = prediction->preprocess.end_ns != 0 ? prediction->preprocess.start_ns : model->start_ns;
  uint64_t last = prediction->postprocess.end_ns != 0 ? prediction->postprocess.end_ns : model->end_ns;
  return question->received_ns - question->sent_ns - (last - first);
}

static enum status program_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  (void)inputs; // handed over by prepare
  struct state *state = model->state;
  struct program_question question = {.wants_layers = state->common.has_layers, .untold = state->facts.untold};
  struct json_writer json;
  begin_request(state, &json, "predict");
  end_request(state, &json);
  uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
  clockid_t clock = state->facts.is_realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  question.sent_ns = clock_now_ns(clock);
  XSP_TRY(program_ask(&state->program, "predict", &state->request, err));
  question.received_ns = clock_now_ns(clock);
  arena_done(&state->arena);
  struct program_prediction *prediction = &state->prediction;
  enum status status = program_read_prediction(state->program.line.data, state->program.line.length, state->path,
                                               &question, &state->arena, prediction, err);
  if (status != STATUS_OK) {
    prediction->layer_count = 0;
    return status;
  }
  state->start_ns = begin_ns + (prediction->model.start_ns - question.sent_ns);
  model->reported.model = prediction->model;
  model->reported.preprocess = prediction->preprocess;
  model->reported.postprocess = prediction->postprocess;
  model->reported.transport_ns = transport_ns(&question, prediction);
  return STATUS_OK;
}

// Outside every span: the layers of the last inference, whose span the runner has made by now.
static enum status program_flush(struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  struct program_prediction *prediction = &state->prediction;
  enum status status = layer_publish(state->publisher, prediction->layers, prediction->layer_count, model->model_span,
                                     state->start_ns, err);
  *prediction = (struct program_prediction){0};
  arena_done(&state->arena);
  return status;
}

static void program_close(struct predictor_model *model)
{
  struct state *state = model->state;
  if (state->publisher != NULL)
    (void)!program_flush(model, NULL);
  program_end(&state->program);
  arena_done(&state->arena);
  buf_done(&state->request);
  layer_publisher_free(state->publisher);
}

const struct predictor predictor_program = {
    .name = "program",
    .summary = "any program that speaks the predictor protocol",
    .extensions = ".py .predictor",
    .tells_times = true,
    .executes_model = true,
    .state_bytes = sizeof(struct state),
    .probe = program_probe,
    .open = program_open,
    .prepare = program_prepare,
    .predict = program_predict,
    .flush = program_flush,
    .resume = program_flush,
    .close = program_close,
};
