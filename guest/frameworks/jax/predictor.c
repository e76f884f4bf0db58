// SPDX-License-Identifier: Apache-2.0
// Models of JAX: a Python function that returns a function, or a file of jax.export. They run in the Python interpreter that has
// JAX, in a program of xsp's own (predictor.py) that speaks the predictor protocol: it reports layers from JAX's profiler. Called by
// the runner and by `xsp check`.
#include "frameworks/program/python.h"

struct state {
  struct program_state program; // first
  struct program_command command;
  char interpreter[PATH_MAX];
};

static const struct program_python python = {.package = "jax",
                                             .title = "JAX",
                                             .variable = "XSP_LIBRARY_JAX",
                                             .script = "jax_predictor.py",
                                             .advice = "pip install jax; --library jax=PATH or XSP_LIBRARY_JAX=PATH, "
                                                       "of a Python that has it"};

static enum status jax_probe(const char *library_path, char *library, size_t library_size, char *version,
                             size_t version_size, struct error *err)
{
  return program_python_probe(&python, library_path, library, library_size, version, version_size, err);
}

static enum status jax_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct state *state = model->state;
  const struct predictor_options *options = &state->program.common.options;
  state->program.program = (struct program){.socket = -1, .inputs = -1, .outputs = -1, .guarded = -1};
  XSP_TRY(program_python_find(&python, options->library_path, state->interpreter, err));
  state->command = (struct program_command){.path = options->model_path,
                                            .interpreter = state->interpreter,
                                            .script = program_python_script(&python, options->tracer_directory, arena)};
  XSP_TRY(program_python_open(&python, model, &state->command, arena, err));
  model->layer_source = state->program.common.has_layers ? "JAX's profiler" : "none";
  return STATUS_OK;
}

static enum status jax_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  return program_reword(model, "cannot compile the model", program_prepare(model, inputs, err), err);
}

static enum status jax_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  return program_reword(model, "cannot run the model", program_predict(model, inputs, err), err);
}

const struct predictor predictor_jax = {
    .name = "jax",
    .summary = "JAX: Python functions, files of jax.export",
    .extensions = ".jax .stablehlo",
    .tells_times = true,
    .executes_model = true,
    .has_devices = true,
    .state_bytes = sizeof(struct state),
    .probe = jax_probe,
    .open = jax_open,
    .prepare = jax_prepare,
    .refresh = jax_prepare,
    .predict = jax_predict,
    .read_output = program_read_output,
    .flush = program_flush,
    .resume = program_flush,
    .close = program_close,
};
