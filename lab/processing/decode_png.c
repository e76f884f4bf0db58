// SPDX-License-Identifier: Apache-2.0
// PNG by libpng: gray or colour in 8 bits, without alpha and without correction of gamma, as Pillow reads it. Called by decode.c. The
// library reports errors by a function that must not return, so this leaves by longjmp.
#include "processing/decode.h"

#include "base/memory.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES_MOST ((png_alloc_size_t)8 << 20) // of a profile or text, decompressed; they are not used

struct source {
  const uint8_t *bytes;
  size_t left;
};
struct decoding {
  struct decoded *decoded;
  bool is_classes; // values as they are stored
  png_structp png;
  png_infop info;
  png_bytepp rows;
  struct source source;
  jmp_buf failed;
};

_Noreturn static void on_error(png_structp png, png_const_charp text)
{
  struct decoding *decoding = png_get_error_ptr(png);
  if (decoding->decoded->why[0] == 0)
    snprintf(decoding->decoded->why, sizeof decoding->decoded->why, "%.150s", text);
  longjmp(decoding->failed, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
}

static void read_bytes(png_structp png, png_bytep into, size_t count)
{
  struct source *source = png_get_io_ptr(png);
  if (count > source->left)
    png_error(png, "it ends too early");
  memcpy(into, source->bytes, count);
  source->bytes += count;
  source->left -= count;
}

static void set_colors(png_structp png, int depth, int type)
{
  if (depth == 16)
    png_set_strip_16(png);
  if (type == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png);
  else if (depth < 8)
    png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
}

// False: too large.
static bool read_head(struct decoding *decoding)
{
  png_structp png = decoding->png;
  png_uint_32 width = 0, height = 0;
  int depth = 0, type = 0;
  png_read_info(png, decoding->info);
  png_get_IHDR(png, decoding->info, &width, &height, &depth, &type, NULL, NULL, NULL);
  if (decoding->is_classes) {
    if (depth == 16 || (type != PNG_COLOR_TYPE_PALETTE && type != PNG_COLOR_TYPE_GRAY))
      png_error(png, "it has more than one number of up to 8 bits for each pixel");
    png_set_packing(png);
  } else {
    set_colors(png, depth, type);
  }
  (void)png_set_interlace_handling(png);
  png_read_update_info(png, decoding->info);
  return decoded_make_room(decoding->decoded, width, height, png_get_channels(png, decoding->info));
}

static bool read_picture(struct decoding *decoding)
{
  struct image *image = &decoding->decoded->image;
  png_set_user_limits(decoding->png, IMAGE_SIDE_MAXIMUM, IMAGE_SIDE_MAXIMUM);
  png_set_chunk_malloc_max(decoding->png, CHUNK_BYTES_MOST);
  png_set_read_fn(decoding->png, &decoding->source, read_bytes);
  if (!read_head(decoding))
    return false;
  if (png_get_rowbytes(decoding->png, decoding->info) != (size_t)image->width * image->channels)
    png_error(decoding->png, "its rows have another size than its head says");
  decoding->rows = memory_new(image->height, sizeof *decoding->rows);
  for (size_t y = 0; y < image->height; y++)
    decoding->rows[y] = image->pixels + y * image->width * image->channels;
  png_read_image(decoding->png, decoding->rows);
  png_read_end(decoding->png, NULL);
  return true;
}

// What changes between setjmp and longjmp is the caller's.
static bool decode(struct decoding *decoding)
{
  if (setjmp(decoding->failed) != 0)
    return false;
  decoding->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, decoding, on_error, on_warning);
  decoding->info = decoding->png != NULL ? png_create_info_struct(decoding->png) : NULL;
  if (decoding->info == NULL)
    memory_exhausted();
  return read_picture(decoding);
}

static bool decode_as(bool is_classes, const uint8_t *bytes, size_t size, struct decoded *ret_decoded)
{
  struct decoding decoding = {.decoded = ret_decoded, .is_classes = is_classes, .source = {bytes, size}};
  bool is_done = decode(&decoding);
  png_destroy_read_struct(&decoding.png, &decoding.info, NULL);
  free(decoding.rows);
  return is_done;
}

bool decode_png(const uint8_t *bytes, size_t size, struct decoded *ret_decoded)
{
  return decode_as(false, bytes, size, ret_decoded);
}

bool decode_png_classes(const uint8_t *bytes, size_t size, struct decoded *ret_decoded)
{
  return decode_as(true, bytes, size, ret_decoded);
}
