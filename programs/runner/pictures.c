// SPDX-License-Identifier: Apache-2.0
// Decodes, resizes, cuts and normalises the pictures of an inference into its input. Called by main.c.
#include "programs/runner/pictures.h"

#include "base/input_file.h"
#include "base/memory.h"
#include <xsp/tracer.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MOST ((size_t)256 << 20)

XSP_SITE_FULL(preprocess_site, XSP_LEVEL_APPLICATION, "preprocess", "preprocess", "runner");
XSP_SITE_FULL(decode_site, XSP_LEVEL_APPLICATION, "decode", "preprocess", "runner");
XSP_SITE_FULL(resize_site, XSP_LEVEL_APPLICATION, "resize", "preprocess", "runner");
XSP_SITE_FULL(crop_site, XSP_LEVEL_APPLICATION, "crop", "preprocess", "runner");
XSP_SITE_FULL(normalize_site, XSP_LEVEL_APPLICATION, "normalize", "preprocess", "runner");

enum status pictures_add(struct pictures *pictures, const char *path, const char *label, struct error *err)
{
  if (pictures->paths.count == PICTURES_MOST)
    return error_set(err, STATUS_USE, "too many pictures", path, "a smaller --batch", "an inference takes at most %d",
                     PICTURES_MOST);
  *vector_add(&pictures->paths) = memory_text(path);
  vector_add(&pictures->items)->label = label != NULL ? memory_text(label) : NULL;
  return STATUS_OK;
}

void pictures_clear(struct pictures *pictures)
{
  for (size_t i = 0; i < pictures->paths.count; i++) {
    free(pictures->paths.items[i]);
    free(pictures->items.items[i].label);
  }
  vector_done(&pictures->paths);
  vector_done(&pictures->items);
}

// ---- one picture -----------------------------------------------------------------------------------------------------
enum status picture_read_file(const char *path, struct buf *bytes, struct error *err)
{
  static const char what[] = "cannot read the picture";
  FILE *file = NULL;
  char part[65536];
  buf_init(bytes, FILE_BYTES_MOST);
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, what, &file, err));
  for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0 && !bytes->failed;)
    buf_put(bytes, part, got);
  bool has_failed = ferror(file) != 0;
  int reason = errno;
  fclose(file);
  errno = reason;
  if (has_failed)
    return error_set_errno(err, STATUS_INPUT, what, path, "another path");
  return !bytes->failed ? STATUS_OK
                        : error_set(err, STATUS_INPUT, what, path, NULL, "it has more than %zu bytes", FILE_BYTES_MOST);
}

static enum status decode(const char *path, const struct picture *picture, struct image *ret_image, struct error *err)
{
  struct xsp_span span = xsp_span_start(&decode_site);
  struct buf bytes;
  enum status status = picture_read_file(path, &bytes, err);
  if (status == STATUS_OK)
    status = image_decode(bytes.data, bytes.length, picture->color, path, ret_image, err);
  buf_done(&bytes);
  xsp_span_finish(&span);
  return status;
}

static void put_values(const struct picture *picture, const struct image *image, enum tensor_type type, void *values)
{
  struct xsp_span span = xsp_span_start(&normalize_site);
  if (type == TENSOR_UINT8)
    image_to_bytes(image, picture->tensor.channels_last, values);
  else
    image_to_floats(image, &picture->tensor, values);
  xsp_span_finish(&span);
}

static enum status put_picture(const char *path, struct picture_place *ret_place, const struct picture *picture,
                               enum tensor_type type, void *values, struct error *err)
{
  struct image image = {0};
  enum status status = decode(path, picture, &image, err);
  unsigned width = image.width, height = image.height;
  if (status == STATUS_OK) {
    struct xsp_span span = xsp_span_start(&resize_site);
    status = picture_resize(picture, &image, path, err);
    xsp_span_finish(&span);
  }
  if (status == STATUS_OK) {
    *ret_place = picture_place(picture, width, height, &image);
    struct xsp_span span = xsp_span_start(&crop_site);
    picture_crop(picture, &image);
    xsp_span_finish(&span);
    put_values(picture, &image, type, values);
  }
  image_done(&image);
  return status;
}

// ---- all of them -----------------------------------------------------------------------------------------------------
static enum status find_expectation(const struct runner_arguments *arguments, const struct expectation **ret_found,
                                    struct error *err)
{
  size_t count = 0;
  for (size_t i = 0; i < arguments->expectation_count; i++)
    if (arguments->expectations[i].is_image) {
      *ret_found = &arguments->expectations[i];
      count++;
    }
  return count == 1 ? STATUS_OK
                    : error_set(err, STATUS_INPUT, "cannot make inputs of pictures", arguments->options.model_path,
                                "type: image, for one entry of the manifest's inputs",
                                "%zu inputs are pictures by the manifest", count);
}

static enum status find_tensor(const struct inputs *inputs, const struct expectation *expectation, size_t item_count,
                               struct tensor **ret_tensor, size_t *ret_item_bytes, struct error *err)
{
  const struct picture *picture = &expectation->picture;
  size_t wanted = (size_t)picture->width * picture->height * picture_channels(picture) *
                  tensor_type_facts(expectation->info.type)->bytes;
  for (size_t i = 0; i < inputs->count; i++)
    if (strcmp(inputs->tensors[i].info->name, expectation->info.name) == 0)
      *ret_tensor = &inputs->tensors[i];
  if (*ret_tensor == NULL || (*ret_tensor)->info->type != expectation->info.type ||
      (*ret_tensor)->size_bytes != wanted * item_count)
    return error_set(err, STATUS_INPUT, "cannot make inputs of pictures", expectation->where, NULL,
                     "the model's input has another size than %zu pictures have", item_count);
  *ret_item_bytes = wanted;
  return STATUS_OK;
}

enum status pictures_input(const struct runner_arguments *arguments, const struct inputs *inputs, size_t count,
                           struct tensor **ret_tensor, struct error *err)
{
  const struct expectation *expectation = NULL;
  size_t item_bytes = 0;
  *ret_tensor = NULL;
  XSP_TRY(find_expectation(arguments, &expectation, err));
  return find_tensor(inputs, expectation, count, ret_tensor, &item_bytes, err);
}

enum status pictures_fill(struct pictures *pictures, const struct runner_arguments *arguments, struct code *code,
                          struct inputs *inputs, struct error *err)
{
  const struct expectation *expectation = NULL;
  struct tensor *tensor = NULL;
  size_t item_bytes = 0, count = pictures->paths.count;
  XSP_TRY(find_expectation(arguments, &expectation, err));
  XSP_TRY(find_tensor(inputs, expectation, count, &tensor, &item_bytes, err));
  tensor->is_given = true; // not made up
  struct xsp_span span = xsp_span_start(&preprocess_site);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    status = put_picture(pictures->paths.items[i], &pictures->items.items[i].place, &expectation->picture,
                         tensor->info->type, (char *)tensor->data + i * item_bytes, err);
  if (status == STATUS_OK && code->runs_before)
    status = code_before(code, (const char *const *)pictures->paths.items, count, tensor, err);
  xsp_span_finish(&span);
  return status;
}
