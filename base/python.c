// SPDX-License-Identifier: Apache-2.0
// Looks through the active Python environment; see python.h. Called by library.c and by what resolves manifests.
#include "base/python.h"

#include "base/child.h"
#include "base/scoped.h"

#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PYTHON_WAIT_MS 10000
#define PYTHON_OUTPUT_BYTES 65536
#define KEPT_ANSWER "XSP_PYTHON_FOLDERS" // of the environment, for tracers, too, which have this code of their own

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

bool python_ask(const char *program, const char *code, int wait_ms, char *text, size_t size)
{
  struct child child;
  struct child_text output = {.most = size - 1};
  const struct child_command command = {.arguments = (const char *const[]){program, "-c", code, NULL},
                                        .input = CHILD_NULL,
                                        .output_text = &output,
                                        .errors = CHILD_NULL,
                                        .death_signal = SIGKILL,
                                        .has_group = true};
  text[0] = 0;
  if (child_start(&command, &child) != 0)
    return false;
  bool answered = child_wait(&child, wait_ms, NULL) == CHILD_ENDED;
  (void)child_end(&child, 0);
  if (output.length > 0)
    memcpy(text, output.bytes, output.length + 1);
  free(output.bytes);
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

// The folders that the python3 in PATH looks for modules in, a line each; "": it is not there, or gave no answer.
static void ask_path(char *folders, size_t size)
{
  static const char code[] = "import sys\nfor path in sys.path: print(path)";
  if (!python_ask("python3", code, PYTHON_WAIT_MS, folders, size))
    folders[0] = 0;
}

void python_keep_answer(void)
{
  char folders[PYTHON_OUTPUT_BYTES];
  ask_path(folders, sizeof folders);
  (void)setenv(KEPT_ANSWER, folders, 1);
}

void python_drop_answer(void)
{
  (void)unsetenv(KEPT_ANSWER);
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
  char folders[PYTHON_OUTPUT_BYTES];
  const char *kept = getenv(KEPT_ANSWER);
  if (kept == NULL)
    ask_path(folders, sizeof folders);
  else
    snprintf(folders, sizeof folders, "%s", kept);
  if (folders[0] != 0) {
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
  char *neighbour SCOPED(scoped_free) = neighbouring_environment();
  const char *const environments[] = {named, neighbour};
  bool found = false;
  for (size_t i = 0; i < 2 && !found; i++)
    found = environments[i] != NULL && snprintf(path, size, "%s/bin/python3", environments[i]) < (int)size &&
            access(path, X_OK) == 0;
  if (!found)
    snprintf(path, size, "python3");
}
