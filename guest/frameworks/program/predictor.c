// SPDX-License-Identifier: Apache-2.0
// Any program that speaks the predictor protocol (docs/predictor_protocol.md) as a framework. Called by the runner and by
// `xsp check` (probe); requests.c talks with the program.
#include "frameworks/program/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static enum status open_program(struct predictor_model *model, struct arena *arena, struct error *err)
{
  const struct program_state *state = model->state;
  const char *given = given_program(state->common.options.library_path);
  const struct program_command command = {.path = given != NULL ? given : state->common.options.model_path};
  return program_open(model, &command, arena, err);
}

const struct predictor predictor_program = {
    .name = "program",
    .summary = "any program that speaks the predictor protocol",
    .extensions = ".py .predictor",
    .tells_times = true,
    .tells_units = true,
    .executes_model = true,
    .has_devices = true,
    .state_bytes = sizeof(struct program_state),
    .probe = program_probe,
    .open = open_program,
    .prepare = program_prepare,
    .refresh = program_prepare,
    .predict = program_predict,
    .read_output = program_read_output,
    .flush = program_flush,
    .resume = program_flush,
    .close = program_close,
};
