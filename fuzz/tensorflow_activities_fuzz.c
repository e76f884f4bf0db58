// SPDX-License-Identifier: Apache-2.0
// Fuzzes the layers of TensorFlow's recorded activities: lines of a name, each with a thread and two times in its first
// three bytes. Parents come before their children in the same array.
#include "frameworks/tensorflow/activities.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct pool pool = {.maximum_bytes = (size_t)1 << 30};
  struct activity *items = framework_pool_alloc(&pool, size + 1, sizeof *items);
  struct activities activities = {items, 0, framework_pool_alloc(&pool, 4, sizeof *activities.threads)};
  struct operation *operations = NULL;
  size_t count = 0;
  for (size_t at = 0; at + 3 < size && items != NULL && activities.threads != NULL;) {
    const uint8_t *end = memchr(data + at + 3, '\n', size - at - 3);
    size_t length = end != NULL ? (size_t)(end - data) - at - 3 : size - at - 3;
    const char *name = framework_pool_text(&pool, (const char *)data + at + 3, length);
    if (name == NULL)
      break;
    items[activities.count++] =
        (struct activity){name, strlen(name), data[at] % 4, data[at + 1], (uint64_t)data[at + 1] + data[at + 2]};
    at += 3 + length + 1;
  }
  if (items != NULL && activities_operations(&activities, 0, 255, &pool, &operations, &count))
    for (size_t i = 0; i < count; i++)
      if (operations[i].name[0] == 0 || operations[i].type[0] == 0 || operations[i].end_ns < operations[i].start_ns ||
          (operations[i].parent != SIZE_MAX && operations[i].parent >= i))
        abort();
  framework_pool_done(&pool);
  return 0;
}
