// SPDX-License-Identifier: Apache-2.0
// Sources of Python that programs run.
#include "analyze/findings/part_of_sort.h"
#include "analyze/findings/row_loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  int64_t first;
  struct slice source = {(const char *)data, size};
  for (int64_t line = 1; line < 32; line++) {
    (void)findings_loop_is_independent(source, line, &first);
    (void)findings_comprehension_is_independent(source, line);
    (void)findings_takes_part(source, line);
  }
  return 0;
}
