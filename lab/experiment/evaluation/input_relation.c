// SPDX-License-Identifier: Apache-2.0
// Tries simple relations between two inputs, the simplest first; see input_relation.h. Called by layer_differences.c.
#include "experiment/evaluation/input_relation.h"

#include "base/memory.h"
#include "experiment/evaluation/tensor_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define FITS 1e-3     // of the range of values: what a relation may leave over
#define MOVED_MOST 16 // rows or columns

// ---- as pictures -----------------------------------------------------------------------------------------------------
static bool is_channels(int64_t size)
{
  return size == 1 || size == 3 || size == 4;
}

// Of a tensor of four dimensions, whose last or second one has 1, 3 or 4 channels, or of three (one channel). False: it is not
// of pictures.
static bool evaluation_picture_values(const struct runner_tensor *tensor, struct picture_values *ret_values)
{
  const int64_t *shape = tensor->shape;
  bool is_last = tensor->rank == 4 && !is_channels(shape[1]) && is_channels(shape[3]);
  *ret_values = (struct picture_values){0};
  if (tensor->rank != 4 || !(is_last || is_channels(shape[1])) || tensor->size_bytes == 0)
    return false;
  size_t items = (size_t)shape[0], channels = (size_t)shape[is_last ? 3 : 1];
  size_t height = (size_t)shape[is_last ? 1 : 2], width = (size_t)shape[is_last ? 2 : 3], area = height * width;
  size_t count = items * channels * area;
  double *values = memory_new(2 * count, sizeof *values), *raw = values + count;
  if (!tensor_values(tensor->type, tensor->data, count, raw)) {
    free(values);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    size_t item = i / (channels * area), channel = i / area % channels, place = i % area;
    values[i] = is_last ? raw[(item * area + place) * channels + channel] : raw[i];
  }
  *ret_values = (struct picture_values){items, channels, height, width, values};
  return true;
}

// ---- relations -------------------------------------------------------------------------------------------------------
struct line { // other = first × scale + offset
  double scale, offset, worst;
};

static double range_of(const struct picture_values *picture)
{
  size_t count = picture->items * picture->channels * picture->height * picture->width;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (size_t i = 0; i < count; i++) {
    low = fmin(low, picture->values[i]);
    high = fmax(high, picture->values[i]);
  }
  return high - low;
}

static const double *plane(const struct picture_values *picture, size_t item, size_t channel)
{
  return picture->values + (item * picture->channels + channel) * picture->height * picture->width;
}

// The line of least squares through a channel of both, and its worst miss.
static struct line fit(const struct picture_values *first, size_t from, const struct picture_values *other, size_t to)
{
  size_t area = first->height * first->width;
  double count = (double)(area * first->items), x = 0, y = 0, xx = 0, xy = 0;
  struct line line = {.scale = 1};
  for (size_t item = 0; item < first->items; item++)
    for (size_t i = 0; i < area; i++) {
      x += plane(first, item, from)[i] / count;
      y += plane(other, item, to)[i] / count;
    }
  for (size_t item = 0; item < first->items; item++)
    for (size_t i = 0; i < area; i++) {
      double distance = plane(first, item, from)[i] - x;
      xx += distance * distance;
      xy += distance * (plane(other, item, to)[i] - y);
    }
  line.scale = xx > 0 ? xy / xx : 1;
  line.offset = y - line.scale * x;
  for (size_t item = 0; item < first->items; item++)
    for (size_t i = 0; i < area; i++)
      line.worst =
          fmax(line.worst, fabs(plane(first, item, from)[i] * line.scale + line.offset - plane(other, item, to)[i]));
  return line;
}

static const char *line_text(const struct line *line, double range, struct arena *arena)
{
  bool is_moved = fabs(line->offset) > FITS * range, is_scaled = fabs(line->scale - 1) > FITS;
  return is_moved && is_scaled ? arena_format(arena, "× %.6g %+.6g", line->scale, line->offset)
         : is_scaled           ? arena_format(arena, "× %.6g", line->scale)
         : is_moved            ? arena_format(arena, "%+.6g", line->offset)
                               : "as they are";
}

static bool is_same(const struct line *a, const struct line *b, double range)
{
  return fabs(a->scale - b->scale) <= FITS * fabs(a->scale) && fabs(a->offset - b->offset) <= FITS * range;
}

// Each channel of the other is a line of one of the first's: of the same place, or of the opposite one.
static const char *lines(const struct picture_values *first, const struct picture_values *other, bool is_exchanged,
                         struct arena *arena)
{
  struct line found[4];
  double range = range_of(other);
  bool is_one = true;
  for (size_t to = 0; to < other->channels; to++) {
    found[to] = fit(first, is_exchanged ? first->channels - 1 - to : to, other, to);
    if (found[to].worst > FITS * range || found[to].scale == 0)
      return NULL;
    is_one = is_one && is_same(&found[to], &found[0], range);
  }
  bool is_as_it_was = is_one && fabs(found[0].scale - 1) <= FITS && fabs(found[0].offset) <= FITS * range;
  const char *order = is_exchanged ? "the channels are in the opposite order, as RGB and BGR are" : "";
  if (is_as_it_was)
    return order;
  const char *values = "";
  for (size_t i = 0; i < (is_one ? 1 : other->channels); i++)
    values = arena_format(arena, "%s%s%s", values, i > 0 ? "; " : "", line_text(&found[i], range, arena));
  return arena_format(arena, "%s%sthe second's values are the first's %s%s: another mean, scale or type", order,
                      is_exchanged ? ", and " : "", values, is_one ? "" : ", by channel");
}

static bool is_moved(const struct picture_values *first, const struct picture_values *other, long down, long right,
                     double allowed)
{
  long height = (long)first->height, width = (long)first->width;
  if (labs(down) >= height || labs(right) >= width)
    return false;
  for (size_t k = 0; k < first->items * first->channels; k++)
    for (long y = down > 0 ? down : 0; y < height && y - down < height; y++)
      for (long x = right > 0 ? right : 0; x < width && x - right < width; x++)
        if (!(fabs(plane(other, 0, k)[y * width + x] - plane(first, 0, k)[(y - down) * width + x - right]) <= allowed))
          return false;
  return true;
}

static const char *moves(const struct picture_values *first, const struct picture_values *other, struct arena *arena)
{
  double allowed = FITS * range_of(other);
  for (long far = 1; far <= MOVED_MOST; far++) // the nearest first
    for (long down = -far; down <= far; down++)
      for (long right = -far; right <= far; right++)
        if ((labs(down) == far || labs(right) == far) && is_moved(first, other, down, right, allowed))
          return arena_format(arena,
                              "the second has the same picture %ld rows down and %ld columns to the right: it "
                              "was cut at another place",
                              down, right);
  return NULL;
}

static double correlation(const struct picture_values *first, const struct picture_values *other)
{
  size_t count = first->items * first->channels * first->height * first->width;
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < count; i++) {
    x += first->values[i] / (double)count;
    y += other->values[i] / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    xx += (first->values[i] - x) * (first->values[i] - x);
    yy += (other->values[i] - y) * (other->values[i] - y);
    xy += (first->values[i] - x) * (other->values[i] - y);
  }
  return xy / sqrt(xx * yy);
}

static const char *relate(const struct picture_values *first, const struct picture_values *other, struct arena *arena)
{
  if (first->channels != other->channels || first->height != other->height || first->width != other->width ||
      first->items != other->items)
    return arena_format(arena, "pictures of %zu×%zu and %zu×%zu with %zu and %zu channels", first->height, first->width,
                        other->height, other->width, first->channels, other->channels);
  const char *found = lines(first, other, false, arena);
  if (found == NULL && first->channels > 1)
    found = lines(first, other, true, arena);
  if (found == NULL)
    found = moves(first, other, arena);
  return found != NULL ? found
                       : arena_format(arena,
                                      "neither exchanged channels nor another mean, scale or place of the cut turn one "
                                      "into the other (correlation %.3f): another way to resize or cut?",
                                      correlation(first, other));
}

const char *evaluation_input_relation(const struct runner_tensor *first, const struct runner_tensor *other,
                                      struct arena *arena)
{
  struct picture_values pictures[2] = {0};
  const char *types = first->type == other->type
                          ? ""
                          : arena_format(arena, "elements are %s and %s", tensor_type_facts(first->type)->name,
                                         tensor_type_facts(other->type)->name);
  const char *relation = "";
  if (evaluation_picture_values(first, &pictures[0]) && evaluation_picture_values(other, &pictures[1]))
    relation = relate(&pictures[0], &pictures[1], arena);
  free(pictures[0].values);
  free(pictures[1].values);
  return arena_format(arena, "%s%s%s", types, types[0] != 0 && relation[0] != 0 ? "; " : "", relation);
}
