// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo, with its defaults (ISLOW, smooth upsampling), which Pillow keeps too. Called by decode.c. The library reports
// errors by a function that must not return, so this leaves by longjmp; what lives across it is in `struct decoding`.
#include "processing/decode.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#define SCANS_MOST 500 // a progressive file of a few bytes can have many, each over the whole picture

struct decoding {
  struct jpeg_error_mgr errors; // first: the library's pointer to it is one to this
  struct jpeg_progress_mgr progress;
  struct jpeg_decompress_struct jpeg;
  struct decoded *decoded;
  bool is_cut_off;
  jmp_buf failed;
};

_Noreturn static void on_error(j_common_ptr jpeg)
{
  struct decoding *decoding = (struct decoding *)jpeg->err;
  char text[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, text);
  snprintf(decoding->decoded->why, sizeof decoding->decoded->why, "%.150s", text);
  longjmp(decoding->failed, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
  if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF)
    ((struct decoding *)jpeg->err)->is_cut_off = true;
}

static void on_progress(j_common_ptr common)
{
  struct decoding *decoding = (struct decoding *)common->err;
  if (decoding->jpeg.input_scan_number <= SCANS_MOST)
    return;
  snprintf(decoding->decoded->why, sizeof decoding->decoded->why, "it has more than %d scans", SCANS_MOST);
  longjmp(decoding->failed, 1);
}

static bool choose_channels(struct jpeg_decompress_struct *jpeg, struct decoded *decoded)
{
  switch (jpeg->jpeg_color_space) {
  case JCS_GRAYSCALE:
    jpeg->out_color_space = JCS_GRAYSCALE;
    return decoded_make_room(decoded, jpeg->image_width, jpeg->image_height, 1);
  case JCS_YCbCr:
  case JCS_RGB:
    jpeg->out_color_space = JCS_RGB;
    return decoded_make_room(decoded, jpeg->image_width, jpeg->image_height, 3);
  default:
    snprintf(decoded->why, sizeof decoded->why, "its colours are for printing (CMYK); convert it to RGB");
    return false;
  }
}

static bool read_picture(struct decoding *decoding, const uint8_t *bytes, size_t size)
{
  struct jpeg_decompress_struct *jpeg = &decoding->jpeg;
  struct image *image = &decoding->decoded->image;
  jpeg_mem_src(jpeg, bytes, size);
  jpeg_read_header(jpeg, TRUE);
  if (!choose_channels(jpeg, decoding->decoded))
    return false;
  jpeg_start_decompress(jpeg);
  size_t row_bytes = (size_t)image->width * image->channels;
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = image->pixels + jpeg->output_scanline * row_bytes;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_decompress(jpeg);
  if (decoding->is_cut_off)
    snprintf(decoding->decoded->why, sizeof decoding->decoded->why, "it ends too early");
  return !decoding->is_cut_off;
}

// What changes between setjmp and longjmp is the caller's.
static bool decode(struct decoding *decoding, const uint8_t *bytes, size_t size)
{
  if (setjmp(decoding->failed) != 0)
    return false;
  jpeg_create_decompress(&decoding->jpeg);
  decoding->jpeg.progress = &decoding->progress;
  return read_picture(decoding, bytes, size);
}

bool decode_jpeg(const uint8_t *bytes, size_t size, struct decoded *ret_decoded)
{
  struct decoding decoding = {.decoded = ret_decoded, .progress.progress_monitor = on_progress};
  decoding.jpeg.err = jpeg_std_error(&decoding.errors);
  decoding.errors.error_exit = on_error;
  decoding.errors.emit_message = on_message;
  bool is_done = decode(&decoding, bytes, size);
  jpeg_destroy_decompress(&decoding.jpeg);
  return is_done;
}
