// SPDX-License-Identifier: Apache-2.0
// Decodes, resizes, cuts and normalises the pictures of an inference into its input. Called by main.c.
#include "programs/runner/pictures.h"

#include "base/input_file.h"
#include "base/memory.h"
#include "base/slice.h"
#include "data/data.h"
#include <xsp/tracer.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char what[] = "cannot read the picture";

XSP_SITE_FULL(preprocess_site, XSP_LEVEL_APPLICATION, "preprocess", "preprocess", "runner");
XSP_SITE_FULL(decode_site, XSP_LEVEL_APPLICATION, "decode", "preprocess", "runner");
XSP_SITE_FULL(resize_site, XSP_LEVEL_APPLICATION, "resize", "preprocess", "runner");
XSP_SITE_FULL(crop_site, XSP_LEVEL_APPLICATION, "crop", "preprocess", "runner");
XSP_SITE_FULL(normalize_site, XSP_LEVEL_APPLICATION, "normalize", "preprocess", "runner");

enum status inference_pictures_add(struct pictures *pictures, char *const *fields, size_t count, struct error *err)
{
  int64_t numbers[3] = {0}; // offset, size, CRC-32
  if (pictures->paths.count == PICTURES_MOST)
    return error_set(err, STATUS_USE, "too many pictures", fields[0], "a smaller --batch",
                     "an inference takes at most %d", PICTURES_MOST);
  for (size_t i = 3; i < count; i++)
    if (!slice_int64(slice_of(fields[i]), &numbers[i - 3]) || numbers[i - 3] < 0)
      return error_set(err, STATUS_USE, "wrong use of xsp-runner", fields[0], NULL, "a part of a file has no place");
  *vector_add(&pictures->paths) = memory_text(fields[0]);
  *vector_add(&pictures->items) =
      (struct picture_item){.label = count > 1 && fields[1][0] != 0 ? memory_text(fields[1]) : NULL,
                            .name = count > 2 ? memory_text(fields[2]) : NULL,
                            .offset = (uint64_t)numbers[0],
                            .size = (uint64_t)numbers[1],
                            .crc32 = (uint32_t)numbers[2]};
  *vector_add(&pictures->names) = count > 2 ? pictures->items.items[pictures->items.count - 1].name
                                            : pictures->paths.items[pictures->paths.count - 1];
  return STATUS_OK;
}

void inference_pictures_clear(struct pictures *pictures)
{
  for (size_t i = 0; i < pictures->paths.count; i++) {
    free(pictures->paths.items[i]);
    free(pictures->items.items[i].label);
    free(pictures->items.items[i].name);
  }
  vector_done(&pictures->paths);
  vector_done(&pictures->names);
  vector_done(&pictures->items);
}

static void close_file(struct pictures *pictures)
{
  if (pictures->open_path != NULL)
    close(pictures->open_file);
  free(pictures->open_path);
  pictures->open_path = NULL;
}

void inference_pictures_done(struct pictures *pictures)
{
  inference_pictures_clear(pictures);
  close_file(pictures);
}

// ---- one picture -----------------------------------------------------------------------------------------------------
enum status inference_picture_read_file(const char *path, struct buf *bytes, struct error *err)
{
  buf_init(bytes, DATA_ITEM_BYTES_MOST);
  return input_file_read(path, what, bytes, err);
}

// The file stays open: reading its next picture is then one system call.
static enum status read_part(struct pictures *pictures, size_t number, struct buf *bytes, struct error *err)
{
  struct stat facts;
  const char *path = pictures->paths.items[number];
  const struct picture_item *picture = &pictures->items.items[number];
  const struct data_file_item item = {picture->name, NULL, picture->offset, picture->size, picture->crc32};
  buf_init(bytes, DATA_ITEM_BYTES_MOST);
  if (pictures->open_path == NULL || strcmp(pictures->open_path, path) != 0) {
    close_file(pictures);
    XSP_TRY(input_file_open(path, INPUT_FILE_REGULAR, what, &pictures->open_file, &facts, err));
    pictures->open_path = memory_text(path);
  }
  return data_file_read(pictures->open_file, path, &item, bytes, err);
}

static enum status decode(struct pictures *pictures, size_t number, const char *name, const struct picture *picture,
                          struct image *ret_image, struct error *err)
{
  struct xsp_span span = xsp_span_start(&decode_site);
  struct buf bytes;
  enum status status = pictures->items.items[number].name != NULL
                           ? read_part(pictures, number, &bytes, err)
                           : inference_picture_read_file(pictures->paths.items[number], &bytes, err);
  if (status == STATUS_OK)
    status = image_decode(bytes.data, bytes.length, picture->color, name, ret_image, err);
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

static enum status put_picture(struct pictures *pictures, size_t number, const struct picture *picture,
                               enum tensor_type type, void *values, struct error *err)
{
  struct image image SCOPED(image_done) = {0};
  struct picture_item *item = &pictures->items.items[number];
  const char *name = pictures->names.items[number];
  enum status status = decode(pictures, number, name, picture, &image, err);
  unsigned width = image.width, height = image.height;
  if (status == STATUS_OK) {
    struct xsp_span span = xsp_span_start(&resize_site);
    status = picture_resize(picture, &image, name, err);
    xsp_span_finish(&span);
  }
  if (status == STATUS_INPUT) // damaged, or too narrow to be resized
    pictures->unreadable = number;
  if (status == STATUS_OK) {
    item->place = picture_place(picture, width, height, &image);
    struct xsp_span span = xsp_span_start(&crop_site);
    picture_crop(picture, &image);
    xsp_span_finish(&span);
    put_values(picture, &image, type, values);
  }
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

enum status inference_pictures_input(const struct runner_arguments *arguments, const struct inputs *inputs,
                                     size_t count, struct tensor **ret_tensor, struct error *err)
{
  const struct expectation *expectation = NULL;
  size_t item_bytes = 0;
  *ret_tensor = NULL;
  XSP_TRY(find_expectation(arguments, &expectation, err));
  return find_tensor(inputs, expectation, count, ret_tensor, &item_bytes, err);
}

enum status inference_pictures_fill(struct pictures *pictures, const struct runner_arguments *arguments,
                                    struct code *code, struct inputs *inputs, struct error *err)
{
  const struct expectation *expectation = NULL;
  struct tensor *tensor = NULL;
  size_t item_bytes = 0, count = pictures->paths.count;
  pictures->unreadable = SIZE_MAX;
  XSP_TRY(find_expectation(arguments, &expectation, err));
  XSP_TRY(find_tensor(inputs, expectation, count, &tensor, &item_bytes, err));
  tensor->is_given = true; // not made up
  struct xsp_span span = xsp_span_start(&preprocess_site);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    status =
        put_picture(pictures, i, &expectation->picture, tensor->info->type, (char *)tensor->data + i * item_bytes, err);
  if (status == STATUS_OK && code->runs_before)
    status = code_before(code, pictures->names.items, count, tensor, err);
  if (pictures->unreadable != SIZE_MAX)
    xsp_span_tag_int(&span, "unreadable", 1);
  xsp_span_finish(&span);
  return status;
}
