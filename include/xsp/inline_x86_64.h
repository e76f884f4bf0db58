// SPDX-License-Identifier: Apache-2.0
// The two x86-64 instructions of the inline fast path. Do not include directly.
#ifndef XSP_INLINE_X86_64_H
#define XSP_INLINE_X86_64_H

// The time stamp counter. Not ordered against its surroundings: rdtscp costs 11 ns more a pair and says nothing more
// about a span.
static inline uint64_t xsp_inline_ticks_v1(void)
{
  uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return ((uint64_t)high << 32) | low;
}

// Adds and returns what was there before. One instruction, so a signal handler of the same thread comes before or after
// it, never inside. Not atomic against other threads: nobody else writes, and a lock prefix would cost three times as
// much as all the rest of a span but its clock (docs/internals/capture.md).
static inline uint64_t xsp_inline_add_v1(uint64_t *word, uint64_t addend)
{
  __asm__ __volatile__("xaddq %0, %1" : "+r"(addend), "+m"(*word) : : "memory", "cc");
  return addend;
}

#endif
