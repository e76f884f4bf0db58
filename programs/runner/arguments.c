// SPDX-License-Identifier: Apache-2.0
// Reads the runner's command line. Written by a program (`xsp profile`), so it is strict and has no help.
#include "programs/runner/arguments.h"

#include "format/level.h"
#include "manifests/expect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum status wrong(const char *option, const char *value, const char *why, struct error *err)
{
  return error_set(err, STATUS_USE, "wrong use", option, "xsp help profile", "%s: %s", why, value);
}

static bool read_number(const char *text, uint64_t maximum, uint64_t *ret_value)
{
  char *end = NULL;
  errno = 0;
  *ret_value = strtoull(text, &end, 10);
  return isdigit((unsigned char)text[0]) && errno == 0 && *end == 0 && *ret_value <= maximum;
}

// "NAME=VALUE", cut at the first equals sign.
static const char *split(const char *text, struct arena *arena, const char **ret_value)
{
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text || equals[1] == 0)
    return NULL;
  *ret_value = equals + 1;
  return arena_copy(arena, text, (size_t)(equals - text));
}

static enum status set_option(const char *option, const char *value, struct arena *arena,
                              struct runner_arguments *arguments, struct error *err)
{
  struct predictor_options *options = &arguments->options;
  const struct {
    const char *option;
    const char **target;
  } texts[] = {{"--model", &options->model_path},
               {"--weights", &options->weights_path},
               {"--predictor", &arguments->predictor},
               {"--tracer-directory", &options->tracer_directory},
               {"--work-directory", &options->work_directory},
               {"--library", &options->library_path},
               {"--device", &options->device},
               {"--affinity", &arguments->affinity},
               {"--preprocess", &arguments->preprocess},
               {"--postprocess", &arguments->postprocess}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(option, texts[i].option) == 0) {
      *texts[i].target = value;
      return STATUS_OK;
    }
  uint64_t number = 0;
  const char *text = NULL;
  if (strcmp(option, "--input") == 0) {
    struct named_file *input = &options->inputs[options->input_count++];
    input->name = split(value, arena, &input->path);
    return input->name != NULL ? STATUS_OK : wrong(option, value, "expected NAME=FILE.npy", err);
  }
  if (strcmp(option, "--dim") == 0) {
    struct named_size *dim = &arguments->dims[arguments->dim_count++];
    dim->name = split(value, arena, &text);
    if (dim->name == NULL || !read_number(text, INT32_MAX, &number))
      return wrong(option, value, "expected NAME=NUMBER", err);
    dim->size = (int64_t)number;
  } else if (strcmp(option, "--expect") == 0) {
    if (!expectation_parse(value, arena, &arguments->expectations[arguments->expectation_count++]))
      return wrong(option, value, "malformed", err);
  } else if (strcmp(option, "--levels") == 0) {
    struct level_set levels;
    if (!level_set_parse(value, strlen(value), &levels))
      return wrong(option, value, "no level set", err);
    options->level_mask = levels.mask;
  } else if (strcmp(option, "--control-fd") == 0) {
    if (!read_number(value, INT32_MAX, &number))
      return wrong(option, value, "no descriptor", err);
    arguments->control_fd = (int)number;
  } else if (strcmp(option, "--values-fd") == 0) {
    if (!read_number(value, INT32_MAX, &number))
      return wrong(option, value, "no descriptor", err);
    arguments->values_fd = (int)number;
  } else if (strcmp(option, "--threads") == 0) {
    if (!read_number(value, 4096, &number))
      return wrong(option, value, "no number of threads", err);
    options->threads = (unsigned)number;
  } else if (strcmp(option, "--seed") == 0) {
    if (!read_number(value, UINT64_MAX, &arguments->seed))
      return wrong(option, value, "no number", err);
  } else {
    return wrong(option, value, "unknown option", err);
  }
  return STATUS_OK;
}

enum status arguments_parse(int count, char **values, struct arena *arena, struct runner_arguments *ret_arguments,
                            struct error *err)
{
  *ret_arguments = (struct runner_arguments){.control_fd = -1, .values_fd = -1};
  ret_arguments->options.inputs = arena_alloc_array(arena, (size_t)count, sizeof *ret_arguments->options.inputs);
  ret_arguments->dims = arena_alloc_array(arena, (size_t)count, sizeof *ret_arguments->dims);
  ret_arguments->expectations = arena_alloc_array(arena, (size_t)count, sizeof *ret_arguments->expectations);
  struct predictor_options *options = &ret_arguments->options;
  for (int i = 1; i < count; i++) {
    if (strcmp(values[i], "--profile-file") == 0) {
      options->force_profile_file = true;
    } else if (strcmp(values[i], "--unfused") == 0) {
      options->unfused = true;
    } else if (strcmp(values[i], "--pin-algorithms") == 0) {
      options->pin_algorithms = true;
    } else if (strcmp(values[i], "--layer-outputs") == 0) {
      options->layer_outputs = true;
    } else if (i + 1 == count) {
      return wrong(values[i], "nothing follows", "a value expected", err);
    } else {
      XSP_TRY(set_option(values[i], values[i + 1], arena, ret_arguments, err));
      i++;
    }
  }
  if (ret_arguments->control_fd < 0 || options->model_path == NULL || options->tracer_directory == NULL ||
      options->work_directory == NULL)
    return error_set(err, STATUS_USE, "wrong use of xsp-runner", NULL, "xsp profile MODEL",
                     "--control-fd, --model, --tracer-directory and --work-directory are needed");
  return STATUS_OK;
}
