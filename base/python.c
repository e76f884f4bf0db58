// SPDX-License-Identifier: Apache-2.0
// Looks through the active Python environment; see python.h. Called by library.c and by what resolves manifests.
#include "base/python.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PYTHON_WAIT_MS 10000
#define PYTHON_OUTPUT_BYTES 65536

struct walk {
  python_visit_fn visit;
  python_missed_fn missed;
  void *context;
};

static void miss(const struct walk *walk, const char *environment, const char *reason)
{
  if (walk->missed != NULL)
    walk->missed(walk->context, environment, reason);
}

bool python_visit_environment(const char *environment, python_visit_fn visit, void *context)
{
  char pattern[PATH_MAX];
  glob_t folders;
  bool found = false;
  if (snprintf(pattern, sizeof pattern, "%s/lib*/python3*/site-packages", environment) < (int)sizeof pattern &&
      glob(pattern, 0, NULL, &folders) == 0) {
    for (size_t i = 0; i < folders.gl_pathc && !found; i++)
      found = visit(context, folders.gl_pathv[i]);
    globfree(&folders);
  }
  return found;
}

static bool visit_environment(const struct walk *walk, const char *environment)
{
  bool found = python_visit_environment(environment, walk->visit, walk->context);
  if (!found)
    miss(walk, environment, "no such package");
  return found;
}

// Reads `fd` to its end, for at most `wait_ms`, as text. False: no end, or no room.
static bool read_bounded(int fd, int wait_ms, char *text, size_t size)
{
  size_t length = 0;
  int64_t deadline_ns = (int64_t)clock_now_ns(CLOCK_MONOTONIC) + wait_ms * INT64_C(1000000);
  for (;;) {
    int64_t left_ms = (deadline_ns - (int64_t)clock_now_ns(CLOCK_MONOTONIC)) / 1000000;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready = left_ms > 0 ? poll(&wait, 1, (int)left_ms) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return false;
    if (length == size - 1)
      return false;
    ssize_t got = read(fd, text + length, size - 1 - length);
    if (got < 0 && errno == EINTR)
      continue;
    length += got > 0 ? (size_t)got : 0;
    text[length] = 0;
    if (got <= 0)
      return got == 0;
  }
}

bool python_ask(const char *program, const char *code, int wait_ms, char *text, size_t size)
{
  text[0] = 0;
  int pipe_fd[2];
  if (pipe2(pipe_fd, O_CLOEXEC) != 0)
    return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  char *const arguments[] = {(char *)(uintptr_t)program, "-c", (char *)(uintptr_t)code, NULL};
  pid_t child = 0;
  int failed = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_fd[1]);
  bool answered = failed == 0 && read_bounded(pipe_fd[0], wait_ms, text, size);
  close(pipe_fd[0]);
  if (failed == 0) {
    if (!answered)
      kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  return answered;
}

static const char *named_environment(void)
{
  const char *environment = getenv("VIRTUAL_ENV");
  return environment != NULL && environment[0] != 0 ? environment : NULL;
}

// .venv next to the folder of this program, resolved; NULL: none. The caller frees.
static char *neighbouring_environment(void)
{
  char program[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - sizeof "/../.venv");
  if (length <= 0)
    return NULL;
  program[length] = 0;
  char *slash = strrchr(program, '/');
  snprintf(slash, sizeof program - (size_t)(slash - program), "/../.venv");
  return realpath(program, NULL);
}

bool python_visit(python_visit_fn visit, python_missed_fn missed, void *context)
{
  const struct walk walk = {visit, missed, context};
  const char *named = named_environment();
  if (named != NULL && visit_environment(&walk, named))
    return true;
  char *neighbour = neighbouring_environment();
  bool found = neighbour != NULL && visit_environment(&walk, neighbour);
  free(neighbour);
  if (found)
    return true;
  char folders[PYTHON_OUTPUT_BYTES] = "";
  static const char code[] = "import sys\nfor path in sys.path: print(path)";
  if (python_ask("python3", code, PYTHON_WAIT_MS, folders, sizeof folders)) {
    char *rest = NULL;
    for (char *line = strtok_r(folders, "\n", &rest); line != NULL && !found; line = strtok_r(NULL, "\n", &rest))
      found = visit(context, line);
    if (!found)
      miss(&walk, "python3 in PATH", "no such package");
  } else {
    miss(&walk, "python3 in PATH", "not there, or no answer");
  }
  return found;
}

void python_program(char *path, size_t size)
{
  const char *named = named_environment();
  char *neighbour = neighbouring_environment();
  const char *const environments[] = {named, neighbour};
  bool found = false;
  for (size_t i = 0; i < 2 && !found; i++)
    found = environments[i] != NULL && snprintf(path, size, "%s/bin/python3", environments[i]) < (int)size &&
            access(path, X_OK) == 0;
  if (!found)
    snprintf(path, size, "python3");
  free(neighbour);
}
