// SPDX-License-Identifier: Apache-2.0
// Sources of Python that programs run.
#include "analyze/findings/row_loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  int64_t first;
  for (int64_t line = 1; line < 32; line++)
    (void)findings_loop_is_independent((struct slice){(const char *)data, size}, line, &first);
  return 0;
}
