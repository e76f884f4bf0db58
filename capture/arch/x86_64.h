// SPDX-License-Identifier: Apache-2.0
// x86-64: may the time stamp counter be used as a clock on this machine?
#ifndef XSP_CAPTURE_ARCH_X86_64_H
#define XSP_CAPTURE_ARCH_X86_64_H

#include <cpuid.h>
#include <xsp/inline_x86_64.h>

// CPUID 0x80000007 EDX bit 8: the counter runs at one rate in all power states. Kernels without it fall back too.
static inline bool arch_ticks_invariant(void)
{
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
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
