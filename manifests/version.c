// SPDX-License-Identifier: Apache-2.0
// The part of Python's version rules (PEP 440) that libraries use; see version.h.
#include "manifests/version.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define PARTS_MAXIMUM 8
#define NUMBER_MAXIMUM UINT64_C(1000000000000000) // dates are versions, too

enum stage { STAGE_DEV, STAGE_A, STAGE_B, STAGE_RC, STAGE_FINAL, STAGE_POST };
struct version {
  uint64_t parts[PARTS_MAXIMUM];
  size_t count;
  enum stage stage;
  uint64_t stage_number;
};

static bool read_number(const char **at, uint64_t *ret_number)
{
  if (!isdigit((unsigned char)**at))
    return false;
  uint64_t number = 0;
  for (; isdigit((unsigned char)**at); (*at)++)
    number = number < NUMBER_MAXIMUM ? number * 10 + (uint64_t)(**at - '0') : number;
  *ret_number = number;
  return true;
}

// An ending that says which version before or after the final one it is; moves over it. Libraries also write "-rc1", "rc.1".
static void read_stage(const char **at, struct version *version)
{
  static const struct {
    const char *name;
    enum stage stage;
  } stages[] = {{"dev", STAGE_DEV}, {"alpha", STAGE_A}, {"beta", STAGE_B},   {"a", STAGE_A},
                {"b", STAGE_B},     {"rc", STAGE_RC},   {"post", STAGE_POST}};
  const char *name = *at + (strchr(".-_", **at) != NULL && **at != 0);
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
    size_t length = strlen(stages[i].name);
    if (strncmp(name, stages[i].name, length) != 0)
      continue;
    const char *number = name + length + (name[length] == '.');
    if (!read_number(&number, &version->stage_number))
      continue;
    version->stage = stages[i].stage;
    *at = number;
    return;
  }
}

// Moves `at` over the version. False where there is none.
static bool read_version(const char **at, struct version *ret_version)
{
  *ret_version = (struct version){.stage = STAGE_FINAL};
  do {
    uint64_t number = 0;
    if (!read_number(at, &number))
      return false;
    if (ret_version->count < PARTS_MAXIMUM)
      ret_version->parts[ret_version->count++] = number;
  } while (**at == '.' && isdigit((unsigned char)(*at)[1]) && (*at)++);
  read_stage(at, ret_version);
  return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
  return (a > b) - (a < b);
}

// Of the first `count` numbers; missing ones are 0.
static int compare_parts(const struct version *a, const struct version *b, size_t count)
{
  int order = 0;
  for (size_t i = 0; i < count && order == 0; i++)
    order = compare_numbers(i < a->count ? a->parts[i] : 0, i < b->count ? b->parts[i] : 0);
  return order;
}

static int compare(const struct version *a, const struct version *b)
{
  int order = compare_parts(a, b, PARTS_MAXIMUM);
  if (order == 0)
    order = compare_numbers(a->stage, b->stage);
  return order != 0 ? order : compare_numbers(a->stage_number, b->stage_number);
}

enum comparison { AT_LEAST, AT_MOST, ABOVE, BELOW, EQUAL, UNEQUAL, COMPATIBLE };

static const char *skip_spaces(const char *at)
{
  return at + strspn(at, " ");
}

// One comparison and the ',' behind it. False where it is malformed.
static bool read_clause(const char **at, enum comparison *ret_comparison, struct version *ret_version)
{
  static const char *const names[] = {[AT_LEAST] = ">=", [AT_MOST] = "<=", [EQUAL] = "==",     [UNEQUAL] = "!=",
                                      [ABOVE] = ">",     [BELOW] = "<",    [COMPATIBLE] = "~="};
  static const enum comparison longest_first[] = {AT_LEAST, AT_MOST, EQUAL, UNEQUAL, COMPATIBLE, ABOVE, BELOW};
  const char *text = skip_spaces(*at);
  size_t i = 0;
  while (i < sizeof longest_first / sizeof longest_first[0] &&
         strncmp(text, names[longest_first[i]], strlen(names[longest_first[i]])) != 0)
    i++;
  if (i == sizeof longest_first / sizeof longest_first[0])
    return false;
  *ret_comparison = longest_first[i];
  text = skip_spaces(text + strlen(names[longest_first[i]]));
  if (!read_version(&text, ret_version) || (*ret_comparison == COMPATIBLE && ret_version->count < 2))
    return false;
  text = skip_spaces(text);
  if (*text != 0 && (*text != ',' || *++text == 0))
    return false;
  *at = text;
  return true;
}

bool version_constraint_is_valid(const char *constraint)
{
  enum comparison comparison;
  struct version version;
  do {
    if (!read_clause(&constraint, &comparison, &version))
      return false;
  } while (*constraint != 0);
  return true;
}

static bool holds(const struct version *found, enum comparison comparison, const struct version *wanted)
{
  int order = compare(found, wanted);
  switch (comparison) {
  case AT_LEAST:
    return order >= 0;
  case AT_MOST:
    return order <= 0;
  case ABOVE:
    return order > 0;
  case BELOW:
    return order < 0;
  case EQUAL:
    return order == 0;
  case UNEQUAL:
    return order != 0;
  case COMPATIBLE: // ~=2.14.1: at least that, and a 2.14
    return order >= 0 && compare_parts(found, wanted, wanted->count - 1) == 0;
  }
  return false;
}

bool version_satisfies(const char *version, const char *constraint)
{
  struct version found, wanted;
  enum comparison comparison;
  if (!read_version(&version, &found))
    return false;
  do {
    if (!read_clause(&constraint, &comparison, &wanted) || !holds(&found, comparison, &wanted))
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
