// SPDX-License-Identifier: Apache-2.0
// Which processor state functions_keep has to keep. No libc.
#include "tracers/functions/keep.h"

uint32_t functions_kept_bytes, functions_kept_mask;

#if defined(__x86_64__)
#include <cpuid.h>
// x87, SSE, AVX, mask registers, both halves of AVX-512: what may hold arguments or results.
#define KEPT_STATE UINT32_C(0xe7)

void functions_keep_prepare(void)
{
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
    return;
  unsigned enabled, high;
  __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  uint32_t mask = enabled & KEPT_STATE, bytes = 576;
  for (unsigned part = 2; part < 8; part++)
    if ((mask >> part & 1) != 0 && __get_cpuid_count(0xd, part, &a, &b, &c, &d) && a + b > bytes)
      bytes = a + b;
  functions_kept_mask = mask;
  functions_kept_bytes = (bytes + 63) & ~UINT32_C(63);
}
#else
void functions_keep_prepare(void)
{
}
#endif
