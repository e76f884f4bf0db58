// SPDX-License-Identifier: Apache-2.0
// Predictor programs of xsp's own in the user's Python: which interpreter, whether it has the framework, what they are asked to open,
// and their words on what failed. Called by the predictors of PyTorch and JAX, and through them by `xsp check`.
#include "frameworks/program/python.h"

#include "base/python.h"
#include "base/slice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMPORT_WAIT_MS 50000 // half a gigabyte of libraries, on a cold disk

// ---- the interpreter -------------------------------------------------------------------------------------------------

// `given` is an interpreter, an environment, or its site-packages folder. What was given is final.
static enum status given_interpreter(const struct program_python *python, const char *given, char path[PATH_MAX],
                                     struct error *err)
{
  struct stat info;
  if (stat(given, &info) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot use library", given, python->advice);
  if (!S_ISDIR(info.st_mode)) {
    snprintf(path, PATH_MAX, "%s%s", strchr(given, '/') == NULL ? "./" : "", given);
    return STATUS_OK;
  }
  const char *up = text_ends_with(given, "/site-packages") ? "../../../" : "";
  if (snprintf(path, PATH_MAX, "%s/%sbin/python3", given, up) < PATH_MAX && access(path, X_OK) == 0)
    return STATUS_OK;
  return error_set(err, STATUS_SYSTEM, "cannot use library", given, python->advice, "the folder has no bin/python3");
}

enum status program_python_find(const struct program_python *python, const char *library_path, char path[PATH_MAX],
                                struct error *err)
{
  const char *variable = getenv(python->variable);
  const char *given = library_path != NULL ? library_path : variable;
  if (given != NULL && given[0] != 0)
    return given_interpreter(python, given, path, err);
  python_program(path, PATH_MAX);
  return STATUS_OK;
}

// Imports the package. Errors: STATUS_SYSTEM with Python's reason.
static enum status ask_version(const struct program_python *python, const char *interpreter, char *version, size_t size,
                               struct error *err)
{
  char text[1024], what[64], code[512];
  snprintf(what, sizeof what, "cannot use %s", python->title);
  snprintf(code, sizeof code,
           "try:\n"
           "  import %s as package\n"
           "  print('version', package.__version__)\n"
           "except BaseException as error:\n"
           "  print('error', type(error).__name__, str(error).split('\\n')[0])\n",
           python->package);
  if (!python_ask(interpreter, code, IMPORT_WAIT_MS, text, sizeof text) || text[0] == 0)
    return error_set(err, STATUS_SYSTEM, what, interpreter, python->advice,
                     "not a Python interpreter, or no answer within %d s", IMPORT_WAIT_MS / 1000);
  text[strcspn(text, "\n")] = 0;
  if (!text_begins_with(text, "version "))
    return error_set(err, STATUS_SYSTEM, what, interpreter, python->advice, "%s", strchr(text, ' ') + 1);
  snprintf(version, size, "%s", text + strlen("version "));
  return STATUS_OK;
}

enum status program_python_probe(const struct program_python *python, const char *library_path, char *library,
                                 size_t library_size, char *version, size_t version_size, struct error *err)
{
  char interpreter[PATH_MAX];
  XSP_TRY(program_python_find(python, library_path, interpreter, err));
  XSP_TRY(ask_version(python, interpreter, version, version_size, err));
  snprintf(library, library_size, "%s", interpreter);
  return STATUS_OK;
}

// ---- the model -------------------------------------------------------------------------------------------------------

bool program_names_function(const char *path)
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
const char *program_python_script(const struct program_python *python, const char *tracer_directory,
                                  struct arena *arena)
{
  const char *slash = strrchr(tracer_directory, '/');
  int length = slash != NULL ? (int)(slash - tracer_directory) : 0;
  return arena_format(arena, "%.*s%s%s", length, tracer_directory, slash != NULL ? "/" : "", python->script);
}

enum status program_reword(const struct predictor_model *model, const char *what, enum status status, struct error *err)
{
  const struct program_state *state = model->state;
  if (status != STATUS_INPUT || err == NULL || !text_begins_with(err->what, "the predictor program cannot"))
    return status;
  struct error before = *err;
  char *advice = strstr(before.why, "; try: ");
  if (advice != NULL)
    *advice = 0;
  return predictor_failed(&state->common, what, before.why, advice != NULL ? advice + strlen("; try: ") : NULL, err);
}

enum status program_python_open(const struct program_python *python, struct predictor_model *model,
                                const struct program_command *command, struct arena *arena, struct error *err)
{
  enum status status = program_open(model, command, arena, err);
  char version[64];
  if (status != STATUS_OK) // of an interpreter without the package that is the reason
    XSP_TRY(ask_version(python, command->interpreter, version, sizeof version, err));
  XSP_TRY(program_reword(model, "cannot open model", status, err));
  model->library_path = command->interpreter;
  return STATUS_OK;
}
