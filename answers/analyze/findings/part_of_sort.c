// SPDX-License-Identifier: Apache-2.0
// Reads how a function uses what it sorts. Called by F68. Pure: a few forms of Python are known, and all others are no answer.
#include "analyze/findings/part_of_sort.h"

#include "analyze/findings/row_loop.h"
#include "analyze/findings/source_line.h"

#include <ctype.h>

#define DIGITS_MOST 4 // of a part's bound

// From an opening bracket to its closing one; of length 0: it has none.
static struct slice bracketed(struct slice text)
{
  int depth = 0;
  for (size_t i = 0; i < text.length; i++) {
    depth += findings_bracket(text.data[i]);
    if (depth <= 0)
      return (struct slice){text.data, depth < 0 || i == 0 ? 0 : i + 1};
  }
  return (struct slice){text.data, 0};
}

static bool is_number(struct slice text)
{
  bool is_one = text.length > 0 && text.length <= DIGITS_MOST;
  for (size_t i = 0; i < text.length; i++)
    is_one &= isdigit((unsigned char)text.data[i]) != 0;
  return is_one;
}

// "8", "k", "self.k"
static bool is_bound(struct slice text)
{
  struct slice part;
  if (text.length == 0 || is_number(text))
    return text.length > 0;
  while (slice_cut(&text, '.', &part))
    if (!findings_is_name(part))
      return false;
  return true;
}

// ":k", "-k:", "0", "-1", "k - 1"
static bool is_one_part(struct slice text)
{
  if (slice_starts_with(text, ":"))
    return is_bound(slice_trim(slice_after(text, 1)));
  if (slice_starts_with(text, "-") && slice_ends_with(text, ":"))
    return is_bound(slice_trim((struct slice){text.data + 1, text.length - 2}));
  if (slice_ends_with(text, "1") && slice_contains(text, "-") && !is_number(slice_after(text, 1))) {
    struct slice name = slice_trim((struct slice){text.data, text.length - 1});
    return slice_ends_with(name, "-") && is_bound(slice_trim((struct slice){name.data, name.length - 1}));
  }
  return is_number(slice_starts_with(text, "-") ? slice_after(text, 1) : text);
}

// "[:, :k]", "[..., -1, None]": all of other dimensions.
static bool takes_part(struct slice index)
{
  struct slice list = {index.data + 1, index.length - 2}, part;
  size_t parts = 0;
  while (slice_cut(&list, ',', &part)) {
    part = slice_trim(part);
    if (is_one_part(part))
      parts++;
    else if (!slice_is(part, ":") && !slice_is(part, "...") && !slice_is(part, "None"))
      return false;
  }
  return parts == 1;
}

// ".values", ".indices"; the length of what the text begins with.
static size_t member_length(struct slice text)
{
  return slice_starts_with(text, ".values") ? 7 : slice_starts_with(text, ".indices") ? 8 : 0;
}

static size_t indent_of(struct slice line)
{
  size_t count = 0;
  while (count < line.length && line.data[count] == ' ')
    count++;
  return count;
}

// The lines of the function around, or all of the source.
static struct slice function_around(struct slice source, int64_t line)
{
  size_t indent = indent_of(findings_line_of(source, line));
  struct slice text;
  for (int64_t i = line - 1; i > 0; i--) {
    text = findings_line_of(source, i);
    struct slice code = slice_trim(text);
    if (code.length == 0 || slice_starts_with(code, ")") || indent_of(text) >= indent)
      continue;
    indent = indent_of(text);
    if (!slice_starts_with(code, "def ") && !slice_starts_with(code, "async def "))
      continue;
    struct slice rest = {text.data + text.length, source.length - (size_t)(text.data + text.length - source.data)};
    const char *end = rest.data;
    while (slice_cut(&rest, '\n', &text) &&
           (slice_trim(text).length == 0 || indent_of(text) > indent || slice_starts_with(slice_trim(text), ")")))
      end = text.data + text.length;
    return (struct slice){findings_line_of(source, i).data, (size_t)(end - findings_line_of(source, i).data)};
  }
  return source;
}

static struct slice without_comment(struct slice line)
{
  const char *found = line.length > 0 ? memchr(line.data, '#', line.length) : NULL;
  return found != NULL ? (struct slice){line.data, (size_t)(found - line.data)} : line;
}

// Each use of the name in the line has the index, or, of length 0, the one that the line shows first.
static bool uses_part(struct slice line, struct slice name, struct slice *index)
{
  for (size_t i = 0; i + name.length <= line.length; i++) {
    struct slice around = {line.data + (i > 0 ? i - 1 : 0), 0};
    around.length = (size_t)(line.data - around.data) + i + name.length;
    around.length += i + name.length < line.length;
    if (memcmp(line.data + i, name.data, name.length) != 0 || !findings_has_name(around, name))
      continue;
    struct slice rest = slice_after(line, i + name.length);
    rest = slice_after(rest, member_length(rest));
    struct slice used = slice_starts_with(rest, "[") ? bracketed(rest) : (struct slice){NULL, 0};
    if (used.length == 0 || !takes_part(used) || (index->length > 0 && !slice_equal(used, *index)))
      return false;
    *index = used;
  }
  return true;
}

// "order = order[:k]" -> the rest; other lines as they are.
static struct slice without_assignment(struct slice line, struct slice name, bool *ret_assigns)
{
  struct slice value = line, target;
  *ret_assigns = slice_cut(&value, '=', &target) && slice_equal(slice_trim(target), name) &&
                 value.data == target.data + target.length + 1 && !slice_starts_with(value, "=");
  return *ret_assigns ? value : line;
}

static bool name_takes_part(struct slice function, const char *sort, struct slice name, bool *is_used)
{
  struct slice index = {NULL, 0}, line;
  while (slice_cut(&function, '\n', &line)) {
    bool assigns;
    struct slice code = without_comment(line);
    if (line.data == sort)
      continue;
    code = without_assignment(code, name, &assigns);
    if (!uses_part(code, name, &index))
      return false;
    if (assigns && line.data > sort)
      break;
  }
  *is_used |= index.length > 0;
  return true;
}

bool findings_takes_part(struct slice source, int64_t line)
{
  static const char call[] = "sort(";
  struct slice text = findings_line_of(source, line), code = without_comment(text), names, name;
  const char *found = code.length > 0 ? memmem(code.data, code.length, call, sizeof call - 1) : NULL;
  if (found == NULL)
    return false;
  struct slice rest = slice_after(code, (size_t)(found - code.data) + sizeof call - 2);
  bool is_argsort = found - code.data >= 3 && memcmp(found - 3, "arg", 3) == 0;
  rest = slice_after(rest, bracketed(rest).length);
  size_t member = member_length(rest);
  if (!is_argsort && member == 0 && (slice_starts_with(rest, "[0]") || slice_starts_with(rest, "[1]")))
    member = 3;
  rest = slice_after(rest, member);
  if (slice_starts_with(rest, "["))
    return bracketed(rest).length > 0 && takes_part(bracketed(rest));
  if (slice_trim(rest).length > 0 || !slice_cut(&code, '=', &names))
    return false;
  struct slice function = function_around(source, line);
  bool is_used = false;
  while (slice_cut(&names, ',', &name)) {
    name = slice_trim(name);
    if (!findings_is_name(name))
      return false;
    if (!slice_is(name, "_") && !name_takes_part(function, text.data, name, &is_used))
      return false;
  }
  return is_used;
}
