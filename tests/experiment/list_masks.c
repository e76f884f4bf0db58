// SPDX-License-Identifier: Apache-2.0
// The masks of a file as COCO has it, for tests: list_masks FILE. A line for each annotation, in the order of items: its borders. Status
// 1: why the file is refused is on stdout.
#include "experiment/evaluation/coco.h"

#include <stdio.h>

int main(int count, char **arguments)
{
  struct arena arena = {0};
  struct data_set set;
  struct error err = {0};
  if (count != 2)
    return 2;
  enum status status = coco_read(arguments[1], true, &arena, &set, &err);
  if (status != STATUS_OK)
    printf("%s\n", err.why);
  for (size_t i = 0; status == STATUS_OK && i < set.box_count; i++) {
    for (size_t k = 0; k < set.boxes[i].runs.count; k++)
      printf("%u ", set.boxes[i].runs.borders[k]);
    printf("\n");
  }
  arena_done(&arena);
  return status != STATUS_OK;
}
