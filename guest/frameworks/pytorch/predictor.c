// SPDX-License-Identifier: Apache-2.0
// Models of PyTorch: TorchScript, torch.export, or a Python function that returns a module. They run in the Python
// interpreter that has PyTorch, in a program of xsp's own (predictor.py) that speaks the predictor protocol and is a guest of
// the capture session: it publishes the model spans, tracer `pytorch` in it the layers. Called by the runner and by
// `xsp check`.
#include "frameworks/program/requests.h"

#include "base/python.h"
#include "base/slice.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMPORT_WAIT_MS 50000 // half a gigabyte of libraries, on a cold disk
#define GUEST_VARIABLES 4
#define INSTALL_ADVICE "pip install torch; --library pytorch=PATH or XSP_LIBRARY_PYTORCH=PATH, of a Python that has it"

struct state {
  struct program_state program; // first
  struct program_command command;
  char interpreter[PATH_MAX];
  const char *guest_variables[GUEST_VARIABLES + 1];
};

// ---- the interpreter -------------------------------------------------------------------------------------------------

// `given` is an interpreter, an environment, or its site-packages folder. What was given is final.
static enum status given_interpreter(const char *given, char path[PATH_MAX], struct error *err)
{
  struct stat info;
  if (stat(given, &info) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot use library", given, INSTALL_ADVICE);
  if (!S_ISDIR(info.st_mode)) {
    snprintf(path, PATH_MAX, "%s%s", strchr(given, '/') == NULL ? "./" : "", given);
    return STATUS_OK;
  }
  const char *up = text_ends_with(given, "/site-packages") ? "../../../" : "";
  if (snprintf(path, PATH_MAX, "%s/%sbin/python3", given, up) < PATH_MAX && access(path, X_OK) == 0)
    return STATUS_OK;
  return error_set(err, STATUS_SYSTEM, "cannot use library", given, INSTALL_ADVICE, "the folder has no bin/python3");
}

static enum status find_interpreter(const char *library_path, char path[PATH_MAX], struct error *err)
{
  const char *variable = getenv("XSP_LIBRARY_PYTORCH");
  const char *given = library_path != NULL ? library_path : variable;
  if (given != NULL && given[0] != 0)
    return given_interpreter(given, path, err);
  python_program(path, PATH_MAX);
  return STATUS_OK;
}

// Imports PyTorch. Errors: STATUS_SYSTEM with Python's reason.
static enum status ask_version(const char *interpreter, char *version, size_t size, struct error *err)
{
  static const char code[] = "try:\n"
                             "  import torch\n"
                             "  print('version', torch.__version__)\n"
                             "except BaseException as error:\n"
                             "  print('error', type(error).__name__, str(error).split('\\n')[0])\n";
  const char *what = "cannot use PyTorch";
  char text[1024];
  if (!python_ask(interpreter, code, IMPORT_WAIT_MS, text, sizeof text) || text[0] == 0)
    return error_set(err, STATUS_SYSTEM, what, interpreter, INSTALL_ADVICE,
                     "not a Python interpreter, or no answer within %d s", IMPORT_WAIT_MS / 1000);
  text[strcspn(text, "\n")] = 0;
  if (!text_begins_with(text, "version "))
    return error_set(err, STATUS_SYSTEM, what, interpreter, INSTALL_ADVICE, "%s", strchr(text, ' ') + 1);
  snprintf(version, size, "%s", text + strlen("version "));
  return STATUS_OK;
}

static enum status pytorch_probe(const char *library_path, char *library, size_t library_size, char *version,
                                 size_t version_size, struct error *err)
{
  char interpreter[PATH_MAX];
  XSP_TRY(find_interpreter(library_path, interpreter, err));
  XSP_TRY(ask_version(interpreter, version, version_size, err));
  snprintf(library, library_size, "%s", interpreter);
  return STATUS_OK;
}

// ---- open ------------------------------------------------------------------------------------------------------------

// "FILE.py:FUNCTION", "PACKAGE.MODULE:FUNCTION". Other paths may have a colon, too.
static bool names_function(const char *path)
{
  const char *colon = strrchr(path, ':');
  if (colon == NULL || colon == path || !(isalpha((unsigned char)colon[1]) || colon[1] == '_'))
    return false;
  for (const char *at = colon + 1; *at != 0; at++)
    if (!isalnum((unsigned char)*at) && *at != '_' && *at != '.')
      return false;
  bool is_file = colon - path > 3 && strncmp(colon - 3, ".py", 3) == 0;
  for (const char *at = path; at < colon && !is_file; at++)
    if (!isalnum((unsigned char)*at) && *at != '_' && *at != '.')
      return false;
  return access(path, F_OK) != 0;
}

// Next to the folder of the tracers.
static const char *script_path(const char *tracer_directory, struct arena *arena)
{
  const char *slash = strrchr(tracer_directory, '/');
  int length = slash != NULL ? (int)(slash - tracer_directory) : 0;
  return arena_format(arena, "%.*s%spytorch_predictor.py", length, tracer_directory, slash != NULL ? "/" : "");
}

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

// The program's own words on what failed, as an error of the model. It may put an advice after "; try: ".
static enum status reword(const struct predictor_model *model, const char *what, enum status status, struct error *err)
{
  const struct state *state = model->state;
  if (status != STATUS_INPUT || err == NULL || !text_begins_with(err->what, "the predictor program cannot"))
    return status;
  struct error before = *err;
  char *advice = strstr(before.why, "; try: ");
  if (advice != NULL)
    *advice = 0;
  return predictor_failed(&state->program.common, what, before.why, advice != NULL ? advice + strlen("; try: ") : NULL,
                          err);
}

static enum status pytorch_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct state *state = model->state;
  const struct predictor_options *options = &state->program.common.options;
  state->program.program = (struct program){.socket = -1, .inputs = -1, .outputs = -1, .guarded = -1};
  XSP_TRY(find_interpreter(options->library_path, state->interpreter, err));
  XSP_TRY(make_guest(state, arena, err));
  state->command = (struct program_command){
      .path = options->model_path,
      .interpreter = state->interpreter,
      .script = script_path(options->tracer_directory, arena),
      .guest_variables = state->guest_variables,
  };
  enum status status = program_open(model, &state->command, arena, err);
  char version[64];
  if (status != STATUS_OK) // of an interpreter without PyTorch that is the reason
    XSP_TRY(ask_version(state->interpreter, version, sizeof version, err));
  XSP_TRY(reword(model, "cannot open model", status, err));
  model->library_path = state->interpreter;
  model->layer_source = state->program.common.has_layers ? "tracer pytorch" : "none";
  model->device = "cpu";
  model->device_class = PREDICTOR_ON_CPU;
  return STATUS_OK;
}

static enum status pytorch_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  return reword(model, "cannot make inputs", program_prepare(model, inputs, err), err);
}

static enum status pytorch_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  return reword(model, "cannot run the model", program_predict(model, inputs, err), err);
}

const struct predictor predictor_pytorch = {
    .name = "pytorch",
    .summary = "PyTorch: TorchScript, torch.export, Python functions",
    .extensions = ".pt .pt2",
    .names_function = names_function,
    .publishes_model = true,
    .executes_model = true,
    .state_bytes = sizeof(struct state),
    .probe = pytorch_probe,
    .open = pytorch_open,
    .prepare = pytorch_prepare,
    .refresh = pytorch_prepare,
    .predict = pytorch_predict,
    .read_output = program_read_output,
    .close = program_close,
};
