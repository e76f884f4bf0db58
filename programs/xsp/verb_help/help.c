// SPDX-License-Identifier: Apache-2.0
// Help for the terminal, from the verbs' descriptors. Called by main and by `xsp help`.
#include "programs/xsp/verb_help/help.h"

#include "launch/install.h"
#include "report/display.h"

#include <limits.h>
#include <string.h>

#define LEFT_COLUMN 26u // option names; help text is to their right

void help_description(const struct verb *verb, struct buf *out)
{
  const char *list = strstr(verb->description, VERB_LIST);
  if (list == NULL) {
    buf_text(out, verb->description);
    return;
  }
  buf_put(out, verb->description, (size_t)(list - verb->description));
  verb->put_list(out);
  buf_text(out, list + strlen(VERB_LIST));
}

// Paragraphs are separated by an empty line; a paragraph that starts with two spaces is kept as it is.
static void paragraphs(struct buf *out, const char *text, unsigned width)
{
  struct buf paragraph SCOPED(buf_done) = {0};
  for (const char *gap;; text = gap + 2) {
    gap = strstr(text, "\n\n");
    buf_clear(&paragraph);
    buf_put(&paragraph, text, gap != NULL ? (size_t)(gap - text) : strlen(text));
    if (text[0] == ' ')
      buf_format(out, "%s\n", paragraph.data);
    else
      display_wrap(out, paragraph.data, 0, 0, width);
    if (gap == NULL)
      break;
    buf_text(out, "\n");
  }
}

static void option_line(const struct option_description *option, unsigned width, struct buf *out)
{
  size_t start = out->length;
  buf_text(out, "  ");
  if (option->letter != 0)
    buf_format(out, "-%c, ", option->letter);
  buf_format(out, "--%s", option->name);
  if (option->value_name != NULL)
    buf_format(out, "=%s", option->value_name);
  unsigned column = (unsigned)(out->length - start);
  bool is_long = column + 2 > LEFT_COLUMN;
  buf_format(out, "%s%*s", is_long ? "\n" : "", (int)(is_long ? LEFT_COLUMN : LEFT_COLUMN - column), "");
  struct buf help SCOPED(buf_done) = {0};
  buf_text(&help, option->help);
  if ((option->flags & OPTION_REPEATABLE))
    buf_text(&help, " May be given several times.");
  if (option->default_value != NULL)
    buf_format(&help, " Default: %s.", option->default_value);
  display_wrap(out, help.data, LEFT_COLUMN, LEFT_COLUMN, width);
}

static void put_verb(const struct verb *verb, unsigned width, struct buf *out)
{
  buf_format(out, "xsp %s: %s\n\nUsage: xsp %s %s\n\n", verb->name, verb->summary, verb->name, verb->synopsis);
  struct buf description = {0};
  help_description(verb, &description);
  paragraphs(out, description.data, width);
  buf_done(&description);
  buf_text(out, "\nOptions:\n");
  const struct option_description *option;
  for (size_t i = 0; (option = verb_option_at(verb, i)) != NULL; i++)
    option_line(option, width, out);
  if (verb->examples != NULL) {
    buf_text(out, "\nExamples:\n");
    for (const struct verb_example *example = verb->examples; example->command != NULL; example++) {
      buf_text(out, "  # ");
      display_wrap(out, example->meaning, 4, 4, width);
      buf_format(out, "  %s\n", example->command);
    }
  }
  if (verb->see_also != NULL)
    buf_format(out, "\nSee also: %s\n", verb->see_also);
}

static void put_overview(unsigned width, struct buf *out)
{
  buf_text(out, "xsp: shows one machine-learning workload through every level of its stack\n\n"
                "Usage: xsp VERB [ARGUMENT...] [OPTION...]\n\nVerbs:\n");
  for (size_t i = 0; verbs[i] != NULL; i++) {
    buf_format(out, "  %-10s ", verbs[i]->name);
    display_wrap(out, verbs[i]->summary, 13, 13, width);
  }
  buf_text(out, "\nOptions may be anywhere; `--` ends them. `xsp help VERB` has more about each.\n"
                "Exit status: 0 done, 1 the answer is no, 2 wrong use or bad input, 3 the environment failed.\n");
  char pages[PATH_MAX];
  if (install_find_pages(pages, sizeof pages))
    buf_format(out, "Pages that messages name, such as docs/run.md, are in %s\n", pages);
}

void help_start(struct buf *out)
{
  buf_text(out, "xsp shows one machine-learning workload through every level of its stack.\n\n"
                "  xsp run -- python3 train.py        trace a program: what takes its time, on which line\n"
                "  xsp profile model.onnx             measure a model: latency, layers, kernels, overhead\n"
                "  xsp report trace.json.gz --open    see a trace in the browser, also one of another profiler\n\n"
                "`xsp demo` shows a first result, `xsp help` lists all verbs, `xsp help VERB` explains one.\n");
}

void help_text(const struct verb *verb, unsigned width, struct buf *out)
{
  width = width == 0 || width > 100 ? 100 : width < 50 ? 50 : width;
  if (verb != NULL)
    put_verb(verb, width, out);
  else
    put_overview(width, out);
}
