// SPDX-License-Identifier: Apache-2.0
// Starts `python3 -m xsp.findings` and reads what it prints. Called by findings_own.c.
#include "programs/xsp/verb_analyze/findings_program.h"

#include "base/clock.h"
#include "base/python.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_BYTES_MOST ((size_t)16 << 20)
#define WHAT "cannot run the finding"

extern char **environ;

// python3 -m, but modules of the current folder, which nobody named, are not imported. It ends with xsp (PR_SET_PDEATHSIG), as the
// signals of a terminal do not reach its process group.
static const char as_module[] = "import sys; sys.path = [path for path in sys.path if path]; import ctypes, runpy; "
                                "ctypes.CDLL(None).prctl(1, 9); "
                                "runpy.run_module('xsp.findings', run_name='__main__', alter_sys=True)";

// In a process group of its own, so that what it starts can be killed with it.
static enum status start(const char *python, const char *program, const char *trace, int output, pid_t *ret_child,
                         struct error *err)
{
  char *const arguments[] = {(char *)(uintptr_t)python, "-c", (char *)(uintptr_t)as_module, (char *)(uintptr_t)program,
                             (char *)(uintptr_t)trace,  NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  int failure = posix_spawnp(ret_child, python, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == 0)
    return STATUS_OK;
  return error_set(err, STATUS_SYSTEM, WHAT, program, "pip install ./answers/python, in the active environment",
                   "%s: %s", python, strerror(failure));
}

enum outcome { ENDED, TOO_MUCH, TOO_LONG };

static int milliseconds_until(uint64_t end_ns)
{
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  return end_ns == UINT64_MAX ? -1 : now_ns >= end_ns ? 0 : (int)((end_ns - now_ns) / 1000000 + 1);
}

// Reads until the program has ended, whoever else holds its stdout then.
static enum outcome read_output(pid_t child, int from, uint64_t end_ns, struct buf *text)
{
  char part[1 << 14];
  int process = (int)syscall(SYS_pidfd_open, child, 0); // Linux < 5.3: -1, and the end of its stdout is its end
  struct pollfd waits[] = {{.fd = from, .events = POLLIN}, {.fd = process, .events = POLLIN}};
  enum outcome outcome = ENDED;
  while (waits[0].fd >= 0 || process >= 0) {
    int ready = poll(waits, 2, milliseconds_until(end_ns));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0) {
      outcome = TOO_LONG;
      break;
    }
    if (waits[0].revents == 0)
      break;
    ssize_t got = read(from, part, sizeof part);
    if (got <= 0)
      waits[0].fd = -1;
    else if (text->length + (size_t)got > OUTPUT_BYTES_MOST) {
      outcome = TOO_MUCH;
      break;
    } else
      buf_put(text, part, (size_t)got);
  }
  if (process >= 0)
    close(process);
  return outcome;
}

static enum status judge(const char *program, const char *python, enum outcome outcome, int state, unsigned timeout_s,
                         struct error *err)
{
  if (outcome == TOO_MUCH)
    return error_set(err, STATUS_INPUT, WHAT, program, "fewer findings", "it printed more than 16 MiB");
  if (outcome == TOO_LONG)
    return error_set(err, STATUS_INPUT, WHAT, program, "a look at what it waits for, or --findings-timeout SECONDS",
                     "it ran for more than %u s", timeout_s);
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, WHAT, program, "its messages above; the package: pip install ./answers/python",
                   "%s -m xsp.findings ended with %s %d", python, WIFSIGNALED(state) ? "signal" : "exit status",
                   WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
}

enum status findings_program_run(const char *program, const char *trace, unsigned timeout_s, struct buf *text,
                                 struct error *err)
{
  char python[PATH_MAX];
  int ends[2], state = 0;
  pid_t child = 0;
  python_program(python, sizeof python);
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error_set_errno(err, STATUS_SYSTEM, WHAT, program, NULL);
  enum status status = start(python, program, trace, ends[1], &child, err);
  close(ends[1]);
  uint64_t end_ns = timeout_s == 0 ? UINT64_MAX : clock_now_ns(CLOCK_MONOTONIC) + timeout_s * UINT64_C(1000000000);
  enum outcome outcome = status == STATUS_OK ? read_output(child, ends[0], end_ns, text) : ENDED;
  close(ends[0]);
  if (status != STATUS_OK)
    return status;
  if (outcome != ENDED)
    kill(-child, SIGKILL);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    ;
  return judge(program, python, outcome, state, timeout_s, err);
}
