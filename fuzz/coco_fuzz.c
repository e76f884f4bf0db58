// SPDX-License-Identifier: Apache-2.0
// Fuzzes lab/experiment/evaluation/coco.c: any bytes become pictures with boxes and masks that refer to what there is, in order, or one error.
#include "experiment/evaluation/coco.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct data_set set;
  struct error err = {0};
  enum status status = coco_parse((const char *)data, size, "folder/fuzz.json", true, &arena, &set, &err);
  if (status != STATUS_OK && (status != STATUS_INPUT || err.why[0] == 0))
    abort();
  for (size_t i = 0; status == STATUS_OK && i < set.box_count; i++) {
    const struct data_box *box = &set.boxes[i];
    if (box->item >= set.count || box->category >= set.category_count || (i > 0 && box[-1].item > box->item) ||
        !isfinite(box->left + box->top) || box->width < 0 || box->height < 0)
      abort();
    for (size_t k = 1; k < box->runs.count; k++)
      if (box->runs.count % 2 != 0 || box->runs.borders[k] <= box->runs.borders[k - 1])
        abort();
  }
  for (size_t i = 0; status == STATUS_OK && i < set.count; i++)
    if (set.items[i].path == NULL)
      abort();
  arena_done(&arena);
  return 0;
}
