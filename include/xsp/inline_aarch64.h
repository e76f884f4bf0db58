// SPDX-License-Identifier: Apache-2.0
// The two aarch64 pieces of the inline fast path. Do not include directly.
#ifndef XSP_INLINE_AARCH64_H
#define XSP_INLINE_AARCH64_H

// The virtual counter: invariant by architecture.
static inline uint64_t xsp_inline_ticks_v1(void)
{
  uint64_t ticks;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}

// Adds and returns what was there before. A signal handler between load and store clears the exclusive monitor, so the
// store fails and the loop runs again.
static inline uint64_t xsp_inline_add_v1(uint64_t *word, uint64_t addend)
{
  uint64_t before, after;
  uint32_t failed;
  __asm__ __volatile__("1: ldxr %0, %3\n"
                       "   add %1, %0, %4\n"
                       "   stxr %w2, %1, %3\n"
                       "   cbnz %w2, 1b\n"
                       : "=&r"(before), "=&r"(after), "=&r"(failed), "+Q"(*word)
                       : "r"(addend)
                       : "memory");
  return before;
}

#endif
