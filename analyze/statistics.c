// SPDX-License-Identifier: Apache-2.0
// The statistics over observations, with ranks counted in exact decimals. Called by the analyses and by `xsp profile`.
#include "analyze/analyze.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_MEAN = 1, KIND_MEDIAN, KIND_MIN, KIND_MAX, KIND_PERCENTILE, KIND_TRIMMED };

#define LARGEST_DIGITS 15

// "12.5" as 125/10. False: not a plain decimal, or too long.
static bool parse_decimal(const char *text, int64_t *ret_numerator, int64_t *ret_denominator)
{
  int64_t numerator = 0;
  int64_t denominator = 1;
  unsigned digits = 0;
  bool is_fraction = false;
  for (; *text != 0; text++) {
    if (*text == '.' && !is_fraction) {
      is_fraction = true;
    } else if (isdigit((unsigned char)*text) && digits < LARGEST_DIGITS) {
      numerator = numerator * 10 + (*text - '0');
      denominator *= is_fraction ? 10 : 1;
      digits++;
    } else {
      return false;
    }
  }
  *ret_numerator = numerator;
  *ret_denominator = denominator;
  return digits > 0;
}

bool statistic_parse(const char *text, struct statistic *ret_statistic)
{
  static const struct {
    const char *name;
    int kind;
  } plain[] = {{"mean", KIND_MEAN}, {"median", KIND_MEDIAN}, {"min", KIND_MIN}, {"max", KIND_MAX}};
  int64_t numerator = 2;
  int64_t denominator = 10;
  *ret_statistic = (struct statistic){KIND_TRIMMED, numerator, denominator, 0};
  if (text == NULL || strcmp(text, "trimmed") == 0)
    return true;
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
    if (strcmp(text, plain[i].name) == 0) {
      ret_statistic->kind = plain[i].kind;
      return true;
    }
  if (strncmp(text, "trimmed:", 8) == 0) {
    if (!parse_decimal(text + 8, &numerator, &denominator) || 2 * numerator >= denominator)
      return false;
    *ret_statistic = (struct statistic){KIND_TRIMMED, numerator, denominator, 0};
    return true;
  }
  if (text[0] != 'p' || !parse_decimal(text + 1, &numerator, &denominator) || numerator > 100 * denominator)
    return false;
  *ret_statistic = (struct statistic){KIND_PERCENTILE, numerator, denominator, (double)numerator / (double)denominator};
  return true;
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left;
  double b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double mean_of(const double *values, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += values[i];
  return sum / (double)count;
}

// Of sorted values, at rank numerator/denominator * (count - 1), between its neighbours in proportion.
static double at_rank(const double *values, size_t count, int64_t numerator, int64_t denominator)
{
  __int128 scaled = (__int128)numerator * (__int128)(count - 1);
  size_t below = (size_t)(scaled / denominator);
  double rest = (double)(int64_t)(scaled % denominator) / (double)denominator;
  if (below + 1 >= count || rest == 0)
    return values[below];
  return values[below] + rest * (values[below + 1] - values[below]);
}

double statistic_apply(const struct statistic *statistic, double *values, size_t count)
{
  if (count == 0)
    return NAN;
  qsort(values, count, sizeof *values, compare);
  switch (statistic->kind) {
  case KIND_MEAN:
    return mean_of(values, count);
  case KIND_MIN:
    return values[0];
  case KIND_MAX:
    return values[count - 1];
  case KIND_MEDIAN:
    return at_rank(values, count, 1, 2);
  case KIND_PERCENTILE:
    return at_rank(values, count, statistic->trim_numerator, 100 * statistic->trim_denominator);
  default:
    break;
  }
  if (count < 3)
    return mean_of(values, count);
  if (count == 3)
    return values[1];
  size_t cut = (size_t)((__int128)statistic->trim_numerator * (__int128)count / statistic->trim_denominator);
  return mean_of(values + cut, count - 2 * cut);
}

double statistic_cv_pct(const double *values, size_t count)
{
  if (count < 2)
    return NAN;
  double mean = mean_of(values, count);
  double squares = 0;
  bool are_equal = true; // then the mean's own rounding must not count
  for (size_t i = 0; i < count; i++) {
    are_equal = are_equal && values[i] == values[0];
    squares += (values[i] - mean) * (values[i] - mean);
  }
  squares = are_equal ? 0 : squares;
  return mean == 0 ? NAN : sqrt(squares / (double)(count - 1)) / mean * 100;
}
