// SPDX-License-Identifier: Apache-2.0
// See tensor_compare.h. Called by layer_differences.c.
#include "experiment/evaluation/tensor_compare.h"

#include "base/memory.h"
#include "experiment/evaluation/tensor_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tensor_shape(const struct runner_tensor *tensor, struct arena *arena)
{
  const char *text = "";
  for (unsigned i = 0; i < tensor->rank; i++)
    text = arena_format(arena, "%s%s%" PRId64, text, i > 0 ? "," : "", tensor->shape[i]);
  return text;
}

// ---- which value belongs to which ------------------------------------------------------------------------------------
enum order { ORDER_SAME, ORDER_CHANNELS_LAST, ORDER_CHANNELS_FIRST, ORDER_UNLIKE };

static size_t without_ones(const struct runner_tensor *tensor, int64_t *ret_shape)
{
  size_t rank = 0;
  for (unsigned i = 0; i < tensor->rank; i++)
    if (tensor->shape[i] != 1)
      ret_shape[rank++] = tensor->shape[i];
  return rank;
}

static enum order order_of(const struct runner_tensor *first, const struct runner_tensor *other)
{
  int64_t a[TENSOR_MAXIMUM_RANK], b[TENSOR_MAXIMUM_RANK];
  const int64_t *f = first->shape, *o = other->shape;
  size_t rank = without_ones(first, a);
  if (rank == without_ones(other, b) && memcmp(a, b, rank * sizeof *a) == 0)
    return ORDER_SAME;
  if (first->rank != 4 || other->rank != 4 || f[0] != o[0])
    return ORDER_UNLIKE;
  return f[1] == o[3] && f[2] == o[1] && f[3] == o[2]   ? ORDER_CHANNELS_LAST
         : f[3] == o[1] && f[1] == o[2] && f[2] == o[3] ? ORDER_CHANNELS_FIRST
                                                        : ORDER_UNLIKE;
}

// Of the first's value at `place`, in the other.
static size_t place_in_other(const struct runner_tensor *first, enum order order, size_t place)
{
  if (order == ORDER_SAME)
    return place;
  bool is_to_last = order == ORDER_CHANNELS_LAST;
  size_t channels = (size_t)first->shape[is_to_last ? 1 : 3];
  size_t area = (size_t)(first->shape[2] * first->shape[is_to_last ? 3 : 1]);
  size_t item = place / (channels * area), rest = place % (channels * area);
  size_t channel = is_to_last ? rest / area : rest % channels, pixel = is_to_last ? rest % area : rest / channels;
  return item * channels * area + (is_to_last ? pixel * channels + channel : channel * area + pixel);
}

// ---- differences -----------------------------------------------------------------------------------------------------
static double difference(double a, double b)
{
  if (isfinite(a) && isfinite(b))
    return fabs(a - b);
  return a == b || (isnan(a) && isnan(b)) ? 0 : HUGE_VAL;
}

const char *tensor_compare(const struct runner_tensor *first, const struct runner_tensor *other, struct arena *arena,
                           struct tensor_difference *ret_difference)
{
  enum order order = order_of(first, other);
  size_t count = first->size_bytes / tensor_type_facts(first->type)->bytes;
  *ret_difference = (struct tensor_difference){0};
  if (order == ORDER_UNLIKE)
    return arena_format(arena, "shapes %s and %s", tensor_shape(first, arena), tensor_shape(other, arena));
  double *values SCOPED(scoped_free) = memory_new(2 * count + 1, sizeof *values), *others = values + count, scale = 0;
  (void)tensor_values(first->type, first->data, count, values);
  (void)tensor_values(other->type, other->data, count, others);
  for (size_t i = 0; i < count; i++) {
    double distance = difference(values[i], others[place_in_other(first, order, i)]);
    ret_difference->largest = fmax(ret_difference->largest, distance);
    ret_difference->mean += distance / (double)count;
    if (isfinite(values[i]))
      scale = fmax(scale, fabs(values[i]));
  }
  ret_difference->relative = ret_difference->largest > 0 ? ret_difference->largest / scale : 0; // infinite of zeros
  return NULL;
}
