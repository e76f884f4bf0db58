// SPDX-License-Identifier: Apache-2.0
// average_precision_measure for tests. stdin: "CATEGORIES WANTED FOUND", then a line for each wanted and found box: "ITEM
// CATEGORY LEFT TOP WIDTH HEIGHT SCORE IS_CROWD". stdout: AP, AP50, AP75, then AP and AP50 of each category, with 17 digits.
#include "experiment/evaluation/accuracy/average_precision.h"

#include <stdio.h>
#include <stdlib.h>

static struct rated_box *read_boxes(size_t count)
{
  struct rated_box *boxes = calloc(count + 1, sizeof *boxes);
  for (size_t i = 0; i < count; i++) {
    struct rated_box *box = &boxes[i];
    int is_crowd;
    if (scanf("%zu %zu %lf %lf %lf %lf %lf %d", &box->item, &box->category, &box->left, &box->top, &box->width,
              &box->height, &box->score, &is_crowd) != 8)
      exit(2);
    box->is_crowd = is_crowd != 0;
  }
  return boxes;
}

int main(void)
{
  size_t categories, wanted_count, found_count;
  if (scanf("%zu %zu %zu", &categories, &wanted_count, &found_count) != 3)
    return 2;
  struct rated_box *wanted = read_boxes(wanted_count), *found = read_boxes(found_count);
  struct arena arena = {0};
  struct average_precision precision;
  average_precision_measure(wanted, wanted_count, found, found_count, categories, &arena, &precision);
  printf("%.17g %.17g %.17g\n", precision.all, precision.at_50, precision.at_75);
  for (size_t i = 0; i < categories; i++)
    printf("%.17g %.17g\n", precision.of_category[i], precision.of_category_at_50[i]);
  arena_done(&arena);
  free(wanted);
  free(found);
  return 0;
}
