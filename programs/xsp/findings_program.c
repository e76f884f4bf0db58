// SPDX-License-Identifier: Apache-2.0
// Starts `python3 -m xsp.findings` and reads what it prints. Called by findings_own.c.
#include "programs/xsp/findings_program.h"

#include "base/python.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_BYTES_MOST ((size_t)16 << 20)
#define WHAT "cannot run the finding"

extern char **environ;

// python3 -m, but modules of the current folder, which nobody named, are not imported.
static const char as_module[] = "import sys; sys.path = [path for path in sys.path if path]; import runpy; "
                                "runpy.run_module('xsp.findings', run_name='__main__', alter_sys=True)";

static enum status start(const char *python, const char *program, const char *trace, int output, pid_t *ret_child,
                         struct error *err)
{
  char *const arguments[] = {(char *)(uintptr_t)python, "-c", (char *)(uintptr_t)as_module, (char *)(uintptr_t)program,
                             (char *)(uintptr_t)trace,  NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  int failure = posix_spawnp(ret_child, python, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == 0)
    return STATUS_OK;
  return error_set(err, STATUS_SYSTEM, WHAT, program, "pip install ./python, in the active environment", "%s: %s",
                   python, strerror(failure));
}

// False: there is too much.
static bool read_all(int from, struct buf *text)
{
  char part[1 << 14];
  for (;;) {
    ssize_t got = read(from, part, sizeof part);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return true;
    if (text->length + (size_t)got > OUTPUT_BYTES_MOST)
      return false;
    buf_put(text, part, (size_t)got);
  }
}

enum status findings_program_run(const char *program, const char *trace, struct buf *text, struct error *err)
{
  char python[PATH_MAX];
  int ends[2], state = 0;
  pid_t child = 0;
  python_program(python, sizeof python);
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error_set_errno(err, STATUS_SYSTEM, WHAT, program, NULL);
  enum status status = start(python, program, trace, ends[1], &child, err);
  close(ends[1]);
  bool is_all = status == STATUS_OK && read_all(ends[0], text);
  close(ends[0]);
  if (status != STATUS_OK)
    return status;
  if (!is_all)
    kill(child, SIGKILL);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    ;
  if (!is_all)
    return error_set(err, STATUS_INPUT, WHAT, program, "fewer findings", "it printed more than 16 MiB");
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, WHAT, program, "its messages above; the package: pip install ./python",
                   "%s -m xsp.findings ended with %s %d", python, WIFSIGNALED(state) ? "signal" : "exit status",
                   WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
}
