// SPDX-License-Identifier: Apache-2.0
// Lines of the runner as what a model found; see predictions.h. Called by evaluation.c.
#include "experiment/evaluation/accuracy/predictions.h"

#include <errno.h>
#include <math.h>

static bool read_number(const char *text, uint64_t most, uint64_t *ret_number)
{
  char *end = NULL;
  errno = 0;
  *ret_number = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && *ret_number <= most;
}

static bool read_float(const char *text, float *ret_value)
{
  char *end = NULL;
  *ret_value = strtof(text, &end);
  return end != text && *end == 0 && !isnan(*ret_value);
}

static bool take_box(struct predictions *predictions, size_t item, char *const *fields)
{
  struct predicted_box box = {.item = item};
  uint64_t place;
  bool is_whole = read_number(fields[2], UINT32_MAX, &place) && read_float(fields[3], &box.score) &&
                  read_float(fields[4], &box.left) && read_float(fields[5], &box.top) &&
                  read_float(fields[6], &box.right) && read_float(fields[7], &box.bottom);
  if (is_whole) {
    box.place = (size_t)place;
    box.first_border = predictions->borders.list.count;
    *vector_add(&predictions->boxes) = box;
  }
  return is_whole;
}

// Lengths of runs, outside and inside in turns, of the last box; further ones go on where those before ended.
static bool take_mask(struct predictions *predictions, size_t item, char *const *fields)
{
  uint64_t width, height;
  if (predictions->boxes.count == 0 || !read_number(fields[2], UINT32_MAX, &width) ||
      !read_number(fields[3], UINT32_MAX, &height))
    return false;
  struct predicted_box *box = &predictions->boxes.items[predictions->boxes.count - 1];
  uint64_t place = box->border_count > 0 ? predictions->borders.list.items[predictions->borders.list.count - 1] : 0;
  bool is_whole = box->item == item;
  char *rest = NULL;
  box->width = (unsigned)width;
  box->height = (unsigned)height;
  for (char *word = strtok_r(fields[4], " ", &rest); word != NULL && is_whole; word = strtok_r(NULL, " ", &rest)) {
    uint64_t length;
    is_whole = read_number(word, UINT32_MAX, &length) && (place += length) <= UINT32_MAX;
    if (is_whole)
      *vector_add(&predictions->borders.list) = (uint32_t)place;
    box->border_count += is_whole;
  }
  return is_whole;
}

static bool take_pixels(struct predictions *predictions, size_t item, char *const *fields)
{
  uint64_t label = PREDICTED_NO_LABEL, class_found, count;
  bool has_label = strcmp(fields[2], "-") != 0;
  if ((has_label && !read_number(fields[2], MASK_CLASSES_MOST - 1, &label)) ||
      !read_number(fields[3], MASK_CLASSES_MOST - 1, &class_found) || !read_number(fields[4], UINT64_MAX, &count))
    return false;
  *vector_add(&predictions->pixels) = (struct predicted_pixels){item, (unsigned)label, (unsigned)class_found, count};
  return true;
}

bool predictions_take(struct predictions *predictions, size_t item, char *const *fields, size_t count)
{
  uint64_t token;
  if (count == 8 && strcmp(fields[0], "box") == 0)
    return take_box(predictions, item, fields);
  if (count == 5 && strcmp(fields[0], "pixels") == 0)
    return take_pixels(predictions, item, fields);
  if (count == 5 && strcmp(fields[0], "mask") == 0)
    return take_mask(predictions, item, fields);
  if (count != 3 || strcmp(fields[0], "token") != 0 || !read_number(fields[2], UINT32_MAX, &token))
    return false;
  *vector_add(&predictions->tokens) = (struct predicted_token){item, (size_t)token};
  return true;
}

struct mask_runs predictions_runs(const struct predictions *predictions, const struct predicted_box *box)
{
  const uint32_t *all = predictions->borders.list.items;
  return (struct mask_runs){box->border_count > 0 ? all + box->first_border : NULL, box->border_count};
}

void predictions_done(struct predictions *predictions)
{
  vector_done(&predictions->boxes);
  vector_done(&predictions->borders.list);
  vector_done(&predictions->pixels);
  vector_done(&predictions->tokens);
}
