// SPDX-License-Identifier: Apache-2.0
// Arguments and environment of a runner (format/protocol.h lists them). Called by runner.c.
#include "launch/runner_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t runner_arguments(const struct runner_options *options, const struct runner *runner, int control_fd,
                        struct arena *arena, char **arguments)
{
  size_t count = 0;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(runner->levels, levels);
#define PUT(text)                                                                                                      \
  do {                                                                                                                 \
    if (count < RUNNER_ARGUMENTS_MAXIMUM - 1)                                                                          \
      arguments[count++] = arena_format(arena, "%s", (text));                                                          \
  } while (0)
#define PUT_OPTION(name, text)                                                                                         \
  do {                                                                                                                 \
    PUT(name);                                                                                                         \
    PUT(text);                                                                                                         \
  } while (0)
  PUT(options->program);
  PUT_OPTION("--control-fd", arena_format(arena, "%d", control_fd));
  PUT_OPTION("--model", options->model_path);
  PUT_OPTION("--predictor", options->predictor);
  PUT_OPTION("--levels", levels);
  PUT_OPTION("--tracer-directory", options->tracer_directory);
  PUT_OPTION("--work-directory", runner->work_directory);
  PUT_OPTION("--seed", arena_format(arena, "%" PRIu64, options->seed));
  if (options->library != NULL)
    PUT_OPTION("--library", options->library);
  if (options->threads != 0)
    PUT_OPTION("--threads", arena_format(arena, "%u", options->threads));
  if (options->affinity != NULL)
    PUT_OPTION("--affinity", options->affinity);
  for (size_t i = 0; options->inputs != NULL && options->inputs[i] != NULL; i++)
    PUT_OPTION("--input", options->inputs[i]);
  for (size_t i = 0; options->dims != NULL && options->dims[i] != NULL; i++)
    PUT_OPTION("--dim", options->dims[i]);
  for (size_t i = 0; options->expectations != NULL && options->expectations[i] != NULL; i++)
    PUT_OPTION("--expect", options->expectations[i]);
  if (options->profile_file)
    PUT("--profile-file");
  if (options->unfused)
    PUT("--unfused");
#undef PUT_OPTION
#undef PUT
  arguments[count] = NULL;
  return count;
}

void runner_become(char **arguments, const char *session_directory, const char *tracers, int output, int control)
{
  setenv("XSP_SESSION", session_directory, 1);
  if (tracers != NULL)
    setenv("XSP_TRACERS", tracers, 1);
  else
    unsetenv("XSP_TRACERS");
  int null_fd = open("/dev/null", O_RDONLY);
  if (null_fd >= 0)
    dup2(null_fd, 0);
  dup2(output, 1); // a framework that prints must not write into our data
  dup2(output, 2);
  fcntl(control, F_SETFD, 0);
  setpgid(0, 0); // Ctrl-C reaches xsp, which ends the runners in order
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  execv(arguments[0], arguments);
  dprintf(2, "cannot start %s: %s\n", arguments[0], strerror(errno));
  _exit(127);
}
