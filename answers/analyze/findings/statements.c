// SPDX-License-Identifier: Apache-2.0
// Cuts a program's source in Python into statements, and these into assignments, brackets and names. Called by F2, F63 and F67 to F69.
// It knows strings, comments and lines that go on, and no more of the language.
#include "analyze/findings/statements.h"

#include <ctype.h>

// Of the text from a quote on.
static size_t string_length(struct slice text)
{
  char quote = text.data[0];
  bool is_long = text.length >= 3 && text.data[1] == quote && text.data[2] == quote;
  size_t at = is_long ? 3 : 1;
  for (; at < text.length; at++) {
    struct slice rest = slice_after(text, at);
    if (rest.data[0] == '\\')
      at++;
    else if (rest.data[0] == '\n' && !is_long)
      return at;
    else if (rest.data[0] == quote && !is_long)
      return at + 1;
    else if (rest.length >= 3 && rest.data[0] == quote && rest.data[1] == quote && rest.data[2] == quote)
      return at + 3;
  }
  return text.length;
}

// The byte of code after the one at `at`; a string counts as one, as does a comment.
static size_t step_over(struct slice text, size_t at)
{
  const char *end = text.data[at] == '#' ? memchr(text.data + at, '\n', text.length - at) : NULL;
  if (text.data[at] == '#')
    return end != NULL ? (size_t)(end - text.data) : text.length;
  bool is_string = text.data[at] == '"' || text.data[at] == '\'';
  return at + (is_string ? string_length(slice_after(text, at)) : 1);
}

// ---- statements ------------------------------------------------------------------------------------------------------
bool findings_next_statement(struct statement *at)
{
  do {
    struct slice source = at->after;
    size_t end = 0, code = 0; // code: where a comment begins, else the end
    int depth = 0;
    bool has_comment = false;
    if (source.length == 0)
      return false;
    while (end < source.length && (source.data[end] != '\n' || depth > 0)) {
      char byte = source.data[end];
      has_comment = byte == '#' || (has_comment && byte != '\n');
      depth += has_comment ? 0 : findings_bracket(byte);
      bool goes_on = !has_comment && byte == '\\' && end + 1 < source.length;
      end = has_comment ? end + 1 : step_over(source, end) + goes_on;
      code = has_comment ? code : end;
    }
    end += end < source.length;
    *at = (struct statement){.text = slice_trim((struct slice){source.data, code}),
                             .after = slice_after(source, end),
                             .first = at->last + 1,
                             .last = at->last + (source.data[end - 1] != '\n')};
    while (at->indent < code && source.data[at->indent] == ' ')
      at->indent++;
    for (size_t i = 0; i < end; i++)
      at->last += source.data[i] == '\n';
  } while (at->text.length == 0);
  return true;
}

bool findings_statement_at(struct slice source, int64_t line, struct statement *ret)
{
  *ret = (struct statement){.after = source};
  while (findings_next_statement(ret))
    if (ret->last >= line)
      return true;
  return false;
}

bool findings_header_of(struct slice source, struct statement of, struct statement *ret)
{
  bool has_one = false;
  for (struct statement at = {.after = source}; findings_next_statement(&at) && at.first < of.first;)
    if (at.indent < of.indent) {
      *ret = at;
      has_one = true;
    }
  return has_one;
}

bool findings_assignment(struct slice text, struct slice *ret_targets, struct slice *ret_value)
{
  int depth = 0;
  for (size_t i = 0; i < text.length; i = step_over(text, i)) {
    struct slice rest = slice_after(text, i);
    depth += findings_bracket(rest.data[0]);
    if (slice_starts_with(rest, "=="))
      i++;
    else if (rest.data[0] == '=' && depth == 0) {
      *ret_targets = slice_trim((struct slice){text.data, i});
      *ret_value = slice_after(rest, 1);
      return true;
    }
  }
  return false;
}

bool findings_has_hidden_statements(struct slice text)
{
  for (size_t i = 0; i < text.length; i = step_over(text, i))
    if (text.data[i] == ';' || slice_starts_with(slice_after(text, i), ":="))
      return true;
  return false;
}

// ---- brackets and names ----------------------------------------------------------------------------------------------
int findings_bracket(char byte)
{
  return byte == '(' || byte == '[' || byte == '{' ? 1 : byte == ')' || byte == ']' || byte == '}' ? -1 : 0;
}

size_t findings_bracket_from(struct slice text, size_t at, int step)
{
  int depth = 0;
  for (size_t i = at; i < text.length; i += (size_t)step) // it ends at SIZE_MAX, too
    if ((depth += findings_bracket(text.data[i]) * step) < 0)
      return i;
  return text.length;
}

bool findings_next_argument(struct slice *rest, struct slice *ret_argument)
{
  struct slice text = *rest;
  int depth = 0;
  size_t end = 0;
  if (text.data == NULL)
    return false;
  for (; end < text.length && (depth > 0 || text.data[end] != ','); end++)
    if ((depth += findings_bracket(text.data[end])) < 0)
      break;
  *ret_argument = slice_trim((struct slice){text.data, end});
  *rest = end < text.length && depth == 0 ? slice_after(text, end + 1) : (struct slice){NULL, 0};
  return true;
}

static bool is_part_of_name(char byte)
{
  return isalnum((unsigned char)byte) || byte == '_' || (unsigned char)byte >= 128;
}

bool findings_is_name(struct slice text)
{
  bool is_one = text.length > 0 && !isdigit((unsigned char)text.data[0]);
  for (size_t i = 0; i < text.length; i++)
    is_one &= is_part_of_name(text.data[i]);
  return is_one;
}

size_t findings_name_at(struct slice text, size_t at, struct slice name)
{
  for (size_t i = at; i + name.length <= text.length; i++)
    if (memcmp(text.data + i, name.data, name.length) == 0 &&
        (i == 0 || (!is_part_of_name(text.data[i - 1]) && text.data[i - 1] != '.')) &&
        (i + name.length == text.length || !is_part_of_name(text.data[i + name.length])))
      return i;
  return text.length;
}

size_t findings_setting_at(struct slice text, size_t at, struct slice name, struct slice *ret_value)
{
  for (size_t i = at; i + name.length < text.length; i = step_over(text, i)) {
    if (memcmp(text.data + i, name.data, name.length) != 0 || (i > 0 && is_part_of_name(text.data[i - 1])))
      continue;
    struct slice rest = slice_trim(slice_after(text, i + name.length));
    if (slice_starts_with(rest, "(") || (slice_starts_with(rest, "=") && !slice_starts_with(rest, "=="))) {
      *ret_value = slice_trim(slice_after(rest, 1));
      return i;
    }
  }
  return text.length;
}
