// SPDX-License-Identifier: Apache-2.0
// Reads the statements of a loop's body. Called by F2. Pure: a few forms of Python are known, and all others are no answer.
#include "analyze/findings/row_loop.h"

#include "analyze/findings/statements.h"

#define STATEMENTS_MOST 16

enum form {
  FORM_OTHER,
  FORM_ASSIGNS, // names, which later statements of the body may read
  FORM_COLLECTS // a list, elements or a sum, which nothing in the body reads
};
struct effect { // of a statement
  enum form form;
  struct slice target, value; // value: with indices and the like
};

// "out[i]" -> "out", and the rest belongs to the value.
static struct effect write_of(struct slice target, struct slice text)
{
  struct slice rest = target, name;
  bool is_element = slice_cut(&rest, '[', &name) && findings_is_name(name) && slice_ends_with(rest, "]");
  return (struct effect){is_element ? FORM_COLLECTS : FORM_OTHER, name, slice_after(text, name.length)};
}

static bool are_names(struct slice list)
{
  struct slice name;
  while (findings_next_argument(&list, &name))
    if (!findings_is_name(name))
      return false;
  return true;
}

static struct effect read_statement(struct slice text)
{
  static const char append[] = ".append(";
  struct slice target, value, further;
  if (findings_has_hidden_statements(text))
    return (struct effect){.form = FORM_OTHER};
  if (!findings_assignment(text, &target, &value)) {
    const char *found = text.length > 0 ? memmem(text.data, text.length, append, sizeof append - 1) : NULL;
    struct slice name = {text.data, found != NULL ? (size_t)(found - text.data) : 0};
    bool appends = findings_is_name(name) && slice_ends_with(text, ")");
    return (struct effect){appends ? FORM_COLLECTS : FORM_OTHER, name, slice_after(text, name.length)};
  }
  if (findings_assignment(value, &further, &further))
    return (struct effect){.form = FORM_OTHER};
  if (slice_ends_with(target, "+")) {
    struct slice sum = slice_trim((struct slice){target.data, target.length - 1});
    return findings_is_name(sum) ? (struct effect){FORM_COLLECTS, sum, value} : write_of(sum, text);
  }
  return are_names(target) ? (struct effect){FORM_ASSIGNS, target, value} : write_of(target, text);
}

// ---- the loop --------------------------------------------------------------------------------------------------------
// Whether the body's statement at `at` reads nothing that an earlier iteration left, and leaves nothing that one reads. `variables`: of
// the loop.
static bool is_independent(struct slice variables, const struct effect *body, size_t count, size_t at)
{
  struct slice names = body[at].target, name;
  while (findings_next_argument(&names, &name)) {
    bool is_known = findings_has_name(variables, name); // or an earlier statement assigns it
    for (size_t i = 0; i < at && body[at].form == FORM_ASSIGNS; i++)
      is_known |= body[i].form == FORM_ASSIGNS && findings_has_name(body[i].target, name);
    for (size_t i = 0; i < count; i++) {
      bool is_read = findings_has_name(body[i].value, name);
      bool is_replaced = body[i].form == FORM_ASSIGNS && findings_has_name(body[i].target, name);
      if (body[at].form == FORM_COLLECTS ? is_read || is_replaced : is_read && i <= at && !is_known)
        return false;
    }
  }
  return body[at].form != FORM_OTHER;
}

static bool body_is_independent(struct statement header, struct slice variables)
{
  struct effect body[STATEMENTS_MOST];
  struct statement at = header;
  size_t count = 0, indent = 0;
  bool collects = false; // else only the last iteration counts
  while (findings_next_statement(&at) && at.indent > header.indent) {
    indent = count == 0 ? at.indent : indent;
    if (count == STATEMENTS_MOST || at.indent != indent)
      return false;
    body[count] = read_statement(at.text);
    collects |= body[count++].form == FORM_COLLECTS;
  }
  for (size_t i = 0; i < count; i++)
    if (!is_independent(variables, body, count, i))
      return false;
  return collects;
}

bool findings_loop_is_independent(struct slice source, int64_t line, int64_t *ret_first)
{
  static const char in[] = " in ";
  struct statement at, header = {.first = 0};
  bool has_header = findings_statement_at(source, line, &at) && findings_header_of(source, at, &header);
  *ret_first = header.first;
  if (!has_header || !slice_starts_with(header.text, "for "))
    return false;
  struct slice variables = slice_after(header.text, 4);
  const char *end = memmem(variables.data, variables.length, in, sizeof in - 1);
  variables.length = end != NULL ? (size_t)(end - variables.data) : 0;
  return end != NULL && body_is_independent(header, variables);
}

bool findings_comprehension_is_independent(struct slice source, int64_t line)
{
  struct statement at;
  return findings_statement_at(source, line, &at) && !findings_has_hidden_statements(at.text);
}
