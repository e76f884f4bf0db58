// SPDX-License-Identifier: Apache-2.0
// See synthetic.h. Whole numbers only, so that pixels are equal on every machine. Called by xsp data.
#include "data/synthetic.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <png.h>

#define JPEG_QUALITY 90

// SplitMix64.
static uint64_t next(uint64_t *state)
{
  uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);
  value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
  return value ^ value >> 31;
}

static void draw(const struct synthetic *how, uint64_t number, uint8_t *pixels)
{
  uint64_t kind = number % how->classes, of_class = how->seed ^ kind * 0x5851f42d4c957f2d;
  uint64_t of_picture = how->seed ^ (number + 1) * 0xda942042e4dd58b5, color = next(&of_class);
  uint64_t across = 1 + kind, down = how->classes - kind, shift = next(&of_picture);
  for (unsigned y = 0; y < how->height; y++)
    for (unsigned x = 0; x < how->width; x++) {
      uint64_t noise = next(&of_picture);
      unsigned wave = (unsigned)((x * across * 64 / how->classes + y * down * 64 / how->classes + shift % 256) % 256);
      unsigned level = wave < 128 ? wave : 255 - wave; // 0 to 127
      for (int channel = 0; channel < 3; channel++)
        *pixels++ = (uint8_t)(level * (64 + (color >> 8 * channel) % 64) / 128 + (color >> (8 * channel + 24)) % 96 +
                              (noise >> 8 * channel) % 32);
    }
}

static bool write_png(const struct synthetic *how, const uint8_t *pixels, struct buf *file)
{
  png_image image = {
      .version = PNG_IMAGE_VERSION, .width = how->width, .height = how->height, .format = PNG_FORMAT_RGB};
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  if (!buf_reserve(file, size) || png_image_write_to_memory(&image, file->data, &size, 0, pixels, 0, NULL) == 0)
    return false;
  file->length = size;
  return true;
}

static void write_jpeg(const struct synthetic *how, uint8_t *pixels, struct buf *file)
{
  struct jpeg_error_mgr errors;
  struct jpeg_compress_struct jpeg = {.err = jpeg_std_error(&errors)}; // ends the process: only memory can lack
  unsigned char *bytes SCOPED(scoped_free) = NULL;
  unsigned long size = 0;
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = how->width;
  jpeg.image_height = how->height;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, JPEG_QUALITY, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height)
    jpeg_write_scanlines(&jpeg, &(JSAMPROW){pixels + (size_t)jpeg.next_scanline * how->width * 3}, 1);
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  buf_put(file, bytes, size);
}

bool synthetic_picture(const struct synthetic *how, uint64_t number, struct buf *ret_file)
{
  uint8_t *pixels SCOPED(scoped_free) = memory_new((size_t)how->width * how->height, 3);
  bool is_made = true;
  buf_clear(ret_file);
  draw(how, number, pixels);
  if (how->is_jpeg)
    write_jpeg(how, pixels, ret_file);
  else
    is_made = write_png(how, pixels, ret_file);
  return is_made && !ret_file->failed;
}
