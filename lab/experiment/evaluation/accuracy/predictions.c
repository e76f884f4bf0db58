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
    *vector_add(&predictions->boxes) = box;
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
  if (count != 3 || strcmp(fields[0], "token") != 0 || !read_number(fields[2], UINT32_MAX, &token))
    return false;
  *vector_add(&predictions->tokens) = (struct predicted_token){item, (size_t)token};
  return true;
}

void predictions_done(struct predictions *predictions)
{
  vector_done(&predictions->boxes);
  vector_done(&predictions->pixels);
  vector_done(&predictions->tokens);
}
