// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/script/model.
#include "frameworks/script/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct script_model model;
  struct error err;
  if (script_parse((const char *)data, size, "fuzz", &arena, &model, &err) == STATUS_OK) {
    size_t count = 0;
    for (const struct script_layer *layer = model.layers; layer != NULL; layer = layer->next)
      count++;
    if (count == 0 || count != model.layer_count)
      abort();
  }
  arena_done(&arena);
  return 0;
}
