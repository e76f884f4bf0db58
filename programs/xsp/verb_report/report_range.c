// SPDX-License-Identifier: Apache-2.0
// Parses a range of times. Exact: whole nanoseconds, no floating point. Called by verb_report.c. Prints nothing.
#include "programs/xsp/verb_report/report_range.h"

#include <stdio.h>
#include <string.h>

static enum status wrong(const char *text, const char *why, struct error *err)
{
  char where[96];
  snprintf(where, sizeof where, "--range=%s", text);
  return error_set(err, STATUS_USE, "wrong use", where, "--range 1.2s-1.5s, --range 300ms- or --range -40us", "%s",
                   why);
}

static int64_t unit_ns_of(const char *text, size_t length) // 0: no such unit
{
  static const struct {
    const char *name;
    int64_t ns;
  } units[] = {
      {"ns", 1}, {"us", 1000}, {"µs", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"min", INT64_C(60000000000)},
  };
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0)
      return units[i].ns;
  return 0;
}

// Digits, maybe a point and more of them, and a unit. NULL: done; else why not.
static const char *parse_time(const char *text, size_t length, int64_t *ret_ns)
{
  static const char digits[] = "0123456789", too_late[] = "a time is beyond 292 years";
  size_t whole = strspn(text, digits), part = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
  size_t end = part > 0 ? whole + 1 + part : whole;
  if (whole == 0 || (text[whole] == '.' && part == 0))
    return "a time is a number and a unit";
  bool is_zero = length == 1 && text[0] == '0';
  int64_t ns = 0, unit_ns = is_zero ? 1 : unit_ns_of(text + end, length - end);
  if (unit_ns == 0)
    return end == length ? "a time lacks its unit (ns, us, ms, s or min)" : "no such unit (ns, us, ms, s or min)";
  for (size_t i = 0; i < whole; i++)
    if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, text[i] - '0', &ns))
      return too_late;
  if (__builtin_mul_overflow(ns, unit_ns, &ns))
    return too_late;
  for (size_t i = whole + 1; i < end; i++) {
    int64_t digit = text[i] - '0';
    if (digit != 0 && (unit_ns == 0 || digit * unit_ns % 10 != 0))
      return "a time is finer than a nanosecond";
    if (__builtin_add_overflow(ns, digit * unit_ns / 10, &ns))
      return too_late;
    unit_ns = unit_ns % 10 == 0 ? unit_ns / 10 : 0;
  }
  *ret_ns = ns;
  return NULL;
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
