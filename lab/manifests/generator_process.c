// SPDX-License-Identifier: Apache-2.0
// A generator's process; see source.h. It has a process group of its own and ends with xsp, however xsp
// ends.
#include "manifests/source.h"

#include "base/clock.h"
#include "base/python.h"
#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAXIMUM (MANIFEST_LIST_MAXIMUM + 8)
#define LOOK_EVERY_MS 100
#define REPORT_EVERY_NS UINT64_C(10000000000)
#define TAIL_BYTES 4096 // of the end of what it wrote

static const int held_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define HELD (sizeof held_signals / sizeof held_signals[0])
static volatile sig_atomic_t caught; // 0: none
static struct sigaction before[HELD];
static bool is_holding;

static void on_signal(int number)
{
  caught = number;
}

static void hold_signals(void)
{
  caught = 0;
  is_holding = true;
  struct sigaction action = {.sa_handler = on_signal};
  for (size_t i = 0; i < HELD; i++) {
    sigaction(held_signals[i], NULL, &before[i]);
    if (before[i].sa_handler != SIG_IGN) // nohup
      sigaction(held_signals[i], &action, NULL);
  }
}

void manifest_run_end(void)
{
  if (!is_holding)
    return;
  is_holding = false;
  for (size_t i = 0; i < HELD; i++)
    sigaction(held_signals[i], &before[i], NULL);
  if (caught != 0)
    raise(caught);
}

static void child_main(const char *const *arguments, int output, pid_t parent)
{
  char python[PATH_MAX];
  const char *all[ARGUMENTS_MAXIMUM + 2];
  python_program(python, sizeof python);
  size_t count = 0;
  all[count++] = python;
  for (size_t i = 0; arguments[i] != NULL && count < ARGUMENTS_MAXIMUM; i++)
    all[count++] = arguments[i];
  all[count] = NULL;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  setpgid(0, 0);
  for (size_t i = 0; i < HELD; i++)
    sigaction(held_signals[i], &before[i], NULL);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1); // no new files next to the user's scripts
  setenv("PYTHONHASHSEED", "0", 1);          // the same model every time
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0)
    dup2(nothing, 0);
  dup2(output, 1);
  dup2(output, 2);
  execvp(all[0], (char *const *)(const void *)all);
  dprintf(2, "cannot start %s: %s\n", all[0], strerror(errno));
  _exit(127);
}

struct output_tail { // the end of what the script wrote
  char bytes[TAIL_BYTES];
  size_t length;
};

// False at its end.
static bool read_output(int fd, struct output_tail *tail)
{
  size_t cut = tail->length > TAIL_BYTES / 2 ? tail->length - TAIL_BYTES / 2 : 0;
  tail->length -= cut;
  memmove(tail->bytes, tail->bytes + cut, tail->length);
  ssize_t got = read(fd, tail->bytes + tail->length, TAIL_BYTES - tail->length);
  if (got > 0)
    tail->length += (size_t)got;
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// Ended, though not yet reaped: its number is still that of its group.
static bool is_over(pid_t child)
{
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

// Until it has ended, or a signal came. What it started ends with it: the model is made.
static int wait_for(pid_t child, int fd, const struct manifest *manifest, message_fn message, struct output_tail *tail)
{
  uint64_t started_ns = clock_now_ns(CLOCK_MONOTONIC), reported_ns = started_ns;
  int how = 0;
  bool is_open = true, has_ended = false;
  while (!has_ended) {
    struct pollfd ready = {.fd = is_open ? fd : -1, .events = POLLIN};
    if (poll(&ready, 1, LOOK_EVERY_MS) > 0)
      is_open = read_output(fd, tail);
    has_ended = is_over(child);
    if (caught != 0 || has_ended)
      kill(-child, SIGKILL);
    uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
    if (message != NULL && now_ns - reported_ns >= REPORT_EVERY_NS) {
      reported_ns = now_ns;
      message("xsp: making %s, for %.0f s so far", manifest->name, (double)(now_ns - started_ns) / 1e9);
    }
  }
  while (waitpid(child, &how, 0) < 0 && errno == EINTR)
    ;
  struct pollfd rest = {.fd = fd, .events = POLLIN};
  while (is_open && poll(&rest, 1, 0) > 0)
    is_open = read_output(fd, tail);
  return how;
}

static enum status explain(const struct manifest *manifest, const char *const *arguments, int how,
                           const struct output_tail *tail, struct error *err)
{
  char end[64], advice[256];
  struct slice rest = slice_trim((struct slice){tail->bytes, tail->length}), part, line = {0};
  while (slice_cut(&rest, '\n', &part))
    line = part; // the last one
  if (WIFSIGNALED(how))
    snprintf(end, sizeof end, "signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
  else
    snprintf(end, sizeof end, "status %d", WEXITSTATUS(how));
  size_t used = (size_t)snprintf(advice, sizeof advice, "python3 %.150s", arguments[0]);
  for (size_t i = 1; arguments[i + 1] != NULL && used < sizeof advice; i++)
    used += (size_t)snprintf(advice + used, sizeof advice - used, " %s", arguments[i]);
  if (used < sizeof advice)
    snprintf(advice + used, sizeof advice - used, " /tmp/%s", manifest->produces);
  return manifest_wrong(manifest, manifest->source_line, STATUS_SYSTEM, advice, err, "%s failed with %s%s%.*s",
                        manifest->generator, end, line.length > 0 ? "; its last line: " : "", (int)line.length,
                        line.data);
}

enum status manifest_run_python(const struct manifest *manifest, const char *const *arguments, message_fn message,
                                struct error *err)
{
  int pipe_fd[2];
  if (pipe2(pipe_fd, O_CLOEXEC) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot run the generator", manifest->generator, NULL);
  if (message != NULL)
    message("xsp: making %s with %s, once", manifest->name, manifest->generator);
  hold_signals();
  pid_t parent = getpid(), child = fork();
  if (child == 0)
    child_main(arguments, pipe_fd[1], parent);
  close(pipe_fd[1]);
  enum status status = STATUS_OK;
  if (child < 0) {
    status = error_set_errno(err, STATUS_SYSTEM, "cannot run the generator", manifest->generator, NULL);
  } else {
    setpgid(child, child); // both do it: whoever comes first
    struct output_tail tail = {.length = 0};
    int how = wait_for(child, pipe_fd[0], manifest, message, &tail);
    if (caught != 0)
      status = error_set(err, STATUS_SYSTEM, "interrupted", manifest->path, NULL, "nothing of the model is kept");
    else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
      status = explain(manifest, arguments, how, &tail, err);
  }
  close(pipe_fd[0]);
  return status;
}
