// SPDX-License-Identifier: Apache-2.0
// Man pages (roff, man macros) from the verbs' descriptors. Called by `xsp help --man`, at build time.
#include "programs/xsp/verb_help/help.h"

#include <ctype.h>
#include <string.h>

// Roff eats leading dots and quotes, and backslashes everywhere; a hyphen must be an ASCII one to be copied.
static void roff(struct buf *out, const char *text, size_t length)
{
  bool line_start = true;
  for (size_t i = 0; i < length; i++) {
    char byte = text[i];
    if (line_start && (byte == '.' || byte == '\''))
      buf_text(out, "\\&");
    line_start = byte == '\n';
    if (byte == '\\')
      buf_text(out, "\\e");
    else if (byte == '-')
      buf_text(out, "\\-");
    else if (byte == '|') // a long list of words may be broken after each
      buf_text(out, "|\\:");
    else
      buf_put(out, &byte, 1);
  }
}

static void roff_text(struct buf *out, const char *text)
{
  roff(out, text, strlen(text));
}

static void roff_paragraphs(struct buf *out, const char *text)
{
  while (*text != 0) {
    const char *gap = strstr(text, "\n\n");
    size_t length = gap != NULL ? (size_t)(gap - text) : strlen(text);
    buf_text(out, text[0] == ' ' ? ".PP\n.nf\n" : ".PP\n");
    roff(out, text, length);
    buf_text(out, text[0] == ' ' ? "\n.fi\n" : "\n");
    text += length + (gap != NULL ? 2 : 0);
  }
}

static void header(struct buf *out, const char *name)
{
  buf_text(out, ".TH XSP");
  if (name != NULL) {
    buf_text(out, "\\-");
    for (const char *at = name; *at != 0; at++) {
      char upper = (char)toupper((unsigned char)*at);
      buf_put(out, &upper, 1);
    }
  }
  buf_text(out, " 1 \"\" \"xsp " XSP_VERSION "\" \"User Commands\"\n");
  buf_text(out, ".ad l\n"); // long lists of words have no spaces to stretch
}

static void man_option(struct buf *out, const struct option_description *option)
{
  buf_text(out, ".TP\n");
  if (option->letter != 0)
    buf_format(out, "\\fB\\-%c\\fR, ", option->letter);
  buf_text(out, "\\fB\\-\\-");
  roff_text(out, option->name);
  buf_text(out, "\\fR");
  if (option->value_name != NULL) {
    buf_text(out, "=\\fI");
    roff_text(out, option->value_name);
    buf_text(out, "\\fR");
  }
  buf_text(out, "\n");
  roff_text(out, option->help);
  if ((option->flags & OPTION_REPEATABLE))
    buf_text(out, "\nMay be given several times.");
  if (option->default_value != NULL) {
    buf_text(out, "\nDefault: ");
    roff_text(out, option->default_value);
    buf_text(out, ".");
  }
  buf_text(out, "\n");
}

static const char exit_statuses[] =
    ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nThe answer is no.\n.TP\n2\nWrong use, or input that is "
    "missing, unreadable or broken.\n.TP\n3\nThe environment failed.\n";

static void man_overview(struct buf *out)
{
  header(out, NULL);
  buf_text(out, ".SH NAME\nxsp \\- across\\-stack profiler for machine learning\n.SH SYNOPSIS\n\\fBxsp\\fR "
                "\\fIVERB\\fR [\\fIARGUMENT\\fR...] [\\fIOPTION\\fR...]\n.SH DESCRIPTION\nShows one machine\\-learning "
                "workload through every level of its stack (application, model, layer, library, kernel) as one checked "
                "hierarchy of spans, and reports how much of each number is the profiler's own doing.\n.SH VERBS\n");
  for (size_t i = 0; verbs[i] != NULL; i++) {
    buf_format(out, ".TP\n\\fBxsp\\-%s\\fR(1)\n", verbs[i]->name);
    roff_text(out, verbs[i]->summary);
    buf_text(out, ".\n");
  }
  buf_text(out, exit_statuses);
}

void help_man(const struct verb *verb, struct buf *out)
{
  if (verb == NULL) {
    man_overview(out);
    return;
  }
  header(out, verb->name);
  buf_format(out, ".SH NAME\nxsp\\-%s \\- ", verb->name);
  roff_text(out, verb->summary);
  buf_format(out, "\n.SH SYNOPSIS\n\\fBxsp %s\\fR ", verb->name);
  roff_text(out, verb->synopsis);
  buf_text(out, "\n.SH DESCRIPTION\n");
  struct buf description = {0};
  help_description(verb, &description);
  roff_paragraphs(out, description.data);
  buf_done(&description);
  buf_text(out, ".SH OPTIONS\n");
  const struct option_description *option;
  for (size_t i = 0; (option = verb_option_at(verb, i)) != NULL; i++)
    man_option(out, option);
  if (verb->wrong_use_status == 0) // else its statuses are others, which its description has
    buf_text(out, exit_statuses);
  if (verb->examples != NULL) {
    buf_text(out, ".SH EXAMPLES\n");
    for (const struct verb_example *example = verb->examples; example->command != NULL; example++) {
      buf_text(out, ".TP\n\\fB");
      roff_text(out, example->command);
      buf_text(out, "\\fR\n");
      roff_text(out, example->meaning);
      buf_text(out, "\n");
    }
  }
  buf_text(out, ".SH SEE ALSO\n\\fBxsp\\fR(1)");
  const char *at = verb->see_also != NULL ? verb->see_also : "";
  while (*at != 0) {
    size_t length = strcspn(at, ", ");
    buf_format(out, ", \\fBxsp\\-%.*s\\fR(1)", (int)length, at);
    at += length + strspn(at + length, ", ");
  }
  buf_text(out, "\n");
}
