// SPDX-License-Identifier: Apache-2.0
// Sizes that keep the aspect, the cut of the middle, and pictures as tensors. Called by what prepares inputs.
#include "processing/image.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void image_size_of_shorter_side(const struct image *image, unsigned side, uint64_t *ret_width, uint64_t *ret_height)
{
  bool is_wide = image->width > image->height;
  uint64_t shorter = is_wide ? image->height : image->width, longer = is_wide ? image->width : image->height;
  uint64_t long_side = (uint64_t)side * longer / shorter;
  *ret_width = is_wide ? long_side : side;
  *ret_height = is_wide ? side : long_side;
}

static unsigned rounded_side(unsigned side, unsigned other, unsigned length)
{
  double found = nearbyint((double)side / other * length); // to even
  return found < 1 ? 1 : (unsigned)found;
}

void image_size_within(const struct image *image, unsigned width, unsigned height, unsigned *ret_width,
                       unsigned *ret_height)
{
  double aspect = (double)image->width / image->height, room = (double)width / height;
  *ret_width = aspect < room ? rounded_side(image->width, image->height, height) : width;
  *ret_height = aspect > room ? rounded_side(image->height, image->width, width) : height;
}

int64_t image_crop_start(unsigned side, unsigned wanted)
{
  if (wanted > side) // the picture is put into the middle: the smaller half of the border comes first
    return -(int64_t)((wanted - side) / 2);
  return (int64_t)nearbyint((side - wanted) / 2.0); // to even
}

void image_crop_center(struct image *image, unsigned width, unsigned height, uint8_t pad)
{
  size_t channels = image->channels;
  int64_t left = image_crop_start(image->width, width), top = image_crop_start(image->height, height);
  size_t copied = (image->width < width ? image->width : width) * channels;
  uint8_t *pixels = memory_new((size_t)width * height, channels);
  if (pad != 0)
    memset(pixels, pad, (size_t)width * height * channels);
  for (size_t y = 0; y < height; y++) {
    int64_t row = (int64_t)y + top;
    if (row < 0 || row >= image->height)
      continue;
    const uint8_t *source = image->pixels + (size_t)row * image->width * channels;
    uint8_t *target = pixels + y * width * channels;
    memcpy(left < 0 ? target + (size_t)-left * channels : target, left < 0 ? source : source + (size_t)left * channels,
           copied);
  }
  free(image->pixels);
  *image = (struct image){width, height, image->channels, pixels};
}

// Where a value of a pixel goes.
static size_t place_of(const struct image *image, bool channels_last, size_t pixel, size_t channel)
{
  size_t count = (size_t)image->width * image->height;
  return channels_last ? pixel * image->channels + channel : channel * count + pixel;
}

void image_to_floats(const struct image *image, const struct image_tensor *how, float *values)
{
  size_t count = (size_t)image->width * image->height, channels = image->channels;
  for (size_t channel = 0; channel < channels; channel++)
    for (size_t pixel = 0; pixel < count; pixel++)
      values[place_of(image, how->channels_last, pixel, channel)] =
          ((float)image->pixels[pixel * channels + channel] - how->mean[channel]) / how->scale[channel];
}

void image_to_bytes(const struct image *image, bool channels_last, uint8_t *values)
{
  size_t count = (size_t)image->width * image->height, channels = image->channels;
  for (size_t channel = 0; channel < channels; channel++)
    for (size_t pixel = 0; pixel < count; pixel++)
      values[place_of(image, channels_last, pixel, channel)] = image->pixels[pixel * channels + channel];
}
