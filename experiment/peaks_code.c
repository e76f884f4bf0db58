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

#if defined(__x86_64__)
#include <immintrin.h>

#define START512(i) __m512 sum##i = _mm512_set1_ps(seed + (float)i);
#define STEP512(i) sum##i = _mm512_fmadd_ps(sum##i, factor, addend);
#define TOTAL512(i) total = _mm512_add_ps(total, sum##i);
__attribute__((target("avx512f"))) static float arithmetic_avx512(unsigned rounds, float seed)
{
  const __m512 factor = _mm512_set1_ps(FACTOR);
  const __m512 addend = _mm512_set1_ps(ADDEND);
  EACH12(START512)
  for (unsigned i = 0; i < rounds; i++) {
    EACH12(STEP512)
  }
  __m512 total = _mm512_setzero_ps();
  EACH12(TOTAL512)
  return _mm512_reduce_add_ps(total);
}

#define START256(i) __m256 sum##i = _mm256_set1_ps(seed + (float)i);
#define STEP256(i) sum##i = _mm256_fmadd_ps(sum##i, factor, addend);
#define TOTAL256(i) total = _mm256_add_ps(total, sum##i);
__attribute__((target("avx2,fma"))) static float arithmetic_avx2(unsigned rounds, float seed)
{
  const __m256 factor = _mm256_set1_ps(FACTOR);
  const __m256 addend = _mm256_set1_ps(ADDEND);
  EACH12(START256)
  for (unsigned i = 0; i < rounds; i++) {
    EACH12(STEP256)
  }
  __m256 total = _mm256_setzero_ps();
  EACH12(TOTAL256)
  float parts[8];
  _mm256_storeu_ps(parts, total);
  return parts[0] + parts[1] + parts[2] + parts[3] + parts[4] + parts[5] + parts[6] + parts[7];
}

#define START128(i) __m128 sum##i = _mm_set1_ps(seed + (float)i);
#define STEP128(i) sum##i = _mm_add_ps(_mm_mul_ps(sum##i, factor), addend);
#define TOTAL128(i) total = _mm_add_ps(total, sum##i);
static float arithmetic_sse2(unsigned rounds, float seed)
{
  const __m128 factor = _mm_set1_ps(FACTOR);
  const __m128 addend = _mm_set1_ps(ADDEND);
  EACH12(START128)
  for (unsigned i = 0; i < rounds; i++) {
    EACH12(STEP128)
  }
  __m128 total = _mm_setzero_ps();
  EACH12(TOTAL128)
  float parts[4];
  _mm_storeu_ps(parts, total);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

// Written past the caches: else every line of `a` would be read first, uncounted.
static void triad_sse2(float *a, const float *b, const float *c, size_t count, float factor)
{
  const __m128 factors = _mm_set1_ps(factor);
  for (size_t i = 0; i < count; i += 16)
    for (size_t k = 0; k < 16; k += 4)
      _mm_stream_ps(a + i + k, _mm_add_ps(_mm_load_ps(b + i + k), _mm_mul_ps(factors, _mm_load_ps(c + i + k))));
  _mm_sfence();
}

__attribute__((target("avx512f"))) static void triad_avx512(float *a, const float *b, const float *c, size_t count,
                                                            float factor)
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

#elif defined(__aarch64__)
#include <arm_neon.h>

#define START(i) float32x4_t sum##i = vdupq_n_f32(seed + (float)i);
#define STEP(i) sum##i = vfmaq_f32(addend, sum##i, factor);
#define TOTAL(i) total = vaddq_f32(total, sum##i);
static float arithmetic_neon(unsigned rounds, float seed)
{
  const float32x4_t factor = vdupq_n_f32(FACTOR);
  const float32x4_t addend = vdupq_n_f32(ADDEND);
  EACH16(START)
  for (unsigned i = 0; i < rounds; i++) {
    EACH16(STEP)
  }
  float32x4_t total = vdupq_n_f32(0);
  EACH16(TOTAL)
  return vaddvq_f32(total);
}

static void triad_neon(float *a, const float *b, const float *c, size_t count, float factor)
{
  const float32x4_t factors = vdupq_n_f32(factor);
  for (size_t i = 0; i < count; i += 4)
    vst1q_f32(a + i, vfmaq_f32(vld1q_f32(b + i), factors, vld1q_f32(c + i)));
}

const struct peaks_code *peaks_code(void)
{
  static const struct peaks_code neon = {"NEON", 16 * 4 * 2, arithmetic_neon, triad_neon};
  return &neon;
}

#else
#define START(i) float sum##i = seed + (float)i;
#define STEP(i) sum##i = sum##i * FACTOR + ADDEND;
#define TOTAL(i) total += sum##i;
static float arithmetic_plain(unsigned rounds, float seed)
{
  EACH16(START)
  for (unsigned i = 0; i < rounds; i++) {
    EACH16(STEP)
  }
  float total = 0;
  EACH16(TOTAL)
  return total;
}

static void triad_plain(float *a, const float *b, const float *c, size_t count, float factor)
{
  for (size_t i = 0; i < count; i++)
    a[i] = b[i] + factor * c[i];
}

const struct peaks_code *peaks_code(void)
{
  static const struct peaks_code plain = {"scalar", 16 * 2, arithmetic_plain, triad_plain};
  return &plain;
}
#endif
