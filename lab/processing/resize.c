// SPDX-License-Identifier: Apache-2.0
// Resizes as Pillow does (libImaging/Resample.c, 8 bits per channel): two passes of weighted sums in fixed point, whose weights reach
// over `scale` pixels of the source for each one of the result. Same results, bit by bit.
#include "processing/image.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRACTION_BITS (32 - 8 - 2) // of a weight: sums of 8-bit values keep a sign and a bit of room

// ---- filters ---------------------------------------------------------------------------------------------------------
static double box(double x)
{
  return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static double bilinear(double x)
{
  x = fabs(x);
  return x < 1 ? 1 - x : 0;
}

static double hamming(double x)
{
  x = fabs(x);
  if (x == 0)
    return 1;
  if (x >= 1)
    return 0;
  x *= M_PI;
  return sin(x) / x * (0.54 + 0.46 * cos(x));
}

static double bicubic(double x)
{
  const double a = -0.5; // Keys' kernel
  x = fabs(x);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x)
{
  x *= M_PI;
  return x == 0 ? 1 : sin(x) / x;
}

static double lanczos(double x)
{
  return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static const struct filter {
  double (*weight)(double distance);
  double support;
} filters[] = {[IMAGE_BOX] = {box, 0.5},
               [IMAGE_BILINEAR] = {bilinear, 1},
               [IMAGE_HAMMING] = {hamming, 1},
               [IMAGE_BICUBIC] = {bicubic, 2},
               [IMAGE_LANCZOS] = {lanczos, 3}};

// ---- weights ---------------------------------------------------------------------------------------------------------
struct weights { // of one pass: for each pixel of the result, which pixels of the source count how much
  size_t most;   // of each
  struct reach {
    unsigned first, count;
  } * reaches;
  int32_t *values; // `most` for each
};

static void find_weights(unsigned from, unsigned to, const struct filter *filter, struct weights *ret_weights)
{
  double scale = (double)from / to, stretch = scale < 1 ? 1 : scale, support = filter->support * stretch;
  size_t most = (size_t)ceil(support) * 2 + 1;
  double *exact SCOPED(scoped_free) = memory_new(most, sizeof *exact);
  *ret_weights = (struct weights){most, memory_new(to, sizeof(struct reach)), memory_new(to * most, sizeof(int32_t))};
  for (unsigned i = 0; i < to; i++) {
    double center = (i + 0.5) * scale, sum = 0;
    int first = (int)(center - support + 0.5), end = (int)(center + support + 0.5);
    first = first < 0 ? 0 : first;
    end = end > (int)from ? (int)from : end;
    size_t count = (size_t)(end - first);
    for (size_t k = 0; k < count; k++)
      sum += exact[k] = filter->weight(((double)k + first - center + 0.5) * (1 / stretch));
    for (size_t k = 0; k < count; k++) {
      double weight = (sum != 0 ? exact[k] / sum : exact[k]) * (1 << FRACTION_BITS);
      ret_weights->values[i * most + k] = (int32_t)(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
    ret_weights->reaches[i] = (struct reach){(unsigned)first, (unsigned)count};
  }
}

static void weights_done(struct weights *weights)
{
  free(weights->reaches);
  free(weights->values);
}

// ---- passes ----------------------------------------------------------------------------------------------------------
static uint8_t clip(int32_t sum)
{
  sum >>= FRACTION_BITS;
  return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

// `step`: bytes from one pixel of the source to the next that counts.
static uint8_t weighted(const uint8_t *source, size_t step, const int32_t *values, unsigned count)
{
  int32_t sum = 1 << (FRACTION_BITS - 1);
  for (unsigned k = 0; k < count; k++)
    sum += source[k * step] * values[k];
  return clip(sum);
}

static void resize_rows(struct image *image, unsigned width, const struct filter *filter)
{
  struct weights weights;
  size_t channels = image->channels;
  uint8_t *pixels = memory_new((size_t)width * image->height, channels), *next = pixels;
  find_weights(image->width, width, filter, &weights);
  for (size_t y = 0; y < image->height; y++) {
    const uint8_t *row = image->pixels + y * image->width * channels;
    for (size_t x = 0; x < width; x++)
      for (size_t c = 0; c < channels; c++)
        *next++ = weighted(row + weights.reaches[x].first * channels + c, channels, weights.values + x * weights.most,
                           weights.reaches[x].count);
  }
  weights_done(&weights);
  free(image->pixels);
  image->pixels = pixels;
  image->width = width;
}

static void resize_columns(struct image *image, unsigned height, const struct filter *filter)
{
  struct weights weights;
  size_t row_bytes = (size_t)image->width * image->channels;
  uint8_t *pixels = memory_new(height, row_bytes), *next = pixels;
  find_weights(image->height, height, filter, &weights);
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < row_bytes; x++)
      *next++ = weighted(image->pixels + weights.reaches[y].first * row_bytes + x, row_bytes,
                         weights.values + y * weights.most, weights.reaches[y].count);
  weights_done(&weights);
  free(image->pixels);
  image->pixels = pixels;
  image->height = height;
}

// ---- nearest ---------------------------------------------------------------------------------------------------------
// Steps are added up, as Pillow adds them: products would differ at exact halves.
static void find_nearest(unsigned from, unsigned to, unsigned *ret_places)
{
  double step = (double)from / to, place = step * 0.5;
  for (unsigned i = 0; i < to; i++, place += step)
    ret_places[i] = place < from ? (unsigned)place : from - 1;
}

static void resize_nearest(struct image *image, unsigned width, unsigned height)
{
  size_t channels = image->channels;
  unsigned *columns = memory_new(width, sizeof *columns), *rows = memory_new(height, sizeof *rows);
  uint8_t *pixels = memory_new((size_t)width * height, channels), *next = pixels;
  find_nearest(image->width, width, columns);
  find_nearest(image->height, height, rows);
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++, next += channels)
      memcpy(next, image->pixels + ((size_t)rows[y] * image->width + columns[x]) * channels, channels);
  free(columns);
  free(rows);
  free(image->pixels);
  *image = (struct image){width, height, image->channels, pixels};
}

void image_resize(struct image *image, unsigned width, unsigned height, enum image_filter filter)
{
  if (filter == IMAGE_NEAREST) {
    resize_nearest(image, width, height);
    return;
  }
  if (image->width != width)
    resize_rows(image, width, &filters[filter]);
  if (image->height != height)
    resize_columns(image, height, &filters[filter]);
}
