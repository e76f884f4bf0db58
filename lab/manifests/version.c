// SPDX-License-Identifier: Apache-2.0
// Versions and constraints on them, as far as manifests need them; see version.h.
#include "manifests/version.h"

#include "base/sorted.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define PARTS_MAXIMUM 8
#define NUMBER_MAXIMUM UINT64_C(1000000000000000) // dates are versions, too

struct version {
  uint64_t parts[PARTS_MAXIMUM]; // missing ones are 0
  size_t count;
  int stage; // -1: before the release of these numbers, 1: after it
};
struct clause {
  char comparison; // '>', '<', '=', '!', '~'; 0: as many parts as `fixed` are equal, and at least that version
  bool or_equal;
  size_t fixed;
  struct version version;
};

// Moves `at` over an ending such as "rc1", ".dev3", "-rc.1" or ".post1".
static int read_stage(const char **at)
{
  static const char *const endings[] = {"post", "dev", "alpha", "beta", "rc", "a", "b"};
  const char *ending = *at + (**at != 0 && strchr(".-_", **at) != NULL);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    size_t length = strlen(endings[i]);
    const char *number = ending + length;
    if (strncmp(ending, endings[i], length) != 0 || !isdigit((unsigned char)*(number += *number == '.')))
      continue;
    *at = number + strspn(number, "0123456789");
    return i == 0 ? 1 : -1;
  }
  return 0;
}

// Moves `at` over the version. False: there is no number.
static bool read_version(const char **at, struct version *ret_version)
{
  *ret_version = (struct version){0};
  do {
    uint64_t number = 0;
    if (!isdigit((unsigned char)**at))
      return false;
    for (; isdigit((unsigned char)**at); (*at)++)
      number = number < NUMBER_MAXIMUM ? number * 10 + (uint64_t)(**at - '0') : number;
    if (ret_version->count < PARTS_MAXIMUM)
      ret_version->parts[ret_version->count++] = number;
  } while (**at == '.' && isdigit((unsigned char)(*at)[1]) && (*at)++);
  ret_version->stage = read_stage(at);
  return true;
}

static int compare_parts(const struct version *a, const struct version *b, size_t count)
{
  int order = 0;
  for (size_t i = 0; i < count && order == 0; i++)
    order = RISING(parts[i]);
  return order;
}

static const char *skip_spaces(const char *at)
{
  return at + strspn(at, " ");
}

// How many parts a range leaves as they are: of ^1.2 the 1, of ^0.2.3 the 0.2, of ~1.2.3 the 1.2, of 1.2.x the 1.2.
static size_t fixed_parts(char sign, const struct version *version)
{
  size_t fixed = version->count;
  if (sign == '~' && fixed > 2)
    fixed = 2;
  for (size_t i = 0; sign == '^' && i < version->count; i++)
    if (version->parts[i] != 0) {
      fixed = i + 1;
      break;
    }
  return fixed;
}

// A range of semantic versions: ^1.2, ~1.2, 1.2, 1.x, *. False: none.
static bool read_range(const char **at, struct clause *ret_clause)
{
  static const char raised_caret[] = "\xcb\x86"; // what copying from a typeset page gives
  const char *text = *at;
  char sign = *text == '^' || *text == '~' ? *text : 0;
  if (strncmp(text, raised_caret, strlen(raised_caret)) == 0) {
    sign = '^';
    text++;
  }
  text = skip_spaces(text + (sign != 0));
  *ret_clause = (struct clause){0};
  bool is_any = sign == 0 && *text != 0 && strchr("xX*", *text) != NULL;
  if (!is_any && !read_version(&text, &ret_clause->version))
    return false;
  text += is_any;
  while (ret_clause->version.stage == 0 && *text == '.' && text[1] != 0 && strchr("xX*", text[1]) != NULL)
    text += 2;
  ret_clause->fixed = fixed_parts(sign, &ret_clause->version);
  *at = text;
  return true;
}

static bool read_comparison(const char **at, struct clause *ret_clause)
{
  const char *text = *at;
  *ret_clause = (struct clause){.comparison = *text, .or_equal = *text != 0 && text[1] == '='};
  if (*text == 0 || strchr(ret_clause->or_equal ? "<>=!~" : "<>", *text) == NULL)
    return false;
  text = skip_spaces(text + 1 + ret_clause->or_equal);
  if (!read_version(&text, &ret_clause->version) || (ret_clause->comparison == '~' && ret_clause->version.count < 2))
    return false;
  if (ret_clause->comparison == '~') { // ~=2.14.1: at least that, and a 2.14
    ret_clause->comparison = 0;
    ret_clause->fixed = ret_clause->version.count - 1;
  }
  *at = text;
  return true;
}

// One comparison or range and the ',' after it. False: malformed.
static bool read_clause(const char **at, bool takes_ranges, struct clause *ret_clause)
{
  const char *text = skip_spaces(*at);
  if (!read_comparison(&text, ret_clause) && !(takes_ranges && read_range(&text, ret_clause)))
    return false;
  text = skip_spaces(text);
  if (*text != 0 && (*text != ',' || *++text == 0))
    return false;
  *at = text;
  return true;
}

static bool holds(const struct version *found, const struct clause *clause)
{
  int order = compare_parts(found, &clause->version, PARTS_MAXIMUM);
  if (order == 0)
    order = found->stage - clause->version.stage;
  switch (clause->comparison) {
  case '>':
    return order > 0 || (order == 0 && clause->or_equal);
  case '<':
    return order < 0 || (order == 0 && clause->or_equal);
  case 0:
    return order >= 0 && compare_parts(found, &clause->version, clause->fixed) == 0;
  default:
    return (order == 0) == (clause->comparison == '=');
  }
}

static bool is_valid(const char *constraint, bool takes_ranges)
{
  struct clause clause;
  do {
    if (!read_clause(&constraint, takes_ranges, &clause))
      return false;
  } while (*constraint != 0);
  return true;
}

bool version_constraint_is_valid(const char *constraint)
{
  return is_valid(constraint, true);
}

bool version_satisfies(const char *version, const char *constraint)
{
  struct version found;
  struct clause clause;
  if (!read_version(&version, &found))
    return false;
  do {
    if (!read_clause(&constraint, true, &clause) || !holds(&found, &clause))
      return false;
  } while (*constraint != 0);
  return true;
}

size_t version_split_requirement(const char *requirement, const char **ret_constraint)
{
  size_t length = 0;
  while (isalnum((unsigned char)requirement[length]) ||
         (requirement[length] != 0 && strchr("._-", requirement[length])))
    length++;
  if (length == 0 || !isalnum((unsigned char)requirement[0]) || !isalnum((unsigned char)requirement[length - 1]))
    return 0;
  *ret_constraint = skip_spaces(requirement + length);
  return **ret_constraint == 0 || is_valid(*ret_constraint, false) ? length : 0;
}
