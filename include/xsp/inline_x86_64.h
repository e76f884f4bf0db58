// SPDX-License-Identifier: Apache-2.0
// The two x86-64 instructions of the inline fast path. Do not include directly.
#ifndef XSP_INLINE_X86_64_H
#define XSP_INLINE_X86_64_H

// The time stamp counter. Not ordered against its surroundings: rdtscp costs 11 ns more per pair without more
// information.
static inline uint64_t xsp_inline_ticks_v1(void)
{
  uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return ((uint64_t)high << 32) | low;
}

// Adds and returns the previous value. One instruction, so a signal handler of the same thread runs before or after it,
// never inside. Not atomic against other threads: no other thread writes, and a lock prefix would cost three times as
// much as the rest of a span without its clock (docs/internals/capture.md).
static inline uint64_t xsp_inline_add_v1(uint64_t *word, uint64_t addend)
{
  __asm__ __volatile__("xaddq %0, %1" : "+r"(addend), "+m"(*word) : : "memory", "cc");
  return addend;
}

#endif
