// SPDX-License-Identifier: Apache-2.0
// A model in its framework without xsp, for bench/predictors.py: plain in one process, with the framework's own
// profiler in another (the predictor's layers by --profile-file, without our listener). The parent of both gives them
// turns of one inference, as xsp does. Calls into the framework and inputs are the runner's, without capture session,
// span or collector; the time of xsp's own code within an inference is subtracted. Arguments: inferences, warm-ups,
// batch size, then the runner's options. Prints "plain" or "own" and the nanoseconds of each.
#include "frameworks/frameworks.h"
#include "programs/runner/arguments.h"
#include "programs/runner/inputs.h"
#include "programs/runner/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void fail(const struct error *err)
{
  char line[2048];
  error_line(err, line, sizeof line);
  fprintf(stderr, "%s\n", line);
  _exit(1);
}

static double now_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t own_ticks(const struct predictor_model *model)
{
  return model->own_ticks != NULL ? model->own_ticks() : 0;
}

struct turns { // a process waits for its turn, and reports its end
  int wait_fd, done_fd;
};

static void run(const struct runner_arguments *arguments, const char *const *numbers, const struct turns *turns,
                FILE *out)
{
  struct error err = {0};
  struct arena arena = {0};
  struct predictor_model model = {0};
  struct inputs inputs = {0};
  const struct predictor *predictor = predictor_find(arguments->predictor);
  long inferences = strtol(numbers[0], NULL, 10), warmups = strtol(numbers[1], NULL, 10);
  double first_ns = now_ns();
  uint64_t first_ticks = xsp_clock_ticks();
  if (predictor == NULL || predictor_open(predictor, &arguments->options, &arena, &model, &err) != STATUS_OK)
    fail(&err);
  placement_keep_clear();
  if (inference_inputs_prepare(&inputs, &model, arguments, strtol(numbers[2], NULL, 10), &err) != STATUS_OK ||
      (predictor->prepare != NULL && predictor->prepare(&model, inputs.tensors, &err) != STATUS_OK))
    fail(&err);
  double ns_per_tick = (now_ns() - first_ns) / (double)(xsp_clock_ticks() - first_ticks);
  for (long i = 0; i < inferences + warmups; i++) {
    char turn = 0;
    if (read(turns->wait_fd, &turn, 1) != 1)
      _exit(1);
    if (predictor->resume != NULL && predictor->resume(&model, &err) != STATUS_OK)
      fail(&err);
    uint64_t own = own_ticks(&model);
    double start_ns = now_ns();
    if (predictor->predict(&model, inputs.tensors, &err) != STATUS_OK)
      fail(&err);
    double taken_ns = now_ns() - start_ns - (double)(own_ticks(&model) - own) * ns_per_tick;
    if (write(turns->done_fd, &turn, 1) != 1)
      _exit(1);
    if (i >= warmups)
      fprintf(out, " %.0f", taken_ns);
  }
}

// The process of one way; it writes its answer to stdout after its last turn.
static pid_t start(const struct runner_arguments *given, const char *const *numbers, bool is_own,
                   struct turns *ret_turns)
{
  int turn[2], done[2];
  if (pipe2(turn, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0)
    return -1;
  *ret_turns = (struct turns){done[0], turn[1]};
  pid_t process = fork();
  if (process != 0) {
    close(turn[0]);
    close(done[1]);
    return process;
  }
  struct runner_arguments arguments = *given;
  arguments.options.level_mask = XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | (is_own ? XSP_LEVEL_MASK(XSP_LEVEL_LAYER) : 0);
  arguments.options.force_profile_file = true;
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  FILE *answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO); // keeps a framework's output off stdout
  run(&arguments, numbers, &(struct turns){turn[0], done[1]}, out);
  fclose(out);
  fprintf(answers, "%s%s\n", is_own ? "own" : "plain", text);
  fflush(answers);
  _exit(0); // destructors of some frameworks hang
}

int main(int count, char **values)
{
  struct error err = {0};
  struct arena arena = {0};
  struct runner_arguments arguments = {0};
  if (count < 5)
    return 2;
  if (arguments_parse(count - 3, values + 3, &arena, &arguments, &err) != STATUS_OK)
    fail(&err);
  signal(SIGPIPE, SIG_IGN);
  struct turns turns[2] = {{0}};
  for (int way = 0; way < 2; way++)
    if (start(&arguments, (const char *const *)values + 1, way == 1, &turns[way]) < 0)
      return 1;
  long rounds = strtol(values[1], NULL, 10) + strtol(values[2], NULL, 10);
  for (long i = 0; i < 2 * rounds; i++) {
    char turn = 0;
    if (write(turns[i % 2].done_fd, &turn, 1) != 1 || read(turns[i % 2].wait_fd, &turn, 1) != 1)
      return 1;
  }
  int how = 0, failed = 0;
  while (wait(&how) > 0)
    failed |= how;
  return failed != 0;
}
