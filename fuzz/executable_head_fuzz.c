// SPDX-License-Identifier: Apache-2.0
// Random bytes as the head of a program: the result is a kind, with an interpreter only for a script, as a string.
#include "launch/executable.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static char interpreter[PATH_MAX];
  memset(interpreter, 'x', sizeof interpreter);
  enum executable_kind kind = executable_of_bytes(data, size, interpreter);
  if (kind > EXECUTABLE_OTHER_LIBC || memchr(interpreter, '\0', sizeof interpreter) == NULL)
    abort();
  if (interpreter[0] != '\0' && (size < 3 || data[0] != '#'))
    abort();
  return 0;
}
