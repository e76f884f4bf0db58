// SPDX-License-Identifier: Apache-2.0
// Boxes in outputs, and their masks, sent to xsp. Called by results.c after an inference.
#include "format/protocol.h"
#include "programs/runner/control.h"
#include "programs/runner/output_values.h"
#include <xsp/tracer.h>

#include <inttypes.h>
#include <stdio.h>

XSP_SITE_FULL(decode_boxes_site, XSP_LEVEL_APPLICATION, "decode boxes", "postprocess", "runner");
XSP_SITE_FULL(suppress_site, XSP_LEVEL_APPLICATION, "nms", "postprocess", "runner");
XSP_SITE_FULL(paste_site, XSP_LEVEL_APPLICATION, "paste masks", "postprocess", "runner");
XSP_SITE_FULL(place_site, XSP_LEVEL_APPLICATION, "place boxes", "postprocess", "runner");
struct box_outputs {
  struct output_values boxes, scores, classes; // the latter two: empty where they are columns of `boxes`
  struct output_values masks;                  // empty: none
};

static enum status one_source(const struct boxes_form *form, const struct box_outputs *outputs, bool are_mixed,
                              size_t item, struct boxes_source *ret_source, struct error *err)
{
  const struct output_values *values = &outputs->boxes;
  size_t last = output_values_dimension(values, 0), all = values->item_count;
  size_t rows = form->is_transposed || last == 0 ? last : all / last;
  *ret_source = (struct boxes_source){0};
  if (rows == 0)
    return STATUS_OK;
  return all % rows == 0 &&
                 boxes_source_of_one(form, values->numbers + (are_mixed ? 0 : item * all), rows, all / rows, ret_source)
             ? STATUS_OK
             : output_values_wrong(values, "columns: [box, scores]", err, "it has another number of columns");
}

static enum status separate_source(const struct boxes_form *form, const struct box_outputs *outputs, size_t item,
                                   struct boxes_source *ret_source, struct error *err)
{
  const struct output_values *boxes = &outputs->boxes, *scores = &outputs->scores, *classes = &outputs->classes;
  size_t rows = boxes->item_count / 4;
  *ret_source = (struct boxes_source){0};
  if (boxes->item_count % 4 != 0)
    return output_values_wrong(boxes, "an output with four values for each box", err,
                               "its size is not a multiple of four");
  if (rows == 0)
    return STATUS_OK;
  size_t score_count = scores->item_count / rows;
  if (score_count == 0 || scores->item_count % rows != 0)
    return output_values_wrong(scores, "an output with scores for each box", err, "it has another number of boxes");
  if (classes->numbers != NULL && (classes->item_count != rows || score_count != 1))
    return output_values_wrong(classes, "an output with a class for each box", err,
                               "it is not one class, and one score, for each box");
  *ret_source =
      (struct boxes_source){.box = {boxes->numbers + item * rows * 4, 4, 1},
                            .scores = {scores->numbers + item * scores->item_count,
                                       form->is_transposed ? 1 : score_count, form->is_transposed ? rows : 1},
                            .classes = {classes->numbers != NULL ? classes->numbers + item * rows : NULL, 1, 1},
                            .rows = rows,
                            .score_count = score_count};
  return STATUS_OK;
}

static void send_box(const struct sending *sending, size_t item, const struct box *box)
{
  const double numbers[] = {(double)box->score, (double)box->left, (double)box->top, (double)box->right,
                            (double)box->bottom};
  char texts[7][32];
  snprintf(texts[0], sizeof texts[0], "%zu", item);
  snprintf(texts[1], sizeof texts[1], "%zu", box->place);
  for (size_t i = 0; i < 5; i++)
    snprintf(texts[2 + i], sizeof texts[2], "%.9g", numbers[i]);
  control_add(sending->lines, sending->fd,
              (const char *const[]){"box", texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], texts[6]}, 8);
}

// ---- masks -----------------------------------------------------------------------------------------------------------
struct grids { // the masks of an item's boxes: a grid for each box, or for each box and class
  struct mask_grid first;
  size_t class_count;
};

static enum status find_grids(const struct output_values *masks, const struct boxes_source *source, size_t first,
                              struct grids *ret_grids, struct error *err)
{
  size_t columns = output_values_dimension(masks, 0), rows = output_values_dimension(masks, 1);
  size_t size = columns * rows * source->rows;
  *ret_grids = (struct grids){0};
  if (source->rows == 0)
    return STATUS_OK;
  if (!image_size_is_possible(columns, rows) || masks->item_count % size != 0 || masks->item_count < size)
    return output_values_wrong(masks, "an output with a mask for each box", err, "it has another number of masks");
  *ret_grids = (struct grids){{masks->numbers + first, (unsigned)columns, (unsigned)rows}, masks->item_count / size};
  return STATUS_OK;
}

// The runs of each box, one after the other; a box's end at ret_ends[i].
static void paste(const struct sending *sending, const struct grids *grids, const struct boxes *boxes, size_t item,
                  struct mask_borders *borders, size_t *ret_ends)
{
  const struct picture_place *place = &sending->pictures->items.items[item].place;
  const struct boxes_form *form = &sending->expectation->form.boxes;
  struct xsp_span span = xsp_span_start(&paste_site);
  for (size_t i = 0; i < boxes->list.count; i++) {
    const struct box *box = &boxes->list.items[i];
    size_t number = grids->class_count == 1 ? box->row : box->row * grids->class_count + box->place;
    struct mask_grid grid = grids->first;
    struct mask_borders own = {0};
    grid.values += number * grid.columns * grid.rows;
    struct mask_frame frame = boxes_mask_frame(form, place, box, sending->input->width, sending->input->height);
    if (grids->class_count == 1 || box->place < grids->class_count)
      mask_paste(&grid, &frame, form->mask_threshold, place->width, place->height, &own);
    for (size_t k = 0; k < own.list.count; k++)
      *vector_add(&borders->list) = own.list.items[k];
    vector_done(&own.list);
    ret_ends[i] = borders->list.count;
  }
  xsp_span_finish(&span);
}

// The lengths of its runs, outside and inside in turns, in as many lines as they take.
static void send_mask(const struct sending *sending, size_t item, const uint32_t *borders, size_t count)
{
  struct buf lengths SCOPED(buf_done) = {0};
  const struct picture_place *place = &sending->pictures->items.items[item].place;
  char number[24], width[24], height[24];
  uint32_t last = 0;
  snprintf(number, sizeof number, "%zu", item);
  snprintf(width, sizeof width, "%u", place->width);
  snprintf(height, sizeof height, "%u", place->height);
  for (size_t i = 0; i < count; i++) {
    buf_format(&lengths, "%s%" PRIu32, lengths.length > 0 ? " " : "", borders[i] - last);
    last = borders[i];
    if (lengths.length > PROTOCOL_LINE_MAXIMUM / 2 || i + 1 == count) {
      control_add(sending->lines, sending->fd, (const char *const[]){"mask", number, width, height, lengths.data}, 5);
      buf_clear(&lengths);
    }
  }
}

// ---- an item ---------------------------------------------------------------------------------------------------------
static void send_boxes_of_item(const struct sending *sending, const struct boxes_source *source,
                               const struct grids *grids, size_t item)
{
  const struct boxes_form *form = &sending->expectation->form.boxes;
  struct boxes boxes SCOPED(boxes_done) = {0};
  struct xsp_span span = xsp_span_start(&decode_boxes_site);
  boxes_decode(form, source, item, sending->input->width, sending->input->height, &boxes);
  xsp_span_finish(&span);
  span = xsp_span_start(&suppress_site);
  boxes_suppress(form, &boxes);
  xsp_span_finish(&span);
  struct mask_borders borders = {0};
  size_t *ends SCOPED(scoped_free) = memory_new(boxes.list.count + 1, sizeof *ends), sent = 0;
  if (grids->class_count > 0)
    paste(sending, grids, &boxes, item, &borders, ends);
  span = xsp_span_start(&place_site);
  boxes_place(&sending->pictures->items.items[item].place, &boxes);
  xsp_span_finish(&span);
  for (size_t i = 0; i < boxes.list.count; i++) {
    send_box(sending, item, &boxes.list.items[i]);
    if (ends[i] > sent)
      send_mask(sending, item, borders.list.items + sent, ends[i] - sent);
    sent = ends[i];
  }
  vector_done(&borders.list);
}

enum status results_send_boxes(const struct sending *sending, struct error *err)
{
  const struct boxes_form *form = &sending->expectation->form.boxes;
  struct box_outputs outputs = {0};
  bool are_mixed = false;
  for (unsigned i = 0; i < form->column_count; i++)
    are_mixed |= form->columns[i] == BOX_COLUMN_ITEM;
  enum status status = output_values_read(sending, sending->expectation->info.name, are_mixed, &outputs.boxes, err);
  if (status == STATUS_OK && form->scores[0] != 0)
    status = output_values_read(sending, form->scores, false, &outputs.scores, err);
  if (status == STATUS_OK && form->classes[0] != 0)
    status = output_values_read(sending, form->classes, false, &outputs.classes, err);
  bool have_masks = sending->expectation->form.kind == OUTPUT_INSTANCES;
  if (status == STATUS_OK && have_masks)
    status = output_values_read(sending, form->masks, are_mixed, &outputs.masks, err);
  for (size_t item = 0; item < sending->pictures->paths.count && status == STATUS_OK; item++) {
    struct boxes_source source;
    status = form->scores[0] != 0 ? separate_source(form, &outputs, item, &source, err)
                                  : one_source(form, &outputs, are_mixed, item, &source, err);
    struct grids grids = {0};
    if (status == STATUS_OK && have_masks)
      status = find_grids(&outputs.masks, &source, are_mixed ? 0 : item * outputs.masks.item_count, &grids, err);
    if (status == STATUS_OK)
      send_boxes_of_item(sending, &source, &grids, item);
  }
  output_values_done(&outputs.boxes);
  output_values_done(&outputs.scores);
  output_values_done(&outputs.classes);
  output_values_done(&outputs.masks);
  return status;
}
