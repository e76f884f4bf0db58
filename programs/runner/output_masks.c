// SPDX-License-Identifier: Apache-2.0
// Classes of pixels in outputs, counted, compared with label pictures, sent to xsp. Called by results.c after an inference.
#include "programs/runner/control.h"
#include "programs/runner/output_values.h"
#include <xsp/tracer.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

XSP_SITE_FULL(decode_mask_site, XSP_LEVEL_APPLICATION, "decode mask", "postprocess", "runner");
XSP_SITE_FULL(compare_mask_site, XSP_LEVEL_APPLICATION, "compare mask", "postprocess", "runner");
static void send_pixels(const struct sending *sending, size_t item, const char *label, size_t found, uint64_t count)
{
  char number[24], class_number[24], pixels[24];
  snprintf(number, sizeof number, "%zu", item);
  snprintf(class_number, sizeof class_number, "%zu", found);
  snprintf(pixels, sizeof pixels, "%" PRIu64, count);
  control_add(sending->lines, sending->fd, (const char *const[]){"pixels", number, label, class_number, pixels}, 5);
}

static void send_found(const struct sending *sending, size_t item, const struct mask *mask)
{
  uint64_t found[MASK_CLASSES_MOST] = {0};
  for (size_t i = 0; i < (size_t)mask->width * mask->height; i++)
    found[mask->classes[i]]++;
  for (size_t i = 0; i < MASK_CLASSES_MOST; i++)
    if (found[i] > 0)
      send_pixels(sending, item, "-", i, found[i]);
}

static enum status compare_label(const struct sending *sending, size_t item, const struct mask *mask, struct error *err)
{
  const struct picture_item *picture = &sending->pictures->items.items[item];
  struct image label SCOPED(image_done) = {0};
  struct buf bytes = {0};
  enum status status = inference_picture_read_file(picture->label, &bytes, err);
  if (status == STATUS_OK)
    status = image_decode_classes(bytes.data, bytes.length, picture->label, &label, err);
  buf_done(&bytes);
  if (status == STATUS_OK && (label.width != picture->place.width || label.height != picture->place.height))
    status = error_set(err, STATUS_INPUT, "cannot use the label picture", picture->label, "one of the picture's size",
                       "it has %u x %u pixels, the picture %u x %u", label.width, label.height, picture->place.width,
                       picture->place.height);
  if (status == STATUS_OK) {
    uint64_t *counts SCOPED(scoped_free) = memory_new((size_t)MASK_CLASSES_MOST * MASK_CLASSES_MOST, sizeof *counts);
    mask_compare(&sending->expectation->form.mask, mask, &picture->place, sending->input->width, sending->input->height,
                 &label, counts);
    for (size_t i = 0; i < (size_t)MASK_CLASSES_MOST * MASK_CLASSES_MOST; i++)
      if (counts[i] > 0) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i / MASK_CLASSES_MOST);
        send_pixels(sending, item, number, i % MASK_CLASSES_MOST, counts[i]);
      }
  }
  return status;
}

static enum status send_mask_of_item(const struct sending *sending, const struct output_values *values, size_t channels,
                                     size_t width, size_t height, size_t item, struct error *err)
{
  struct mask mask;
  struct xsp_span span = xsp_span_start(&decode_mask_site);
  bool is_mask = mask_decode(&sending->expectation->form.mask, values->numbers + item * values->item_count,
                             (unsigned)channels, (unsigned)width, (unsigned)height, &mask);
  xsp_span_finish(&span);
  if (!is_mask)
    return output_values_wrong(values, "threshold: 0.5, for one channel of scores", err,
                               "a value is not a class from 0 to 255");
  send_found(sending, item, &mask);
  enum status status = STATUS_OK;
  if (sending->pictures->items.items[item].label != NULL) {
    span = xsp_span_start(&compare_mask_site);
    status = compare_label(sending, item, &mask, err);
    xsp_span_finish(&span);
  }
  mask_done(&mask);
  return status;
}

enum status results_send_masks(const struct sending *sending, struct error *err)
{
  const struct mask_form *form = &sending->expectation->form.mask;
  struct output_values values SCOPED(output_values_done) = {0};
  XSP_TRY(output_values_read(sending, sending->expectation->info.name, false, &values, err));
  size_t width = output_values_dimension(&values, form->channels_last),
         height = output_values_dimension(&values, form->channels_last + 1u);
  size_t pixels = width * height, channels = pixels > 0 ? values.item_count / pixels : 0;
  if (!image_size_is_possible(width, height) || channels * pixels != values.item_count || channels == 0 ||
      channels > (form->has_threshold ? 1 : MASK_CLASSES_MOST))
    XSP_TRY(output_values_wrong(&values, "a mask of [N, classes, height, width]", err,
                                form->has_threshold ? "a threshold is for one channel"
                                                    : "its channels are not 1 to 256 classes"));
  for (size_t item = 0; item < sending->pictures->paths.count; item++)
    XSP_TRY(send_mask_of_item(sending, &values, channels, width, height, item, err));
  return STATUS_OK;
}
