// SPDX-License-Identifier: Apache-2.0
// functions_keep keeps what arguments and results may be in, with what this processor has and as on one that has SSE only.
#include "tracers/functions/keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(__x86_64__)
static const void *seen_a;
static uint64_t seen_b;

// Leaves nothing as it was.
static struct xsp_span destroy(const void *a, uint64_t b)
{
  seen_a = a;
  seen_b = b;
  uint32_t control = 0x7f80;
  __asm__ volatile("fninit\n\tldmxcsr %0" ::"m"(control));
  if (__builtin_cpu_supports("avx512f"))
    __asm__ volatile("vzeroall\n\tvpxord %%zmm31, %%zmm31, %%zmm31\n\tkxorw %%k1, %%k1, %%k1" ::: "memory");
  else if (__builtin_cpu_supports("avx"))
    __asm__ volatile("vzeroall" ::: "memory");
  else
    __asm__ volatile("pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm7, %%xmm7\n\tpxor %%xmm15, %%xmm15" ::
                         : "memory");
  return (struct xsp_span){UINT64_C(0x0123456789abcdef), 5, 7};
}

struct state {
  _Alignas(64) uint8_t vector[4][64];
  long double number;
  uint32_t control;
  uint64_t mask;
};

static struct xsp_span (*const fn)(const void *, uint64_t) = destroy;

#define CLOBBERED "rcx", "r8", "r9", "r10", "r11", "rbx", "memory", "cc"
// The callee is called as by C code: what it returns is rax and rdx.
#define AROUND(load, store)                                                                                            \
  uint64_t low, high;                                                                                                  \
  const void *a = in;                                                                                                  \
  __asm__ volatile("fldt %c[number](%[in])\n\tldmxcsr %c[control](%[in])\n\t" load "mov %[in], %%rdi\n\t"              \
                   "mov $77, %%esi\n\tmov %[fn], %%rdx\n\tcall functions_keep\n\t" store                               \
                   "fstpt %c[number](%[out])\n\tstmxcsr %c[control](%[out])\n\t"                                       \
                   : "=&a"(low), "=&d"(high)                                                                           \
                   : [in] "r"(in), [out] "r"(out), [fn] "r"(fn), [number] "i"(offsetof(struct state, number)),         \
                     [control] "i"(offsetof(struct state, control)), [mask] "i"(offsetof(struct state, mask))          \
                   : "rdi", "rsi", CLOBBERED);                                                                         \
  assert_ptr_equal(seen_a, a);                                                                                         \
  assert_int_equal(seen_b, 77);                                                                                        \
  assert_true(low == UINT64_C(0x0123456789abcdef) && high == (UINT64_C(7) << 32 | 5))

static void around_sse(const struct state *in, struct state *out)
{
  AROUND("movups (%[in]), %%xmm0\n\tmovups 64(%[in]), %%xmm1\n\tmovups 128(%[in]), %%xmm7\n\tmovups 192(%[in]), "
         "%%xmm15\n\t",
         "movups %%xmm0, (%[out])\n\tmovups %%xmm1, 64(%[out])\n\tmovups %%xmm7, 128(%[out])\n\t"
         "movups %%xmm15, 192(%[out])\n\t");
}

static void around_avx(const struct state *in, struct state *out)
{
  AROUND("vmovups (%[in]), %%ymm0\n\tvmovups 64(%[in]), %%ymm1\n\tvmovups 128(%[in]), %%ymm7\n\t"
         "vmovups 192(%[in]), %%ymm15\n\t",
         "vmovups %%ymm0, (%[out])\n\tvmovups %%ymm1, 64(%[out])\n\tvmovups %%ymm7, 128(%[out])\n\t"
         "vmovups %%ymm15, 192(%[out])\n\tvzeroupper\n\t");
}

static void around_avx512(const struct state *in, struct state *out)
{
  AROUND("vmovups (%[in]), %%zmm0\n\tvmovups 64(%[in]), %%zmm1\n\tvmovups 128(%[in]), %%zmm7\n\t"
         "vmovups 192(%[in]), %%zmm31\n\tkmovw %c[mask](%[in]), %%k1\n\t",
         "vmovups %%zmm0, (%[out])\n\tvmovups %%zmm1, 64(%[out])\n\tvmovups %%zmm7, 128(%[out])\n\t"
         "vmovups %%zmm31, 192(%[out])\n\tkmovw %%k1, %c[mask](%[out])\n\tvzeroupper\n\t");
}

static void check(void (*around)(const struct state *, struct state *), size_t width)
{
  struct state in, out;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  for (size_t i = 0; i < sizeof in.vector; i++)
    in.vector[i / 64][i % 64] = (uint8_t)(i * 37 + 11);
  in.number = 1.25L;
  in.control = 0x3f80; // rounds upward
  in.mask = 0xa5c3;
  uint32_t normal = 0x1f80;
  around(&in, &out);
  __asm__ volatile("ldmxcsr %0" ::"m"(normal));
  for (size_t i = 0; i < 4; i++)
    assert_memory_equal(in.vector[i], out.vector[i], width);
  assert_true(in.number == out.number);
  assert_int_equal(in.control, out.control);
  if (width == 64)
    assert_int_equal(in.mask, out.mask);
}

static void test_kept(void **state)
{
  functions_kept_bytes = 0;
  check(around_sse, 16); // nothing is known of the processor
  functions_keep_prepare();
  check(around_sse, 16);
  if (__builtin_cpu_supports("avx"))
    check(around_avx, 32);
  if (__builtin_cpu_supports("avx512f"))
    check(around_avx512, 64);
  for (int i = 0; i < 1000; i++) // the header that xrstor reads is zero whatever the stack held
    check(around_sse, 16);
}
#else
static void test_kept(void **state)
{
  skip();
}
#endif

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
