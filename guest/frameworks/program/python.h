// SPDX-License-Identifier: Apache-2.0
// Predictor programs of xsp's own, which run in the user's Python. In the runner only, one thread.
#ifndef XSP_FRAMEWORKS_PROGRAM_PYTHON_H
#define XSP_FRAMEWORKS_PROGRAM_PYTHON_H

#include "frameworks/program/requests.h"

#include <limits.h>

struct program_python {
  const char *package;  // "torch"
  const char *title;    // "PyTorch", in errors
  const char *variable; // of the environment, with an interpreter
  const char *script;   // the program, next to the folder of the tracers
  const char *advice;   // where the package is missing
};

// The interpreter: `library_path`, else the variable's, else that of PATH. A path is an interpreter, an environment, or its
// site-packages folder. What was given is final.
enum status program_python_find(const struct program_python *python, const char *library_path, char path[PATH_MAX],
                                struct error *err) MUST_CHECK;
// As struct predictor's probe. Errors: STATUS_SYSTEM with Python's reason.
enum status program_python_probe(const struct program_python *python, const char *library_path, char *library,
                                 size_t library_size, char *version, size_t version_size, struct error *err) MUST_CHECK;
const char *program_python_script(const struct program_python *python, const char *tracer_directory,
                                  struct arena *arena);
enum status program_python_open(const struct program_python *python, struct predictor_model *model,
                                const struct program_command *command, struct arena *arena,
                                struct error *err) MUST_CHECK;
// "FILE.py:FUNCTION", "PACKAGE.MODULE:FUNCTION". Other paths may have a colon, too.
bool program_names_function(const char *path);
// The program's own words on what failed, as an error of the model. It may put an advice after "; try: ".
enum status program_reword(const struct predictor_model *model, const char *what, enum status status,
                           struct error *err) MUST_CHECK;

#endif
