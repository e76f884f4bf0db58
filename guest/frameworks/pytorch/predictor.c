// SPDX-License-Identifier: Apache-2.0
// Models of PyTorch: TorchScript, torch.export, or a Python function that returns a module. They run in the Python
// interpreter that has PyTorch, in a program of xsp's own (predictor.py) that speaks the predictor protocol and is a guest of
// the capture session: it publishes the model spans, tracer `pytorch` in it the layers. Called by the runner and by
// `xsp check`.
#include "frameworks/program/python.h"
#include "frameworks/program/requests.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUEST_VARIABLES 4

struct state {
  struct program_state program; // first
  struct program_command command;
  char interpreter[PATH_MAX];
  const char *guest_variables[GUEST_VARIABLES + 1];
};

static const struct program_python python = {.package = "torch",
                                             .title = "PyTorch",
                                             .variable = "XSP_LIBRARY_PYTORCH",
                                             .script = "pytorch_predictor.py",
                                             .advice = "pip install torch; --library pytorch=PATH or "
                                                       "XSP_LIBRARY_PYTORCH=PATH, of a Python that has it"};

static enum status pytorch_probe(const char *library_path, char *library, size_t library_size, char *version,
                                 size_t version_size, struct error *err)
{
  return program_python_probe(&python, library_path, library, library_size, version, version_size, err);
}

// ---- open ------------------------------------------------------------------------------------------------------------

// As of a program that `xsp run` starts with tracer pytorch: lab/launch/environment.c.
static enum status make_guest(struct state *state, struct arena *arena, struct error *err)
{
  const char **variable = state->guest_variables, *folder = state->program.common.options.tracer_directory;
  Dl_info libxsp;
  if (dladdr((const void *)(uintptr_t)xsp_attach, &libxsp) == 0)
    return error_set(err, STATUS_SYSTEM, "a part of xsp is missing", "libxsp.so", "reinstall xsp", "not found");
  *variable++ = arena_format(arena, "XSP_LIBXSP=%s", libxsp.dli_fname);
  if (state->program.common.has_layers) {
    const char *tracer = arena_format(arena, "%s/pytorch.so", folder);
    if (access(tracer, R_OK) != 0)
      return error_set_errno(err, STATUS_SYSTEM, "a part of xsp is missing", tracer, "reinstall xsp");
    if (strpbrk(folder, ": ") != NULL)
      return error_set(err, STATUS_USE, "cannot pass this path on", folder, "xsp in a folder without ':' and spaces",
                       "the loader separates its lists by them");
    const char *tracers = getenv("XSP_TRACERS"), *preload = getenv("LD_PRELOAD");
    *variable++ =
        arena_format(arena, "XSP_TRACERS=%s%s@%s", tracers != NULL ? tracers : "", tracers != NULL ? "," : "", tracer);
    *variable++ = "XSP_SHAPES=1"; // as other frameworks' layers: they give the model's work
    *variable++ = arena_format(arena, "LD_PRELOAD=%s:%s/frameworks.so%s%s", libxsp.dli_fname, folder,
                               preload != NULL ? ":" : "", preload != NULL ? preload : "");
  }
  return STATUS_OK;
}

static enum status pytorch_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct state *state = model->state;
  const struct predictor_options *options = &state->program.common.options;
  state->program.program = (struct program){.socket = -1, .inputs = -1, .outputs = -1, .guarded = -1};
  XSP_TRY(program_python_find(&python, options->library_path, state->interpreter, err));
  XSP_TRY(make_guest(state, arena, err));
  state->command = (struct program_command){
      .path = options->model_path,
      .interpreter = state->interpreter,
      .script = program_python_script(&python, options->tracer_directory, arena),
      .guest_variables = state->guest_variables,
  };
  XSP_TRY(program_python_open(&python, model, &state->command, arena, err));
  model->library_path = state->interpreter;
  model->layer_source = state->program.common.has_layers ? "tracer pytorch" : "none";
  return STATUS_OK;
}

static enum status pytorch_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  return program_reword(model, "cannot make inputs", program_prepare(model, inputs, err), err);
}

static enum status pytorch_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  return program_reword(model, "cannot run the model", program_predict(model, inputs, err), err);
}

const struct predictor predictor_pytorch = {
    .name = "pytorch",
    .summary = "PyTorch: TorchScript, torch.export, Python functions",
    .extensions = ".pt .pt2",
    .names_function = program_names_function,
    .publishes_model = true,
    .executes_model = true,
    .has_devices = true,
    .state_bytes = sizeof(struct state),
    .probe = pytorch_probe,
    .open = pytorch_open,
    .prepare = pytorch_prepare,
    .refresh = pytorch_prepare,
    .predict = pytorch_predict,
    .read_output = program_read_output,
    .close = program_close,
};
