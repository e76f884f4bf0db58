// SPDX-License-Identifier: Apache-2.0
// Starts `python3 -m xsp.findings` and reads what it prints. Called by findings_own.c.
#include "programs/xsp/verb_analyze/findings_program.h"

#include "base/python.h"

#include <signal.h>
#include <sys/wait.h>

#define OUTPUT_BYTES_MOST ((size_t)16 << 20)
#define WHAT "cannot run the finding"

// python3 -m, but modules of the current folder, which nobody named, are not imported.
static const char as_module[] = "import sys; sys.path = [path for path in sys.path if path]; import runpy; "
                                "runpy.run_module('xsp.findings', run_name='__main__', alter_sys=True)";

static enum status judge(const char *program, const char *python, enum child_event event, int state, unsigned timeout_s,
                         struct error *err)
{
  if (event == CHILD_FULL)
    return error_set(err, STATUS_INPUT, WHAT, program, "fewer findings", "it printed more than 16 MiB");
  if (event == CHILD_LATE)
    return error_set(err, STATUS_INPUT, WHAT, program, "a look at what it waits for, or --findings-timeout SECONDS",
                     "it ran for more than %u s", timeout_s);
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, WHAT, program, "its messages above; the package: pip install ./answers/python",
                   "%s -m xsp.findings ended with %s %d", python, WIFSIGNALED(state) ? "signal" : "exit status",
                   WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
}

enum status findings_program_run(const char *program, const char *trace, unsigned timeout_s, struct child_text *text,
                                 struct error *err)
{
  char python[PATH_MAX];
  struct child child;
  python_program(python, sizeof python);
  *text = (struct child_text){.most = OUTPUT_BYTES_MOST};
  const struct child_command command = {.arguments =
                                            (const char *const[]){python, "-c", as_module, program, trace, NULL},
                                        .input = CHILD_NULL,
                                        .output_text = text,
                                        .death_signal = SIGKILL,
                                        .has_group = true};
  int failure = child_start(&command, &child);
  if (failure != 0)
    return error_set(err, STATUS_SYSTEM, WHAT, program, "pip install ./answers/python, in the active environment",
                     "%s: %s", python, strerror(failure));
  enum child_event event = child_wait(&child, timeout_s == 0 ? -1 : timeout_s * INT64_C(1000), NULL);
  return judge(program, python, event, child_end(&child, 0), timeout_s, err);
}
