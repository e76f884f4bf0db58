// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of ONNX Runtime's profile files (without a session: nothing is recorded).
#include "predictors/onnxruntime_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const struct xsp_context models[2] = {{1, 1}, {1, 2}};
  struct error err;
  (void)!onnxruntime_profile_publish((const char *)data, size, 1000, models, 2, "fuzz", &err);
  return 0;
}
