// SPDX-License-Identifier: Apache-2.0
// Ends a runner's process, and explains its end with what it wrote last; see runner_end.h.
#include "launch/runner_private.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIT_WAIT_MS 5000

// The last lines of what the runner wrote, on one line, newest last.
static void output_tail(const struct runner *runner, char *text, size_t size)
{
  text[0] = 0;
  if (runner->output < 0)
    return;
  off_t end = lseek(runner->output, 0, SEEK_END);
  off_t from = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
  ssize_t got = pread(runner->output, text, size - 1, from);
  text[got > 0 ? got : 0] = 0;
  while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' '))
    text[--got] = 0;
}

void runner_kill(const struct runner *runner)
{
  kill(runner->child.process, runner->end != NULL ? SIGTERM : SIGKILL);
}

int runner_reap(struct runner *runner, bool *ret_was_killed)
{
  *ret_was_killed = child_wait(&runner->child, QUIT_WAIT_MS, NULL) == CHILD_LATE;
  if (*ret_was_killed) {
    runner_kill(runner);
    (void)child_wait(&runner->child, -1, NULL);
  }
  return child_end(&runner->child, 0);
}

enum status runner_explain_end(struct runner *runner, struct error *err)
{
  bool was_killed = false;
  int how = runner_reap(runner, &was_killed);
  char tail[320];
  output_tail(runner, tail, sizeof tail);
  const char *separator = tail[0] != 0 ? "; it last wrote: " : "";
  if (runner->end != NULL && isolation_explain(runner->isolation, runner->end, tail, err))
    return STATUS_SYSTEM;
  if (was_killed)
    return error_set(err, STATUS_SYSTEM, "the runner does not answer", runner->model_path, NULL,
                     "it closed its connection and went on; it was killed%s%s", separator, tail);
  if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL)
    return error_set(
        err, STATUS_SYSTEM, "the runner was killed", runner->model_path,
        "a smaller --batch, more memory (the kernel's log says whether it ran out), or --sequential for variants",
        "signal 9, as the kernel sends when memory runs out%s%s", separator, tail);
  if (WIFSIGNALED(how))
    return error_set(err, STATUS_INPUT, "the framework crashed in the runner", runner->model_path,
                     "the model in the framework's own tools; xsp itself is unharmed", "signal %d (%s)%s%s",
                     WTERMSIG(how), strsignal(WTERMSIG(how)), separator, tail);
  return error_set(err, WEXITSTATUS(how) == 127 ? STATUS_SYSTEM : STATUS_INPUT, "the runner ended by itself",
                   runner->model_path, "xsp check", "exit status %d%s%s", WEXITSTATUS(how), separator, tail);
}
