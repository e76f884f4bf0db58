// SPDX-License-Identifier: Apache-2.0
// Reads how a function uses what it sorts. Called by F68. Pure: a few forms of Python are known, and all others are no answer.
#include "analyze/findings/part_of_sort.h"

#include "analyze/findings/statements.h"

#include <ctype.h>

#define DIGITS_MOST 4 // of a part's bound

// From an opening bracket to its closing one; of length 0: it has none.
static struct slice bracketed(struct slice text)
{
  size_t end =
      slice_starts_with(text, "[") || slice_starts_with(text, "(") ? findings_bracket_from(text, 1, 1) : text.length;
  return (struct slice){text.data, end < text.length ? end + 1 : 0};
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
  while (findings_next_argument(&list, &part)) {
    if (is_one_part(part))
      parts++;
    else if (!slice_is(part, ":") && !slice_is(part, "...") && !slice_is(part, "None"))
      return false;
  }
  return parts == 1;
}

// ".values", ".indices", "[0]" of a pair of both; the length of what the text begins with.
static size_t member_length(struct slice text, bool is_pair)
{
  bool is_element = is_pair && (slice_starts_with(text, "[0]") || slice_starts_with(text, "[1]"));
  return is_element ? 3 : slice_starts_with(text, ".values") ? 7 : slice_starts_with(text, ".indices") ? 8 : 0;
}

// Each use of the name in the text has the index, or, of length 0, the one that the text shows first.
static bool uses_part(struct slice text, struct slice name, bool is_pair, struct slice *index)
{
  for (size_t i = 0; (i = findings_name_at(text, i, name)) < text.length; i++) {
    struct slice rest = slice_after(text, i + name.length);
    struct slice used = bracketed(slice_after(rest, member_length(rest, is_pair)));
    if (used.length == 0 || used.data[0] != '[' || !takes_part(used) ||
        (index->length > 0 && !slice_equal(used, *index)))
      return false;
    *index = used;
  }
  return true;
}

// All of the source, where no function is around.
static struct statement function_around(struct slice source, struct statement at)
{
  while (findings_header_of(source, at, &at))
    if (slice_starts_with(at.text, "def ") || slice_starts_with(at.text, "async def "))
      return at;
  return (struct statement){.after = source};
}

static bool name_takes_part(struct statement function, const char *sort, struct slice name, bool is_pair, bool *is_used)
{
  struct slice index = {NULL, 0}, target, value;
  struct statement at = function;
  while (findings_next_statement(&at) && (function.text.length == 0 || at.indent > function.indent)) {
    if (at.text.data == sort)
      continue;
    bool assigns = findings_assignment(at.text, &target, &value) && slice_equal(target, name);
    if (!uses_part(assigns ? value : at.text, name, is_pair, &index))
      return false;
    if (assigns && at.text.data > sort)
      break;
  }
  *is_used |= index.length > 0;
  return true;
}

bool findings_takes_part(struct slice source, int64_t line)
{
  static const char call[] = "sort(";
  struct statement at;
  struct slice names, name, value;
  const char *found =
      findings_statement_at(source, line, &at) ? memmem(at.text.data, at.text.length, call, sizeof call - 1) : NULL;
  if (found == NULL)
    return false;
  struct slice rest = slice_after(at.text, (size_t)(found - at.text.data) + sizeof call - 2);
  bool is_pair = found - at.text.data < 3 || memcmp(found - 3, "arg", 3) != 0, is_used = false;
  rest = slice_after(rest, bracketed(rest).length);
  size_t member = member_length(rest, is_pair);
  rest = slice_after(rest, member);
  if (slice_starts_with(rest, "["))
    return bracketed(rest).length > 0 && takes_part(bracketed(rest));
  if (slice_trim(rest).length > 0 || !findings_assignment(at.text, &names, &value))
    return false;
  is_pair &= member == 0 && !slice_contains(names, ",");
  struct statement function = function_around(source, at);
  while (findings_next_argument(&names, &name))
    if (!findings_is_name(name) ||
        (!slice_is(name, "_") && !name_takes_part(function, at.text.data, name, is_pair, &is_used)))
      return false;
  return is_used;
}
