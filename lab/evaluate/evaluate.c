// SPDX-License-Identifier: Apache-2.0
// Runs `xsp evaluate` for a host program; see <xsp/evaluate.h>. A guest in the host: it prints nothing, changes no signal and waits for no
// other child than its own.
#include <xsp/evaluate.h>

#include "base/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES_MOST ((size_t)256 << 20)
#define ERROR_BYTES 2048
#define GRACE_MS 10000

static _Thread_local char error[ERROR_BYTES];

uint32_t xsp_evaluate_version(void)
{
  return XSP_EVALUATE_VERSION;
}

const char *xsp_evaluate_error(void)
{
  return error;
}

void xsp_evaluate_free(char *json)
{
  free(json);
}

// In the build folder xsp lies next to the library; where it is installed in ../bin, from the wheel in ../../bin.
static void find_program(char path[PATH_MAX])
{
  static const char *const places[] = {"xsp", "../bin/xsp", "../../bin/xsp"};
  const char *own = getenv("XSP_PROGRAM");
  snprintf(path, PATH_MAX, "%s", own != NULL && own[0] != 0 ? own : "xsp"); // the last: in PATH
  Dl_info info;
  char real[PATH_MAX];
  if ((own != NULL && own[0] != 0) || dladdr(places, &info) == 0 || realpath(info.dli_fname, real) == NULL)
    return;
  const char *slash = strrchr(real, '/');
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    char beside[PATH_MAX];
    int length = snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - real), real, places[i]);
    struct stat facts; // lib/xsp of an installation is a folder
    if (length < PATH_MAX && stat(beside, &facts) == 0 && S_ISREG(facts.st_mode) && access(beside, X_OK) == 0) {
      memcpy(path, beside, (size_t)length + 1);
      return;
    }
  }
}

// ---- the process -----------------------------------------------------------------------------------------------------
// The last line of what it wrote to stderr, as it wrote it.
static void keep_message(const struct child_text *told, int state)
{
  struct slice line = child_last_line((struct slice){told->bytes, told->length});
  if (line.length > 0)
    snprintf(error, sizeof error, "xsp: %.*s", (int)line.length, line.data);
  else if (WIFSIGNALED(state))
    snprintf(error, sizeof error, "xsp was ended by signal %d", WTERMSIG(state));
  else
    snprintf(error, sizeof error, "xsp ended with status %d", WEXITSTATUS(state));
}

static int cannot_start(const char *program, int number)
{
  snprintf(error, sizeof error, "xsp could not be started: %.1900s: %s", program, strerror(number));
  return number == ENOMEM ? XSP_EVALUATE_MEMORY : XSP_EVALUATE_SYSTEM;
}

// In the host's process group, whose signals end both.
static int run(const char *program, const char *const *arguments, struct child_text *json)
{
  struct child child;
  struct child_text told = {.most = ERROR_BYTES, .is_tail = true};
  const struct child_command command = {.program = program,
                                        .arguments = arguments,
                                        .input = CHILD_NULL,
                                        .output_text = json,
                                        .errors_text = &told,
                                        .death_signal = SIGTERM};
  int number = child_start(&command, &child), status = XSP_EVALUATE_OK;
  if (number != 0)
    return cannot_start(program, number);
  bool is_full = child_wait(&child, -1, NULL) == CHILD_FULL;
  int state = child_end(&child, GRACE_MS);
  if (is_full) {
    snprintf(error, sizeof error, "there is no memory for the tables");
    status = XSP_EVALUATE_MEMORY;
  } else if (state == -1) {
    snprintf(error, sizeof error, "how xsp ended is not known: the program ignores SIGCHLD, or waits for any child");
    status = XSP_EVALUATE_SYSTEM;
  } else if (state != 0) {
    keep_message(&told, state);
    status = WIFEXITED(state) && WEXITSTATUS(state) <= XSP_EVALUATE_SYSTEM ? WEXITSTATUS(state) : XSP_EVALUATE_SYSTEM;
  }
  free(told.bytes);
  return status;
}

int xsp_evaluate(const char *const *arguments, char **ret_json)
{
  char program[PATH_MAX];
  size_t count = 0;
  struct child_text json = {.most = TEXT_BYTES_MOST};
  *ret_json = NULL;
  error[0] = 0;
  while (arguments[count] != NULL)
    count++;
  const char **list = calloc(count + 5, sizeof *list);
  find_program(program);
  if (list == NULL)
    return cannot_start(program, ENOMEM);
  list[0] = program;
  list[1] = "evaluate";
  memcpy(list + 2, arguments, count * sizeof *list);
  list[count + 2] = "--json";
  list[count + 3] = "--quiet";
  int status = run(program, list, &json);
  free(list);
  if (status != XSP_EVALUATE_OK) {
    free(json.bytes);
    return status;
  }
  *ret_json = json.bytes != NULL ? json.bytes : calloc(1, 1);
  return XSP_EVALUATE_OK;
}
