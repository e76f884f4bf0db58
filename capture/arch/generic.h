// SPDX-License-Identifier: Apache-2.0
// Any other little-endian machine: CLOCK_MONOTONIC, atomic adds, no inline fast path.
#ifndef XSP_CAPTURE_ARCH_GENERIC_H
#define XSP_CAPTURE_ARCH_GENERIC_H

static inline bool arch_ticks_invariant(void)
{
  return false;
}
static inline uint64_t arch_ticks(void)
{
  return 0;
}
static inline uint64_t arch_add(uint64_t *word, uint64_t addend)
{
  return __atomic_fetch_add(word, addend, __ATOMIC_RELAXED);
}

#endif
