// SPDX-License-Identifier: Apache-2.0
// Finds the format by its first bytes, decodes, and puts channels in order. Called by what prepares inputs. Hostile input: sizes are
// checked before anything is allocated; fuzz/image_fuzz.c.
#include "processing/decode.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool decoded_make_room(struct decoded *decoded, uint64_t width, uint64_t height, unsigned channels)
{
  if (!image_size_is_possible(width, height)) {
    snprintf(decoded->why, sizeof decoded->why, "it has %" PRIu64 " x %" PRIu64 " pixels, more than %" PRIu64, width,
             height, IMAGE_PIXELS_MAXIMUM);
    return false;
  }
  decoded->image = (struct image){.width = (unsigned)width, .height = (unsigned)height, .channels = channels};
  decoded->image.pixels = memory_new((size_t)(width * height), channels);
  return true;
}

void image_done(struct image *image)
{
  free(image->pixels);
  *image = (struct image){0};
}

// Pillow's luma: ITU-R 601-2 in 16 bits of fraction.
static void make_gray(struct image *image)
{
  size_t count = (size_t)image->width * image->height;
  uint8_t *pixels = image->pixels;
  for (size_t i = 0; i < count; i++) {
    const uint8_t *rgb = pixels + 3 * i;
    pixels[i] = (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
  }
  image->channels = 1;
}

static void make_three(struct image *image)
{
  size_t count = (size_t)image->width * image->height;
  uint8_t *wide = memory_new(count, 3);
  for (size_t i = 0; i < count; i++)
    memset(wide + 3 * i, image->pixels[i], 3);
  free(image->pixels);
  image->pixels = wide;
  image->channels = 3;
}

static void swap_red_and_blue(struct image *image)
{
  size_t count = (size_t)image->width * image->height;
  for (size_t i = 0; i < count; i++) {
    uint8_t red = image->pixels[3 * i];
    image->pixels[3 * i] = image->pixels[3 * i + 2];
    image->pixels[3 * i + 2] = red;
  }
}

static bool begins_with(const void *bytes, size_t size, const void *start, size_t length)
{
  return size >= length && memcmp(bytes, start, length) == 0;
}

static bool is_png(const void *bytes, size_t size)
{
  return begins_with(bytes, size, "\x89PNG\r\n\x1a\n", 8);
}

static enum status decode(bool (*decoder)(const uint8_t *bytes, size_t size, struct decoded *ret_decoded),
                          const void *bytes, size_t size, const char *what, const char *name,
                          struct decoded *ret_decoded, struct error *err)
{
  *ret_decoded = (struct decoded){0};
  if (decoder(bytes, size, ret_decoded))
    return STATUS_OK;
  image_done(&ret_decoded->image);
  return error_set(err, STATUS_INPUT, what, name, NULL, "%s", ret_decoded->why);
}

enum status image_decode_classes(const void *bytes, size_t size, const char *name, struct image *ret_image,
                                 struct error *err)
{
  static const char what[] = "cannot decode the label picture";
  struct decoded decoded;
  *ret_image = (struct image){0};
  if (!is_png(bytes, size))
    return error_set(err, STATUS_INPUT, what, name, "a PNG file with the number of a class in each pixel",
                     "it is none");
  XSP_TRY(decode(decode_png_classes, bytes, size, what, name, &decoded, err));
  *ret_image = decoded.image;
  return STATUS_OK;
}

enum status image_decode(const void *bytes, size_t size, enum image_color color, const char *name,
                         struct image *ret_image, struct error *err)
{
  static const char what[] = "cannot decode the picture";
  struct decoded decoded;
  bool is_jpeg = begins_with(bytes, size, "\xff\xd8\xff", 3);
  *ret_image = (struct image){0};
  if (!is_png(bytes, size) && !is_jpeg)
    return error_set(err, STATUS_INPUT, what, name, "a JPEG or PNG file", "it is neither");
  XSP_TRY(decode(is_jpeg ? decode_jpeg : decode_png, bytes, size, what, name, &decoded, err));
  if (color == IMAGE_GRAY && decoded.image.channels == 3)
    make_gray(&decoded.image);
  else if (color != IMAGE_GRAY && decoded.image.channels == 1)
    make_three(&decoded.image);
  else if (color == IMAGE_BGR)
    swap_red_and_blue(&decoded.image);
  *ret_image = decoded.image;
  return STATUS_OK;
}
