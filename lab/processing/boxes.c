// SPDX-License-Identifier: Apache-2.0
// Reads boxes from a model's output; see boxes.h. Called by the runner after an inference. Values may be any bits.
#include "processing/boxes.h"

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

const char *const box_format_names[] = {"xyxy", "yxyx", "xywh", "cxcywh", NULL};
const char *const box_column_names[] = {"box", "objectness", "scores", "score", "class", "item", NULL};

static struct box_values *values_of(struct boxes_source *source, enum box_column column)
{
  switch (column) {
  case BOX_COLUMN_BOX:
    return &source->box;
  case BOX_COLUMN_OBJECTNESS:
    return &source->objectness;
  case BOX_COLUMN_CLASS:
    return &source->classes;
  case BOX_COLUMN_ITEM:
    return &source->items;
  default:
    return &source->scores;
  }
}

bool boxes_source_of_one(const struct boxes_form *form, const float *values, size_t rows, size_t columns,
                         struct boxes_source *ret_source)
{
  size_t fixed = 0, at = 0;
  bool has_rest = false;
  for (unsigned i = 0; i < form->column_count; i++) {
    fixed += form->columns[i] == BOX_COLUMN_BOX ? 4 : form->columns[i] != BOX_COLUMN_SCORES;
    has_rest |= form->columns[i] == BOX_COLUMN_SCORES;
  }
  if (has_rest ? columns <= fixed : columns != fixed)
    return false;
  *ret_source = (struct boxes_source){.rows = rows, .score_count = has_rest ? columns - fixed : 1};
  for (unsigned i = 0; i < form->column_count; i++) {
    enum box_column column = form->columns[i];
    *values_of(ret_source, column) =
        (struct box_values){values + at * (form->is_transposed ? rows : 1), form->is_transposed ? 1 : columns,
                            form->is_transposed ? rows : 1};
    at += column == BOX_COLUMN_BOX ? 4 : column == BOX_COLUMN_SCORES ? columns - fixed : 1;
  }
  return true;
}

// ---- decode ----------------------------------------------------------------------------------------------------------
static float value_at(const struct box_values *values, size_t row, size_t column)
{
  return values->first[row * values->row_stride + column * values->column_stride];
}

static bool read_corners(const struct boxes_form *form, const struct box_values *values, size_t row, float width,
                         float height, struct box *box)
{
  float a = value_at(values, row, 0), b = value_at(values, row, 1), c = value_at(values, row, 2),
        d = value_at(values, row, 3);
  switch (form->format) {
  case BOX_XYXY:
    *box = (struct box){.left = a, .top = b, .right = c, .bottom = d};
    break;
  case BOX_YXYX:
    *box = (struct box){.left = b, .top = a, .right = d, .bottom = c};
    break;
  case BOX_XYWH:
    *box = (struct box){.left = a, .top = b, .right = a + c, .bottom = b + d};
    break;
  case BOX_CXCYWH:
    *box = (struct box){.left = a - c / 2, .top = b - d / 2, .right = a + c / 2, .bottom = b + d / 2};
    break;
  }
  if (form->is_normalized) {
    box->left *= width;
    box->right *= width;
    box->top *= height;
    box->bottom *= height;
  }
  return isfinite(box->left) && isfinite(box->top) && isfinite(box->right) && isfinite(box->bottom) &&
         box->left <= box->right && box->top <= box->bottom;
}

// False: no class.
static bool read_class(const struct boxes_source *source, size_t row, size_t place, size_t *ret_place)
{
  *ret_place = place;
  if (source->classes.first == NULL)
    return true;
  float value = value_at(&source->classes, row, 0);
  bool is_class = value >= 0 && value <= BOX_CLASSES_MOST && value == floorf(value);
  *ret_place = is_class ? (size_t)value : 0;
  return is_class;
}

void boxes_decode(const struct boxes_form *form, const struct boxes_source *source, size_t item, unsigned width,
                  unsigned height, struct boxes *boxes)
{
  for (size_t row = 0; row < source->rows; row++) {
    if (source->items.first != NULL && value_at(&source->items, row, 0) != (float)item)
      continue;
    float factor = source->objectness.first != NULL ? value_at(&source->objectness, row, 0) : 1;
    for (size_t i = 0; i < source->score_count; i++) {
      float score = value_at(&source->scores, row, i) * factor;
      struct box box = {0};
      size_t place = 0;
      // in this form NaN is no score
      if (!(score > form->score_threshold) || !read_class(source, row, i, &place) ||
          !read_corners(form, &source->box, row, (float)width, (float)height, &box))
        continue;
      box.place = place;
      box.row = row;
      box.score = score;
      *vector_add(&boxes->list) = box;
    }
  }
}

// ---- suppression -----------------------------------------------------------------------------------------------------
struct candidate {
  struct box box;
  size_t order;
};

SORTED_BY(compare_candidates, struct candidate, FALLING(box.score) ?: RISING(order))

static float overlap(const struct box *a, const struct box *b)
{
  float width = fminf(a->right, b->right) - fmaxf(a->left, b->left);
  float height = fminf(a->bottom, b->bottom) - fmaxf(a->top, b->top);
  if (width <= 0 || height <= 0)
    return 0;
  float common = width * height;
  return common / ((a->right - a->left) * (a->bottom - a->top) + (b->right - b->left) * (b->bottom - b->top) - common);
}

static bool is_suppressed(const struct boxes_form *form, const struct box *box, const struct box *kept, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if ((form->is_class_agnostic || kept[i].place == box->place) && overlap(box, &kept[i]) > form->iou_threshold)
      return true;
  return false;
}

void boxes_suppress(const struct boxes_form *form, struct boxes *boxes)
{
  size_t count = boxes->list.count, kept = 0;
  struct candidate *candidates SCOPED(scoped_free) = memory_new(count + 1, sizeof *candidates);
  for (size_t i = 0; i < count; i++)
    candidates[i] = (struct candidate){boxes->list.items[i], i};
  qsort(candidates, count, sizeof *candidates, compare_candidates);
  for (size_t i = 0; i < count && kept < form->most; i++)
    if (form->iou_threshold < 0 || !is_suppressed(form, &candidates[i].box, boxes->list.items, kept))
      boxes->list.items[kept++] = candidates[i].box;
  boxes->list.count = kept;
}

// ---- onto the picture ------------------------------------------------------------------------------------------------
static float within(float value, float most)
{
  return fminf(fmaxf(value, 0), most);
}

// Without a cut at the edges.
static struct mask_frame on_picture(const struct picture_place *place, float left, float top, float right, float bottom)
{
  float x_scale = (float)place->width / (float)place->resized_width,
        y_scale = (float)place->height / (float)place->resized_height;
  return (struct mask_frame){(left + (float)place->left) * x_scale, (top + (float)place->top) * y_scale,
                             (right + (float)place->left) * x_scale, (bottom + (float)place->top) * y_scale};
}

struct mask_frame boxes_mask_frame(const struct boxes_form *form, const struct picture_place *place,
                                   const struct box *box, unsigned width, unsigned height)
{
  return form->are_masks_of_input ? on_picture(place, 0, 0, (float)width, (float)height)
                                  : on_picture(place, box->left, box->top, box->right, box->bottom);
}

void boxes_place(const struct picture_place *place, struct boxes *boxes)
{
  for (size_t i = 0; i < boxes->list.count; i++) {
    struct box *box = &boxes->list.items[i];
    struct mask_frame frame = on_picture(place, box->left, box->top, box->right, box->bottom);
    box->left = within(frame.left, (float)place->width);
    box->right = within(frame.right, (float)place->width);
    box->top = within(frame.top, (float)place->height);
    box->bottom = within(frame.bottom, (float)place->height);
  }
}

void boxes_done(struct boxes *boxes)
{
  vector_done(&boxes->list);
}
