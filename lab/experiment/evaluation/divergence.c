// SPDX-License-Identifier: Apache-2.0
// Figures of pairs of outputs; see divergence.h. Zeros as in SciPy: x·log(x/y) is 0 for x = 0, infinite for y = 0 otherwise. Called
// by outputs.c.
#include "experiment/evaluation/divergence.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

// ---- distributions ---------------------------------------------------------------------------------------------------
static bool is_distribution(const double *values, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    if (values[i] < 0)
      return false;
    sum += values[i];
  }
  return fabs(sum - 1) <= 0.01;
}

// False: all are 0.
static bool normalise(const double *values, size_t count, bool is_softmaxed, double *ret_parts)
{
  double largest = -HUGE_VAL, sum = 0;
  for (size_t i = 0; i < count; i++)
    largest = fmax(largest, values[i]);
  for (size_t i = 0; i < count; i++)
    sum += ret_parts[i] = is_softmaxed ? exp(values[i] - largest) : values[i];
  for (size_t i = 0; i < count; i++)
    ret_parts[i] /= sum;
  return sum > 0;
}

static double relative_entropy(double x, double y)
{
  return x == 0 ? 0 : y == 0 ? HUGE_VAL : x * log(x / y);
}

static void add_distributions(struct divergence *divergence, const double *first, const double *other, size_t count)
{
  double kl = 0, js = 0;
  for (size_t i = 0; i < count; i++) {
    double middle = (first[i] + other[i]) / 2;
    kl += relative_entropy(first[i], other[i]);
    js += (relative_entropy(first[i], middle) + relative_entropy(other[i], middle)) / 2;
  }
  kl = fmax(kl, 0); // rounding
  js = fmax(js, 0);
  divergence->js += js;
  divergence->js_largest = fmax(divergence->js_largest, js);
  if (isinf(kl)) {
    divergence->kl_infinite++;
  } else {
    divergence->kl += kl;
    divergence->kl_largest = fmax(divergence->kl_largest, kl);
  }
}

// ---- values ----------------------------------------------------------------------------------------------------------
static bool are_finite(const double *values, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i]))
      return false;
  return true;
}

static void add_values(struct divergence *divergence, size_t item, const double *first, const double *other,
                       size_t count)
{
  double product = 0, first_square = 0, other_square = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = fabs(first[i] - other[i]);
    product += first[i] * other[i];
    first_square += first[i] * first[i];
    other_square += other[i] * other[i];
    divergence->mean += difference;
    if (difference > divergence->largest) {
      divergence->largest = difference;
      divergence->largest_item = item;
    }
  }
  divergence->values += count;
  if (first_square > 0 && other_square > 0) {
    divergence->cosine += product / (sqrt(first_square) * sqrt(other_square));
    divergence->directions++;
  }
}

void divergence_add(struct divergence *divergence, size_t item, const double *first, size_t first_count,
                    const double *other, size_t other_count)
{
  if (first_count != other_count) {
    divergence->unlike++;
    return;
  }
  if (!are_finite(first, first_count) || !are_finite(other, other_count)) {
    divergence->left_out++;
    return;
  }
  if (divergence->items == 0) {
    divergence->largest_item = item;
    divergence->is_first_softmaxed = !is_distribution(first, first_count);
    divergence->is_other_softmaxed = !is_distribution(other, other_count);
  }
  double *parts SCOPED(scoped_free) = memory_new(2 * first_count + 1, sizeof *parts);
  if (normalise(first, first_count, divergence->is_first_softmaxed, parts) &&
      normalise(other, other_count, divergence->is_other_softmaxed, parts + first_count)) {
    divergence->items++;
    add_values(divergence, item, first, other, first_count);
    add_distributions(divergence, parts, parts + first_count, first_count);
  } else {
    divergence->left_out++;
  }
}

static double mean(double sum, size_t count)
{
  return count > 0 ? sum / (double)count : (double)NAN;
}

void divergence_finish(struct divergence *divergence)
{
  size_t with_kl = divergence->items - divergence->kl_infinite;
  divergence->mean = mean(divergence->mean, divergence->values);
  divergence->cosine = mean(divergence->cosine, divergence->directions);
  divergence->js = mean(divergence->js, divergence->items);
  divergence->kl = mean(divergence->kl, with_kl);
  if (divergence->items == 0)
    divergence->largest = divergence->js_largest = NAN;
  if (with_kl == 0)
    divergence->kl_largest = NAN;
}
