// SPDX-License-Identifier: Apache-2.0
// Reads the statements of a loop's body. Called by F2. Pure: a few forms of Python are known, and all others are no answer.
#include "analyze/findings/row_loop.h"

#include <ctype.h>

#define STATEMENTS_MOST 16
#define BLOCKS_MOST 32

enum form {
  FORM_OTHER,
  FORM_ASSIGNS, // names, which later statements of the body may read
  FORM_COLLECTS // a list, elements or a sum, which nothing in the body reads
};
struct logical { // a line, with those that go on in brackets or strings
  struct slice text;
  size_t indent;
  int64_t last; // its last line in the source
};
struct statement {
  enum form form;
  struct slice target, value; // value: with indices and the like
};

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

int findings_bracket(char byte)
{
  return byte == '(' || byte == '[' || byte == '{' ? 1 : byte == ')' || byte == ']' || byte == '}' ? -1 : 0;
}

static size_t count_lines(struct slice text)
{
  size_t count = 0;
  for (size_t i = 0; i < text.length; i++)
    count += text.data[i] == '\n';
  return count;
}

// False: the source has ended. `line`: how many have been read.
static bool next_logical(struct slice *rest, int64_t *line, struct logical *ret)
{
  size_t at = 0, code = 0; // code: where a comment begins, else the end
  int depth = 0;
  bool has_comment = false;
  while (at < rest->length && (rest->data[at] != '\n' || depth > 0)) {
    char byte = rest->data[at];
    has_comment |= byte == '#';
    if (byte == '\n')
      has_comment = false;
    depth += has_comment ? 0 : findings_bracket(byte);
    bool is_text = !has_comment && (byte == '"' || byte == '\'');
    bool goes_on = !has_comment && byte == '\\' && at + 1 < rest->length;
    at += is_text ? string_length(slice_after(*rest, at)) : 1u + goes_on;
    code = has_comment ? code : at;
  }
  if (rest->length == 0)
    return false;
  *ret = (struct logical){.text = {rest->data, code}};
  while (ret->indent < code && ret->text.data[ret->indent] == ' ')
    ret->indent++;
  ret->text = slice_trim(ret->text);
  bool has_end = at < rest->length;
  at += has_end;
  *line += (int64_t)count_lines((struct slice){rest->data, at});
  ret->last = *line + !has_end;
  *rest = slice_after(*rest, at);
  return true;
}

// ---- statements ------------------------------------------------------------------------------------------------------
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

bool findings_has_name(struct slice text, struct slice name)
{
  for (size_t i = 0; i + name.length <= text.length; i++)
    if (memcmp(text.data + i, name.data, name.length) == 0 &&
        (i == 0 || (!is_part_of_name(text.data[i - 1]) && text.data[i - 1] != '.')) &&
        (i + name.length == text.length || !is_part_of_name(text.data[i + name.length])))
      return true;
  return false;
}

// Where `=` of an assignment is, outside of brackets; the text's length: nowhere.
static size_t assignment_at(struct slice text)
{
  int depth = 0;
  for (size_t i = 0; i < text.length; i++) {
    char byte = text.data[i], next = i + 1 < text.length ? text.data[i + 1] : 0;
    depth += findings_bracket(byte);
    if (byte == '"' || byte == '\'')
      i += string_length(slice_after(text, i)) - 1;
    else if (byte == '=' && next == '=')
      i++;
    else if (byte == '=' && depth == 0)
      return i;
  }
  return text.length;
}

// "out[i]" -> "out", and the rest belongs to the value.
static struct statement write_of(struct slice target, struct slice text)
{
  size_t length = 0;
  while (length < target.length && is_part_of_name(target.data[length]))
    length++;
  struct slice name = {target.data, length};
  bool is_element =
      findings_is_name(name) && length < target.length && target.data[length] == '[' && slice_ends_with(target, "]");
  return (struct statement){is_element ? FORM_COLLECTS : FORM_OTHER, name, slice_after(text, length)};
}

static bool are_names(struct slice list)
{
  struct slice part;
  while (slice_cut(&list, ',', &part))
    if (!findings_is_name(slice_trim(part)))
      return false;
  return true;
}

// Statements in one line, and assignments within expressions, which the forms below do not show.
static bool has_hidden_ones(struct slice text)
{
  for (size_t i = 0; i < text.length; i++) {
    if (text.data[i] == '"' || text.data[i] == '\'')
      i += string_length(slice_after(text, i)) - 1;
    else if (text.data[i] == ';' || slice_starts_with(slice_after(text, i), ":="))
      return true;
  }
  return false;
}

static struct statement read_statement(struct slice text)
{
  static const char append[] = ".append(";
  if (has_hidden_ones(text))
    return (struct statement){.form = FORM_OTHER};
  size_t at = assignment_at(text);
  if (at == text.length) {
    const char *found = text.length > 0 ? memmem(text.data, text.length, append, sizeof append - 1) : NULL;
    struct slice name = {text.data, found != NULL ? (size_t)(found - text.data) : 0};
    bool appends = findings_is_name(name) && slice_ends_with(text, ")");
    return (struct statement){appends ? FORM_COLLECTS : FORM_OTHER, name, slice_after(text, name.length)};
  }
  struct slice target = slice_trim((struct slice){text.data, at}), value = slice_after(text, at + 1);
  if (assignment_at(value) < value.length)
    return (struct statement){.form = FORM_OTHER};
  if (slice_ends_with(target, "+")) {
    struct slice sum = slice_trim((struct slice){target.data, target.length - 1});
    return findings_is_name(sum) ? (struct statement){FORM_COLLECTS, sum, value} : write_of(sum, text);
  }
  return are_names(target) ? (struct statement){FORM_ASSIGNS, target, value} : write_of(target, text);
}

// ---- the loop --------------------------------------------------------------------------------------------------------
// Whether the body's statement at `at` reads nothing that an earlier iteration left, and leaves nothing that one reads. `variables`: of
// the loop.
static bool is_independent(struct slice variables, const struct statement *body, size_t count, size_t at)
{
  struct slice names = body[at].target, name;
  while (slice_cut(&names, ',', &name)) {
    name = slice_trim(name);
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

static bool body_is_independent(struct slice rest, size_t indent, struct slice variables)
{
  struct statement body[STATEMENTS_MOST];
  struct logical logical;
  size_t count = 0, inner = 0;
  int64_t line = 0; // of the rest
  while (next_logical(&rest, &line, &logical)) {
    if (logical.text.length == 0)
      continue;
    if (logical.indent <= indent)
      break;
    inner = count == 0 ? logical.indent : inner;
    if (count == STATEMENTS_MOST || logical.indent != inner)
      return false;
    body[count++] = read_statement(logical.text);
  }
  bool collects = false; // else only the last iteration counts
  for (size_t i = 0; i < count; i++) {
    collects |= body[i].form == FORM_COLLECTS;
    if (!is_independent(variables, body, count, i))
      return false;
  }
  return collects;
}

// "for i, row in enumerate(x):" -> "i, row"; nothing of other blocks.
static struct slice variables_of(struct slice header)
{
  static const char in[] = " in ";
  const char *end = memmem(header.data, header.length, in, sizeof in - 1);
  return slice_starts_with(header, "for ") && end != NULL
             ? (struct slice){header.data + 4, (size_t)(end - header.data) - 4}
             : (struct slice){NULL, 0};
}

bool findings_loop_is_independent(struct slice source, int64_t line, int64_t *ret_first)
{
  struct header { // of a block around
    struct slice after, variables;
    size_t indent;
    int64_t first;
  } around[BLOCKS_MOST];
  struct slice rest = source;
  struct logical logical;
  size_t depth = 0;
  for (int64_t read = 0, first = 1; next_logical(&rest, &read, &logical); first = read + 1) {
    while (logical.text.length > 0 && depth > 0 && around[depth - 1].indent >= logical.indent)
      depth--;
    const struct header *innermost = depth > 0 ? &around[depth - 1] : NULL;
    *ret_first = innermost != NULL ? innermost->first : 0;
    if (logical.last >= line)
      return innermost != NULL && innermost->variables.length > 0 &&
             body_is_independent(innermost->after, innermost->indent, innermost->variables);
    if (!slice_ends_with(logical.text, ":"))
      continue;
    if (depth == BLOCKS_MOST)
      return false;
    around[depth++] = (struct header){rest, variables_of(logical.text), logical.indent, first};
  }
  return false;
}

bool findings_comprehension_is_independent(struct slice source, int64_t line)
{
  struct logical logical;
  int64_t read = 0;
  while (next_logical(&source, &read, &logical))
    if (logical.last >= line)
      return !has_hidden_ones(logical.text);
  return false;
}
