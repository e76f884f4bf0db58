// SPDX-License-Identifier: Apache-2.0
// The statistics over observations, with ranks counted in exact decimals. Called by the analyses and by `xsp profile`.
// The default one, `mean` and `trimmed:F` choose observations; the others look at each value by itself.
#include "analyze/analyze.h"

#include "base/sorted.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_MEDIAN = 1, KIND_MIN, KIND_MAX, KIND_PERCENTILE, KIND_TRIMMED, KIND_TRIMMED_EACH };

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
    int64_t numerator, denominator;
  } plain[] = {{"trimmed", KIND_TRIMMED, 2, 10},
               {"mean", KIND_TRIMMED, 0, 1},
               {"median", KIND_MEDIAN, 0, 1},
               {"min", KIND_MIN, 0, 1},
               {"max", KIND_MAX, 0, 1}};
  static const struct {
    const char *prefix;
    int kind;
  } with_part[] = {{"trimmed:", KIND_TRIMMED}, {"trimmed-each:", KIND_TRIMMED_EACH}};
  text = text == NULL ? plain[0].name : text;
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
    if (strcmp(text, plain[i].name) == 0) {
      *ret_statistic = (struct statistic){plain[i].kind, plain[i].numerator, plain[i].denominator};
      return true;
    }
  int64_t numerator, denominator;
  for (size_t i = 0; i < sizeof with_part / sizeof with_part[0]; i++) {
    size_t length = strlen(with_part[i].prefix);
    if (strncmp(text, with_part[i].prefix, length) != 0)
      continue;
    if (!parse_decimal(text + length, &numerator, &denominator) || 2 * numerator >= denominator)
      return false;
    *ret_statistic = (struct statistic){with_part[i].kind, numerator, denominator};
    return true;
  }
  if (text[0] != 'p' || !parse_decimal(text + 1, &numerator, &denominator) || numerator > 100 * denominator)
    return false;
  *ret_statistic = (struct statistic){KIND_PERCENTILE, numerator, denominator};
  return true;
}

bool statistic_trims_observations(const struct statistic *statistic)
{
  return statistic->kind == KIND_TRIMMED;
}

size_t statistic_cut(const struct statistic *statistic, size_t count)
{
  if ((statistic->kind != KIND_TRIMMED && statistic->kind != KIND_TRIMMED_EACH) || statistic->numerator == 0 ||
      count < 3)
    return 0;
  return count == 3 ? 1 : (size_t)((__int128)statistic->numerator * (__int128)count / statistic->denominator);
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
  qsort(values, count, sizeof *values, sorted_compare_double);
  switch (statistic->kind) {
  case KIND_MIN:
    return values[0];
  case KIND_MAX:
    return values[count - 1];
  case KIND_MEDIAN:
    return at_rank(values, count, 1, 2);
  case KIND_PERCENTILE:
    return at_rank(values, count, statistic->numerator, 100 * statistic->denominator);
  default:
    break;
  }
  size_t cut = statistic_cut(statistic, count);
  return mean_of(values + cut, count - 2 * cut);
}

double statistic_named(const char *name, double *values, size_t count)
{
  struct statistic statistic;
  return statistic_parse(name, &statistic) ? statistic_apply(&statistic, values, count) : NAN;
}

double statistic_quantile(const struct statistic *statistic)
{
  return statistic->kind == KIND_MIN          ? 0
         : statistic->kind == KIND_MAX        ? 1
         : statistic->kind == KIND_MEDIAN     ? 0.5
         : statistic->kind == KIND_PERCENTILE ? (double)statistic->numerator / (100. * (double)statistic->denominator)
                                              : NAN;
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
