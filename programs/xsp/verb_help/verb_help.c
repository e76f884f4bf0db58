// SPDX-License-Identifier: Apache-2.0
// xsp help: help for the terminal; also the man pages and the shell completion, for the build.
#include "programs/xsp/output.h"
#include "programs/xsp/verb_help/help.h"

static enum status run(const struct invocation *invocation, struct error *err)
{
  const struct verb *verb = NULL;
  if (invocation->argument_count > 0)
    XSP_TRY(verb_find(invocation->arguments[0], "xsp help", &verb, err));
  const char *shell = invocation_value(invocation, "completion");
  struct buf out = {0};
  if (shell != NULL && !help_completion(shell, &out))
    return error_set(err, STATUS_USE, "wrong use", shell, "--completion=bash, zsh or fish",
                     "no completion for this shell");
  if (shell != NULL)
    return output_buf(&out, err);
  if (invocation_has(invocation, "man"))
    help_man(verb, &out);
  else
    help_text(verb, output_width(), &out);
  return output_buf(&out, err);
}

static const struct option_description options[] = {
    {"man", 0, NULL, NULL, 0, "Print the man page (roff) instead: of the verb, or of xsp itself."},
    {"completion", 0, "bash|zsh|fish", NULL, 0, "Print a completion script for the shell."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp help analyze", "all about one verb"},
    {"xsp help --man profile | man -l -", "the same as a man page"},
    {"eval \"$(xsp help --completion bash)\"",
     "complete verbs, options, analyses and formats in this shell; zsh alike"},
    {"xsp help --completion fish | source", "the same in fish"},
    {0},
};

const struct verb verb_help = {
    .name = "help",
    .summary = "list what xsp can do, or explain one verb",
    .synopsis = "[VERB] [OPTION...]",
    .description = "Without a verb: what verbs there are. With one: its arguments, its options, and examples. `xsp "
                   "VERB --help` is the same.",
    .most_arguments = 1,
    .options = options,
    .examples = examples,
    .run = run,
};
