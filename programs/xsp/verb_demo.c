// SPDX-License-Identifier: Apache-2.0
// xsp demo: traces a small program with a planted fault, by the commands that a user would type.
#include "base/child.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MOST 12

static const char program[] = "# Loads a batch, then computes with it. The loop waits for a slow disk.\n"
                              "import time\n\n\n"
                              "def load(batch):\n"
                              "    time.sleep(0.02)  # the slow disk\n"
                              "    return [batch * number % 7 for number in range(20_000)]\n\n\n"
                              "def train(numbers):\n"
                              "    return sum(number * number for number in numbers)\n\n\n"
                              "for step in range(60):\n"
                              "    train(load(step))\n";

// xsp itself: the verb, --force and --quiet where they were given, the arguments. Its messages go where ours go.
static enum status run_xsp(const struct invocation *invocation, const char *verb, const char *const *arguments,
                           struct error *err)
{
  const char *whole[ARGUMENTS_MOST] = {"xsp", verb};
  size_t count = 2;
  if (invocation_has(invocation, "force"))
    whole[count++] = "--force";
  if (output_is_quiet())
    whole[count++] = "--quiet";
  for (size_t i = 0; arguments[i] != NULL && count + 1 < ARGUMENTS_MOST; i++)
    whole[count++] = arguments[i];
  struct buf line = {0};
  for (size_t i = 0; i < count; i++)
    buf_format(&line, " %s", whole[i]);
  output_note("$%s", line.data);
  buf_done(&line);
  struct child child;
  int failure = child_start(&(struct child_command){.arguments = whole, .program = "/proc/self/exe"}, &child);
  if (failure != 0)
    return error_set(err, STATUS_SYSTEM, "cannot start xsp", "/proc/self/exe", NULL, "%s", strerror(failure));
  (void)child_wait(&child, -1, NULL);
  return child_end(&child, 0) == 0
             ? STATUS_OK
             : error_set(err, STATUS_SYSTEM, "the demo ended early", verb,
                         "the message above; `xsp check` shows what this machine has", "the command failed");
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  const char *folder = invocation_value(invocation, "output");
  char script[PATH_MAX], trace[PATH_MAX], page[PATH_MAX];
  if (text_is_one_of(folder, "", "-"))
    return error_set(err, STATUS_USE, "wrong use", "-o", "-o FOLDER, or -o ./- for that name",
                     folder[0] == 0 ? "the name is empty" : "the result is not one stream");
  if (snprintf(script, sizeof script, "%s/slow_loop.py", folder) >= (int)sizeof script ||
      snprintf(trace, sizeof trace, "%s/slow_loop.xsp", folder) >= (int)sizeof trace ||
      snprintf(page, sizeof page, "%s/slow_loop.html", folder) >= (int)sizeof page)
    return error_set(err, STATUS_USE, "wrong use", folder, "a shorter -o", "the name is too long");
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return error_set_errno(err, STATUS_SYSTEM, "cannot make the folder", folder, "another -o");
  XSP_TRY(output_file(script, program, sizeof program - 1, invocation_has(invocation, "force"), err));
  XSP_TRY(run_xsp(invocation, "run", (const char *const[]){"-o", trace, "--", "python3", script, NULL}, err));
  XSP_TRY(run_xsp(invocation, "report", (const char *const[]){trace, "-o", page, "-q", NULL}, err));
  output_note("xsp: the program is %s; open %s in a browser; then: xsp run -- YOUR COMMAND", script, page);
  return STATUS_OK;
}

static const struct option_description options[] = {
    {"output", 'o', "FOLDER", "xsp-demo", 0, "Where the program, its trace and its page go."},
    OPTION_FORCE,
    {0},
};
static const struct verb_example examples[] = {
    {"xsp demo", "a first result, in a few seconds"},
    {0},
};

const struct verb verb_demo = {
    .name = "demo",
    .summary = "trace a small program with a fault, and show what xsp finds",
    .synopsis = "[-o FOLDER] [OPTION...]",
    .description =
        "Writes a small Python program whose loop waits for a slow disk, traces it with `xsp run` and writes its "
        "page with `xsp report`. Each command is shown. It needs python3.",
    .options = options,
    .examples = examples,
    .see_also = "run, report",
    .run = run,
};
