// SPDX-License-Identifier: Apache-2.0
// Parses a range of times. Exact: whole nanoseconds, no floating point. Called by verb_report.c. Prints nothing.
#include "programs/xsp/report_range.h"

#include <stdio.h>
#include <string.h>

static enum status wrong(const char *text, const char *why, struct error *err)
{
  char where[96];
  snprintf(where, sizeof where, "--range=%s", text);
  return error_set(err, STATUS_USE, "wrong use", where, "--range 1.2s-1.5s, --range 300ms- or --range -40us", "%s",
                   why);
}

struct unit {
  const char *name;
  int64_t ns;
};
static const struct unit units[] = {
    {"ns", 1}, {"us", 1000}, {"µs", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"min", INT64_C(60000000000)},
};

static const struct unit *find_unit(const char *text, size_t length)
{
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0)
      return &units[i];
  return NULL;
}

static bool is_digit(char byte)
{
  return byte >= '0' && byte <= '9';
}

// Digits, maybe a point and more of them: NUMBER * unit. NULL: done; else why not.
static const char *scale(const char *text, const char *end, int64_t unit_ns, int64_t *ret_ns)
{
  int64_t whole = 0, part_ns = unit_ns;
  for (; text < end && is_digit(*text); text++)
    if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *text - '0', &whole))
      return "a time is beyond 292 years";
  if (__builtin_mul_overflow(whole, unit_ns, &whole))
    return "a time is beyond 292 years";
  for (text += text < end; text < end; text++) {
    int64_t digit = *text - '0';
    if (digit != 0 && (part_ns == 0 || digit * part_ns % 10 != 0))
      return "a time is finer than a nanosecond";
    int64_t more = digit * part_ns / 10;
    part_ns = part_ns % 10 == 0 ? part_ns / 10 : 0;
    if (__builtin_add_overflow(whole, more, &whole))
      return "a time is beyond 292 years";
  }
  *ret_ns = whole;
  return NULL;
}

static const char *parse_time(const char *text, size_t length, int64_t *ret_ns)
{
  size_t digits = 0, point = 0;
  while (digits < length && (is_digit(text[digits]) || (text[digits] == '.' && point == 0))) {
    point = text[digits] == '.' ? digits + 1 : point;
    digits++;
  }
  if (digits == 0 || text[0] == '.' || point == digits)
    return "a time is a number and a unit";
  const struct unit *unit = find_unit(text + digits, length - digits);
  bool is_zero = digits == length && digits == 1 && text[0] == '0';
  if (unit == NULL && !is_zero)
    return digits == length ? "a time lacks its unit (ns, us, ms, s or min)" : "no such unit (ns, us, ms, s or min)";
  return scale(text, text + digits, is_zero ? 1 : unit->ns, ret_ns);
}

enum status report_range_parse(const char *text, struct page_range *ret_range, struct error *err)
{
  *ret_range = (struct page_range){0, INT64_MAX};
  const char *dash = strchr(text, '-'), *why = NULL;
  if (dash == NULL)
    return wrong(text, "there is no '-' between two times", err);
  if (dash == text && dash[1] == 0)
    return wrong(text, "it has no time at all", err);
  if (dash > text)
    why = parse_time(text, (size_t)(dash - text), &ret_range->from_ns);
  if (why == NULL && dash[1] != 0)
    why = parse_time(dash + 1, strlen(dash + 1), &ret_range->to_ns);
  if (why != NULL)
    return wrong(text, why, err);
  if (ret_range->to_ns < ret_range->from_ns)
    return wrong(text, "it ends before it begins", err);
  return STATUS_OK;
}
