// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of ONNX Runtime's profile files (without a session: nothing is recorded).
#include "frameworks/onnxruntime/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct inference items[2] = {{.model = {1, 1}}, {.model = {1, 2}}};
  const struct inferences inferences = {.items = items, .count = 2};
  struct error err;
  (void)!onnxruntime_profile_publish((const char *)data, size, 1000, &inferences, "fuzz", &err);
  return 0;
}
