// SPDX-License-Identifier: Apache-2.0
// What compilers call of their own accord, even where there is no libc. In the
// audit module only.
#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *memset(void *to, int value, size_t bytes);
HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t bytes);

// volatile: else a compiler sees what the loop is, and calls the function
HIDDEN void *memset(void *to, int value, size_t bytes)
{
  for (volatile char *at = to; bytes > 0; bytes--)
    *at++ = (char)value;
  return to;
}

HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
  const char *source = from;
  for (volatile char *at = to; bytes > 0; bytes--)
    *at++ = *source++;
  return to;
}
