// SPDX-License-Identifier: Apache-2.0
// A generator's process; see source.h. It has a process group of its own and ends with xsp, however xsp
// ends.
#include "manifests/source.h"

#include "base/child.h"
#include "base/python.h"
#include "base/scoped.h"
#include "base/slice.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAXIMUM (MANIFEST_LIST_MAXIMUM + 8)
#define REPORT_EVERY_S 10u
#define TAIL_BYTES 4096 // of the end of what it wrote

static sigset_t before; // signals that were blocked
static bool is_holding;

// Blocks the signals that end xsp, except for those that it ignores (nohup). Returns a descriptor that is readable once one waits; -1:
// there is none.
static int hold_signals(void)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  sigset_t held;
  sigemptyset(&held);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction action;
    if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&held, numbers[i]);
  }
  sigprocmask(SIG_BLOCK, &held, is_holding ? NULL : &before);
  is_holding = true;
  return signalfd(-1, &held, SFD_CLOEXEC);
}

void manifest_run_end(void)
{
  if (is_holding)
    sigprocmask(SIG_SETMASK, &before, NULL); // one that waits is delivered
  is_holding = false;
}

// Until it has ended, or `stop` is readable. What it started ends with it: the model is made.
static enum child_event wait_for(struct child *child, int stop, const struct manifest *manifest, message_fn message)
{
  const struct pollfd signals = {.fd = stop, .events = POLLIN};
  for (unsigned passed_s = REPORT_EVERY_S;; passed_s += REPORT_EVERY_S) {
    enum child_event event = child_wait(child, INT64_C(1000) * REPORT_EVERY_S, &signals);
    if (event != CHILD_LATE)
      return event;
    if (message != NULL)
      message("xsp: making %s, for %u s so far", manifest->name, passed_s);
  }
}

static enum status explain(const struct manifest *manifest, const char *const *arguments, int how,
                           const struct child_text *text, struct error *err)
{
  char end[64], advice[256];
  struct slice line = child_last_line((struct slice){text->bytes, text->length});
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
  static const char *const variables[] = {
      "PYTHONDONTWRITEBYTECODE=1", // no new files next to the user's scripts
      "PYTHONHASHSEED=0",          // the same model every time
      NULL,
  };
  char python[PATH_MAX];
  const char *all[ARGUMENTS_MAXIMUM + 2] = {python};
  for (size_t i = 0; arguments[i] != NULL && i < ARGUMENTS_MAXIMUM; i++)
    all[i + 1] = arguments[i];
  python_program(python, sizeof python);
  struct child child;
  struct child_text text = {.most = TAIL_BYTES, .is_tail = true};
  const struct child_command command = {.arguments = all,
                                        .variables = variables,
                                        .input = CHILD_NULL,
                                        .output_text = &text,
                                        .errors_text = &text,
                                        .death_signal = SIGKILL,
                                        .has_group = true};
  if (message != NULL)
    message("xsp: making %s with %s, once", manifest->name, manifest->generator);
  int stop SCOPED(scoped_close) = hold_signals(), failure = child_start(&command, &child);
  enum status status = STATUS_OK;
  if (failure != 0) {
    errno = failure;
    status = error_set_errno(err, STATUS_SYSTEM, "cannot run the generator", manifest->generator,
                             "a python3 in PATH, or an active environment");
  } else {
    enum child_event event = wait_for(&child, stop, manifest, message);
    int how = child_end(&child, 0);
    if (event == CHILD_STOP)
      status = error_set(err, STATUS_SYSTEM, "interrupted", manifest->path, NULL, "nothing of the model is kept");
    else if (how != 0)
      status = explain(manifest, arguments, how, &text, err);
  }
  free(text.bytes);
  return status;
}
