// SPDX-License-Identifier: Apache-2.0
// Versions and constraints on them, as far as manifests need them; see version.h.
#include "manifests/version.h"

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
  char comparison; // '>', '<', '=', '!', '~'
  bool or_equal;
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
    order = (a->parts[i] > b->parts[i]) - (a->parts[i] < b->parts[i]);
  return order;
}

static const char *skip_spaces(const char *at)
{
  return at + strspn(at, " ");
}

// One comparison and the ',' after it. False: malformed.
static bool read_clause(const char **at, struct clause *ret_clause)
{
  const char *text = skip_spaces(*at);
  *ret_clause = (struct clause){.comparison = *text, .or_equal = *text != 0 && text[1] == '='};
  if (*text == 0 || strchr(ret_clause->or_equal ? "<>=!~" : "<>", *text) == NULL)
    return false;
  text = skip_spaces(text + 1 + ret_clause->or_equal);
  if (!read_version(&text, &ret_clause->version) || (ret_clause->comparison == '~' && ret_clause->version.count < 2))
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
  case '~': // ~=2.14.1: at least that, and a 2.14
    return order >= 0 && compare_parts(found, &clause->version, clause->version.count - 1) == 0;
  default:
    return (order == 0) == (clause->comparison == '=');
  }
}

bool version_constraint_is_valid(const char *constraint)
{
  struct clause clause;
  do {
    if (!read_clause(&constraint, &clause))
      return false;
  } while (*constraint != 0);
  return true;
}

bool version_satisfies(const char *version, const char *constraint)
{
  struct version found;
  struct clause clause;
  if (!read_version(&version, &found))
    return false;
  do {
    if (!read_clause(&constraint, &clause) || !holds(&found, &clause))
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
  return **ret_constraint == 0 || version_constraint_is_valid(*ret_constraint) ? length : 0;
}
