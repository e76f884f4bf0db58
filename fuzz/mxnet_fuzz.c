// SPDX-License-Identifier: Apache-2.0
// Fuzzes the readers of MXNet's files: the first byte chooses a symbol, a signature, a profile or a shape.
#include "frameworks/mxnet/profile.h"
#include "frameworks/mxnet/shapes.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_info(const struct tensor_info *info)
{
  if (info->rank == 0 || info->rank > TENSOR_MAXIMUM_RANK)
    abort();
  for (unsigned i = 0; i < info->rank; i++)
    if (info->shape[i] != -1 && (info->shape[i] < 1 || info->shape[i] > INT32_MAX))
      abort();
}

static void read_symbol(const char *text, size_t length, struct pool *pool)
{
  const uint32_t shape[] = {16, 3, 3, 3};
  const struct mxnet_parameter parameters[] = {{"w", shape, 4}, {"v", shape, 2}, {"empty", NULL, 0}};
  struct mxnet_symbol symbol;
  if (mxnet_symbol_read(text, length, "fuzz", pool, &symbol, NULL) != STATUS_OK)
    return;
  for (size_t i = 0; i < symbol.count && i < 64; i++) {
    struct tensor_info info = {0};
    if (mxnet_input_shape(&symbol, i, parameters, 3, &info))
      check_info(&info);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size + 1);
  if (text == NULL || size == 0) {
    free(text);
    return 0;
  }
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  struct pool pool = {.maximum_bytes = (size_t)1 << 30};
  struct tensor_info info = {0};
  struct mxnet_profile profile;
  bool found = false;
  if (data[0] == 's') {
    read_symbol(text, size - 1, &pool);
  } else if (data[0] == 'g') {
    if (mxnet_signature_read(text, size - 1, "fuzz", "data", &info, &found, NULL) == STATUS_OK && found)
      check_info(&info);
  } else if (data[0] == 'p') {
    if (mxnet_profile_read(text, size - 1, "fuzz", &pool, &profile, NULL) == STATUS_OK)
      for (size_t i = 0; i < profile.count; i++)
        if (profile.events[i].end_us < profile.events[i].start_us || profile.events[i].start_us < 0 ||
            (i > 0 && profile.events[i].start_us < profile.events[i - 1].start_us))
          abort();
  } else if (mxnet_read_shape(text, &info)) {
    check_info(&info);
  }
  framework_pool_done(&pool);
  free(text);
  return 0;
}
