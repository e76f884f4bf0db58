// SPDX-License-Identifier: Apache-2.0
// Classes of pixels; see mask.h. Called by the runner after an inference. Values may be any bits.
#include "processing/mask.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static uint8_t best_channel(const float *values, unsigned channels, size_t stride)
{
  unsigned best = 0;
  float most = -INFINITY;
  for (unsigned channel = 0; channel < channels; channel++)
    if (values[channel * stride] > most) { // in this form NaN is not
      most = values[channel * stride];
      best = channel;
    }
  return (uint8_t)best;
}

bool mask_decode(const struct mask_form *form, const float *values, unsigned channels, unsigned width, unsigned height,
                 struct mask *ret_mask)
{
  size_t count = (size_t)width * height;
  bool is_whole = true;
  *ret_mask = (struct mask){width, height, memory_new(count, 1)};
  for (size_t pixel = 0; pixel < count && is_whole; pixel++) {
    const float *value = values + (form->channels_last ? pixel * channels : pixel);
    if (form->has_threshold) {
      ret_mask->classes[pixel] = *value > form->threshold;
    } else if (channels > 1) {
      ret_mask->classes[pixel] = best_channel(value, channels, form->channels_last ? 1 : count);
    } else {
      is_whole = *value >= 0 && *value < MASK_CLASSES_MOST && *value == floorf(*value);
      ret_mask->classes[pixel] = is_whole ? (uint8_t)*value : 0;
    }
  }
  if (!is_whole)
    mask_done(ret_mask);
  return is_whole;
}

void mask_done(struct mask *mask)
{
  free(mask->classes);
  *mask = (struct mask){0};
}

// For each place along a side of the picture: where the output has it; -1: it was cut off.
static int64_t *find_places(unsigned side, unsigned resized, int64_t cut, unsigned input, unsigned output)
{
  int64_t *places = memory_new(side, sizeof *places);
  for (unsigned i = 0; i < side; i++) {
    double at = floor(((i + 0.5) * resized / side - (double)cut) * output / input);
    places[i] = at >= 0 && at < output ? (int64_t)at : -1;
  }
  return places;
}

void mask_compare(const struct mask_form *form, const struct mask *mask, const struct picture_place *place,
                  unsigned width, unsigned height, const struct image *label, uint64_t *counts)
{
  int64_t *columns SCOPED(scoped_free) =
      find_places(label->width, place->resized_width, place->left, width, mask->width);
  int64_t *rows SCOPED(scoped_free) =
      find_places(label->height, place->resized_height, place->top, height, mask->height);
  for (size_t y = 0; y < label->height; y++)
    for (size_t x = 0; x < label->width && rows[y] >= 0; x++) {
      uint8_t wanted = label->pixels[y * label->width + x];
      if (columns[x] >= 0 && wanted != form->ignored)
        counts[(size_t)wanted * MASK_CLASSES_MOST +
               mask->classes[(size_t)rows[y] * mask->width + (size_t)columns[x]]]++;
    }
}
