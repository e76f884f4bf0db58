// SPDX-License-Identifier: Apache-2.0
// aarch64: the virtual counter is invariant by architecture and readable from user space.
#ifndef XSP_CAPTURE_ARCH_AARCH64_H
#define XSP_CAPTURE_ARCH_AARCH64_H

#include <xsp/inline_aarch64.h>

static inline bool arch_ticks_invariant(void)
{
  return true;
}
static inline uint64_t arch_ticks(void)
{
  return xsp_inline_ticks_v1();
}
static inline uint64_t arch_add(uint64_t *word, uint64_t addend)
{
  return xsp_inline_add_v1(word, addend);
}

#endif
