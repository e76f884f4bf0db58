// SPDX-License-Identifier: Apache-2.0
// The requests to a predictor program; see requests.h. Inputs are handed over in a file in memory, times and layers are
// taken from the answers. Called by the runner, one thread.
#include "frameworks/program/requests.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/transfer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_MOST ((size_t)4 << 20)
#define INPUT_ALIGNMENT 64u

// ---- open ------------------------------------------------------------------------------------------------------------

static void begin_request(struct program_state *state, struct json_writer *json, const char *name)
{
  buf_clear(&state->request);
  json_start(json, &state->request);
  json_object(json);
  json_member_string(json, "request", name);
}

static void end_request(struct program_state *state, struct json_writer *json)
{
  json_object_end(json);
  buf_text(&state->request, "\n");
}

static enum status ask_open(struct program_state *state, const struct predictor_options *options, struct arena *arena,
                            struct error *err)
{
  char real[PATH_MAX];
  bool is_file = realpath(options->model_path, real) != NULL;
  if (!is_file && !state->is_own)
    return error_set_errno(err, STATUS_INPUT, "cannot open model", options->model_path, "another path");
  struct json_writer json;
  begin_request(state, &json, "open");
  json_member_int(&json, "version", PROGRAM_VERSION);
  json_member_string(&json, "model", is_file ? real : options->model_path);
  json_member_bool(&json, "layers", state->common.has_layers && !state->is_guest);
  json_member_int(&json, "threads", options->threads);
  if (options->device != NULL)
    json_member_string(&json, "device", options->device);
  if (options->layer_outputs)
    json_member_bool(&json, "layer_outputs", true);
  if (state->is_own) {
    json_member_int(&json, "levels", options->level_mask);
    json_member_object(&json, "given");
    for (size_t i = 0; i < options->input_count; i++)
      json_member_string(&json, options->inputs[i].name, options->inputs[i].path);
    json_object_end(&json);
  }
  end_request(state, &json);
  XSP_TRY(program_ask(&state->program, "open", &state->request, err));
  XSP_TRY(
      program_read_open(state->program.line.data, state->program.line.length, state->path, arena, &state->facts, err));
  if (options->device != NULL && state->facts.device == NULL)
    return error_set(err, STATUS_USE, "cannot choose the device", "--device", "the same without --device",
                     "%s does not say that it runs the model on '%s': its answer to open has no device", state->path,
                     options->device);
  return STATUS_OK;
}

static void make_publisher(struct program_state *state, struct arena *arena)
{
  bool laid_out = state->facts.untold & PROGRAM_NO_START;
  const struct layer_publisher_options options = {
      .tracer = state->facts.framework,
      .untold = program_untold_text(state->facts.untold, arena),
      .times = laid_out                                   ? LAYER_TIMES_LAID_OUT
               : state->facts.clock == XSP_CLOCK_FOREIGN  ? LAYER_TIMES_SIMULATED
               : state->facts.clock == XSP_CLOCK_REALTIME ? LAYER_TIMES_REALTIME
                                                          : LAYER_TIMES_MONOTONIC,
  };
  state->publisher = framework_layer_publisher_create(&options);
}

// By its name: "cuda:1", "cpu".
static enum predictor_on device_class(const char *device)
{
  return strcasestr(device, "cpu") != NULL     ? PREDICTOR_ON_CPU
         : strncasecmp(device, "cuda", 4) == 0 ? PREDICTOR_ON_CUDA
                                               : PREDICTOR_ON_OTHER;
}

enum status program_open(struct predictor_model *model, const struct program_command *command, struct arena *arena,
                         struct error *err)
{
  struct program_state *state = model->state;
  state->program = (struct program){.socket = -1, .inputs = -1, .outputs = -1, .guarded = -1};
  buf_init(&state->request, REQUEST_MOST);
  state->path = command->path;
  state->is_guest = command->guest_variables != NULL;
  state->is_own = command->script != NULL;
  XSP_TRY(program_start(command, &state->program, err));
  XSP_TRY(ask_open(state, &state->common.options, arena, err));
  model->framework = state->facts.framework;
  model->framework_version = state->facts.framework_version;
  model->library_path = state->path;
  model->inputs = state->facts.inputs;
  model->input_count = state->facts.input_count;
  model->layer_source = state->common.has_layers ? "program" : "none";
  model->note = state->facts.note;
  if (state->facts.device != NULL) {
    model->device = state->facts.device;
    model->device_class = device_class(state->facts.device);
  }
  model->reported.clock = state->facts.clock;
  if (state->facts.clock == XSP_CLOCK_FOREIGN)
    model->note = arena_format(arena, "times are simulated%s%s", state->facts.note != NULL ? ": " : "",
                               state->facts.note != NULL ? state->facts.note : "");
  make_publisher(state, arena);
  return STATUS_OK;
}

// ---- prepare ---------------------------------------------------------------------------------------------------------

// By write, not through a mapping: the program could cut the file under us.
static enum status write_input(const struct program_state *state, const struct tensor *input, uint64_t offset,
                               struct error *err)
{
  if (!transfer_write_at(state->program.inputs, input->data, input->size_bytes, offset))
    return error_set_errno(err, STATUS_SYSTEM, "cannot hand over an input", input->info->name, "a smaller batch");
  return STATUS_OK;
}

static void describe_input(struct json_writer *json, const struct tensor *input, uint64_t offset, bool is_own)
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
  if (is_own)
    json_member_bool(json, "given", input->is_given);
  json_object_end(json);
}

enum status program_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct program_state *state = model->state;
  XSP_TRY(program_flush(model, err));
  struct json_writer json;
  uint64_t offset = 0;
  begin_request(state, &json, "prepare");
  json_member_int(&json, "batch", model->batch);
  json_member_array(&json, "inputs");
  for (size_t i = 0; i < model->input_count; i++) {
    XSP_TRY(write_input(state, &inputs[i], offset, err));
    describe_input(&json, &inputs[i], offset, state->is_own);
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

// The tags of the model span, which a guest publishes itself.
static void describe_span(struct json_writer *json, const struct predictor_model *model)
{
  json_member_object(json, "span");
  json_member_int(json, "batch_size", model->batch);
  if (model->is_warmup)
    json_member_int(json, "warmup", 1);
  if (model->is_cold)
    json_member_int(json, "cold", 1);
  json_object_end(json);
}

enum status program_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  (void)inputs; // handed over by prepare
  struct program_state *state = model->state;
  struct program_question question = {.wants_layers = state->common.has_layers && !state->is_guest,
                                      .wants_outputs = model->keep_outputs,
                                      .untold = state->facts.untold,
                                      .is_simulated = state->facts.clock == XSP_CLOCK_FOREIGN};
  if (model->keep_outputs && state->facts.version < PROGRAM_OUTPUTS_VERSION)
    return error_set(err, STATUS_INPUT, "cannot read outputs", state->path, "docs/predictor_protocol.md",
                     "the program speaks version %d of the protocol, which has no outputs", (int)state->facts.version);
  struct json_writer json;
  begin_request(state, &json, "predict");
  if (state->is_guest)
    describe_span(&json, model);
  if (model->keep_outputs)
    json_member_bool(&json, "outputs", true);
  end_request(state, &json);
  uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
  clockid_t clock = state->facts.clock == XSP_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  question.sent_ns = question.is_simulated ? state->simulated_ns : clock_now_ns(clock);
  XSP_TRY(program_ask(&state->program, "predict", &state->request, err));
  question.received_ns = question.is_simulated ? INT64_MAX : clock_now_ns(clock);
  arena_done(&state->arena);
  struct program_prediction *prediction = &state->prediction;
  enum status status = program_read_prediction(state->program.line.data, state->program.line.length, state->path,
                                               &question, &state->arena, prediction, err);
  if (status != STATUS_OK) {
    *prediction = (struct program_prediction){0};
    return status;
  }
  if (model->keep_outputs)
    program_announce_outputs(model);
  state->start_ns = begin_ns + (prediction->model.start_ns - question.sent_ns);
  model->reported.model = prediction->model;
  model->reported.preprocess = prediction->preprocess;
  model->reported.postprocess = prediction->postprocess;
  if (question.is_simulated)
    model->reported.wall_ns = clock_now_ns(CLOCK_MONOTONIC) - begin_ns;
  else
    model->reported.transport_ns = transport_ns(&question, prediction);
  state->simulated_ns = prediction->postprocess.end_ns != 0 ? prediction->postprocess.end_ns : prediction->model.end_ns;
  return STATUS_OK;
}

// Outside every span: the layers of the last inference, whose span the runner has made by now.
enum status program_flush(struct predictor_model *model, struct error *err)
{
  struct program_state *state = model->state;
  struct program_prediction *prediction = &state->prediction;
  enum status status = framework_layer_publish(state->publisher, prediction->layers, prediction->layer_count,
                                               model->model_span, state->start_ns, err);
  *prediction = (struct program_prediction){0};
  model->outputs = NULL;
  model->output_count = model->layer_output_count = 0;
  arena_done(&state->arena);
  return status;
}

void program_close(struct predictor_model *model)
{
  struct program_state *state = model->state;
  if (state->publisher != NULL)
    (void)!program_flush(model, NULL);
  program_end(&state->program);
  arena_done(&state->arena);
  buf_done(&state->request);
  free(state->output);
  framework_layer_publisher_free(state->publisher);
}
