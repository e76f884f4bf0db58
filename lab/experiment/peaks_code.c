// SPDX-License-Identifier: Apache-2.0
// The loops that peaks.c times, one set for each width of vectors, chosen at run time. Twelve (NEON: sixteen)
// independent sums keep every multiplier busy whatever its latency.
#include "experiment/peaks.h"

#define EACH12(do)                                                                                                     \
  do                                                                                                                   \
  (0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11)
#define EACH16(do) EACH12(do) do(12) do(13) do(14) do(15)

// Towards 0.1: neither infinite nor denormal however long it runs.
#define FACTOR 0.999f
#define ADDEND 0.0001f

// Vectors of the compiler: `sum * FACTOR + ADDEND` becomes one instruction where `target` has one for it.
#define START(i) vector sum##i = (vector){0} + (seed + (float)i);
#define STEP(i) sum##i = sum##i * FACTOR + ADDEND;
#define TOTAL(i) total += sum##i;
#define ARITHMETIC(name, target, width, EACH)                                                                          \
  target static float name(unsigned rounds, float seed)                                                                \
  {                                                                                                                    \
    typedef float vector __attribute__((vector_size((width) * sizeof(float))));                                        \
    EACH(START)                                                                                                        \
    for (unsigned i = 0; i < rounds; i++) {                                                                            \
      EACH(STEP)                                                                                                       \
    }                                                                                                                  \
    vector total = {0};                                                                                                \
    EACH(TOTAL)                                                                                                        \
    float sum = 0;                                                                                                     \
    for (unsigned i = 0; i < (width); i++)                                                                             \
      sum += total[i];                                                                                                 \
    return sum;                                                                                                        \
  }

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET_AVX512 __attribute__((target("avx512f")))
ARITHMETIC(arithmetic_avx512, TARGET_AVX512, 16, EACH12)
ARITHMETIC(arithmetic_avx2, __attribute__((target("avx2,fma"))), 8, EACH12)
ARITHMETIC(arithmetic_sse2, , 4, EACH12)

// Written past the caches: else every line of `a` would be read first, uncounted.
static void triad_sse2(float *a, const float *b, const float *c, size_t count, float factor)
{
  const __m128 factors = _mm_set1_ps(factor);
  for (size_t i = 0; i < count; i += 16)
    for (size_t k = 0; k < 16; k += 4)
      _mm_stream_ps(a + i + k, _mm_add_ps(_mm_load_ps(b + i + k), _mm_mul_ps(factors, _mm_load_ps(c + i + k))));
  _mm_sfence();
}

TARGET_AVX512 static void triad_avx512(float *a, const float *b, const float *c, size_t count, float factor)
{
  const __m512 factors = _mm512_set1_ps(factor);
  for (size_t i = 0; i < count; i += 16)
    _mm512_stream_ps(a + i, _mm512_fmadd_ps(factors, _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
  _mm_sfence();
}

const struct peaks_code *peaks_code(void)
{
  static const struct peaks_code avx512 = {"AVX-512", 12 * 16 * 2, arithmetic_avx512, triad_avx512};
  static const struct peaks_code avx2 = {"AVX2", 12 * 8 * 2, arithmetic_avx2, triad_sse2};
  static const struct peaks_code sse2 = {"SSE2", 12 * 4 * 2, arithmetic_sse2, triad_sse2};
  if (__builtin_cpu_supports("avx512f"))
    return &avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2 : &sse2;
}

#else
#if defined(__aarch64__)
#define NAME "NEON"
#define WIDTH 4
#else
#define NAME "scalar"
#define WIDTH 1
#endif
typedef float lanes __attribute__((vector_size(WIDTH * sizeof(float)), may_alias));
ARITHMETIC(arithmetic, , WIDTH, EACH16)

static void triad(float *a, const float *b, const float *c, size_t count, float factor)
{
  for (size_t i = 0; i < count; i += WIDTH)
    *(lanes *)(a + i) = *(const lanes *)(b + i) + factor * *(const lanes *)(c + i);
}

const struct peaks_code *peaks_code(void)
{
  static const struct peaks_code code = {NAME, 16 * WIDTH * 2, arithmetic, triad};
  return &code;
}
#endif
