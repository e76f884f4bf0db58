// SPDX-License-Identifier: Apache-2.0
// See zoo.h. Each function makes one value of all its arguments, so that a wrong one shows.
#include "tests/tracers/functions/zoo.h"

#include <errno.h>
#include <string.h>

#ifdef ZOO_DIRECT
#define ZOO ZOO_DIRECTLY
#define EXPORT __attribute__((noinline))
#else
#define ZOO ZOO_TRACED
#define EXPORT __attribute__((visibility("default"), noinline))
#endif

EXPORT int64_t ZOO(ints)(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int32_t h,
                         int16_t i, int8_t j, uint8_t k, int64_t l, int64_t m, int64_t n)
{
  uint64_t sum = (uint64_t)a;
  const int64_t more[] = {b, c, d, e, f, g, h, i, j, k, l, m, n};
  for (size_t at = 0; at < sizeof more / sizeof more[0]; at++)
    sum = sum * 31 + (uint64_t)more[at];
  return (int64_t)sum;
}

EXPORT double ZOO(doubles)(double a, double b, double c, double d, double e, double f, double g, double h, double i,
                           float j, double k, double l)
{
  return a - 2 * b + 3 * c - 4 * d + 5 * e - 6 * f + 7 * g - 8 * h + 9 * i - 10 * (double)j + 11 * k - 12 * l;
}

EXPORT float ZOO(mixed)(int a, float b, char c, double d, const char *e, float f, long g, double h, short i, float j,
                        long k, double l, float m, float n, float o, int p, float q)
{
  return (float)(a + 3 * (double)b + c + 5 * d + (double)strlen(e) + 7 * (double)f + (double)g + 9 * h + i +
                 11 * (double)j + (double)k + 13 * l + 15 * (double)m + 17 * (double)n + 19 * (double)o + p +
                 21 * (double)q);
}

EXPORT struct zoo_pair ZOO(pair)(struct zoo_pair a, int b, struct zoo_pair c)
{
  return (struct zoo_pair){(int64_t)((uint64_t)a.whole * 3 + (uint64_t)c.whole + (uint64_t)b), a.real - 2 * c.real};
}

EXPORT struct zoo_points ZOO(points)(struct zoo_points a, double b, struct zoo_points c)
{
  return (struct zoo_points){a.x * b - c.y, a.y * b + c.x};
}

EXPORT struct zoo_words ZOO(words)(struct zoo_words a, uint64_t b, struct zoo_words c, struct zoo_words d)
{
  return (struct zoo_words){a.low * b + c.high * 3 + d.low * 5, a.high * b + c.low * 7 + d.high * 11};
}

EXPORT struct zoo_big ZOO(big)(struct zoo_big a, int b, struct zoo_big c, double d)
{
  for (int i = 0; i < 7; i++)
    a.value[i] = a.value[i] * d + c.value[6 - i];
  a.number = (int32_t)((uint32_t)a.number + (uint32_t)b * 3u + (uint32_t)c.number);
  return a;
}

EXPORT long double ZOO(long_double)(long double a, int b, long double c, double d)
{
  return a * b - c * (long double)d;
}

EXPORT double _Complex ZOO(complex_double)(double _Complex a, float b)
{
  return a * (double)b + 1.0;
}

EXPORT float _Complex ZOO(complex_float)(float _Complex a, float _Complex b)
{
  return a * 2.0f - b;
}

EXPORT long double _Complex ZOO(complex_long_double)(long double _Complex a, int b)
{
  return a * b;
}

EXPORT __int128 ZOO(wide)(__int128 a, int b, __int128 c, __int128 d, __int128 e)
{
  return (__int128)((unsigned __int128)a * (unsigned)b + (unsigned __int128)c * 3 + (unsigned __int128)d * 5 +
                    (unsigned __int128)e);
}

EXPORT double ZOO(variadic)(const char *kinds, ...)
{
  va_list arguments;
  va_start(arguments, kinds);
  double sum = 0;
  for (; *kinds != '\0'; kinds++)
    sum = sum * 1.5 + (*kinds == 'i'   ? (double)va_arg(arguments, int)
                       : *kinds == 'd' ? va_arg(arguments, double)
                                       : (double)va_arg(arguments, long double));
  va_end(arguments);
  return sum;
}

// Two that call each other: a call of itself would be bound inside the library.
EXPORT int64_t ZOO(deep)(int depth, int64_t value, double more)
{
  return depth == 0 ? value : ZOO(deeper)(depth, value, more) + (int64_t)(more * 4);
}

EXPORT int64_t ZOO(deeper)(int depth, int64_t value, double more)
{
  return ZOO(deep)(depth - 1, (int64_t)((uint64_t)value * 5 + (uint64_t)depth), more / 2) - 1;
}

EXPORT int64_t ZOO(tail)(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int32_t h,
                         int16_t i, int8_t j, uint8_t k, int64_t l, int64_t m, int64_t n)
{
  return ZOO(ints)(n, m, l, d, e, f, g, h, i, j, k, c, b, a); // a jump, with -O2
}

EXPORT void ZOO(call)(void (*function)(void *), void *data)
{
  function(data);
}

EXPORT int ZOO(error)(int value)
{
  int before = errno;
  errno = value;
  return before;
}

EXPORT int64_t ZOO(many)(int64_t a, struct zoo_heap heap, int64_t b)
{
  uint64_t sum = (uint64_t)a * 7 + (uint64_t)b;
  for (int i = 0; i < 160; i++)
    sum = sum * 31 + (uint64_t)heap.word[i];
  return (int64_t)sum;
}

EXPORT _Bool ZOO(small)(_Bool a, unsigned char b, signed char c)
{
  return a ? b > 3 : c > 5;
}

EXPORT uint64_t ZOO(modes)(void)
{
#if defined(__x86_64__)
  uint16_t control;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  return (uint64_t)_mm_getcsr() << 16 | control;
#else
  return 0;
#endif
}

#if defined(__x86_64__)
__attribute__((target("avx"))) EXPORT __m256d ZOO(avx)(__m256d a, __m256d b, __m256d c, __m256d d, __m256d e, __m256d f,
                                                       __m256d g, __m256d h, int i, __m256d j, double k, __m256d l)
{
  a = _mm256_add_pd(_mm256_add_pd(_mm256_add_pd(a, b), _mm256_sub_pd(c, d)), _mm256_sub_pd(_mm256_add_pd(e, f), g));
  return _mm256_add_pd(_mm256_mul_pd(_mm256_add_pd(a, h), _mm256_set1_pd(i + k)), _mm256_sub_pd(j, l));
}

__attribute__((target("avx512f"))) EXPORT __m512d ZOO(avx512)(__m512d a, __m512d b, __m512d c, __m512d d, __m512d e,
                                                              __m512d f, __m512d g, __m512d h, int i, __m512d j,
                                                              double k, __m512d l)
{
  a = _mm512_add_pd(_mm512_add_pd(_mm512_add_pd(a, b), _mm512_sub_pd(c, d)), _mm512_sub_pd(_mm512_add_pd(e, f), g));
  return _mm512_add_pd(_mm512_mul_pd(_mm512_add_pd(a, h), _mm512_set1_pd(i + k)), _mm512_sub_pd(j, l));
}

EXPORT __m128d ZOO(sse)(__m128d a, __m128i b, __m128d c, int d, __m128d e)
{
  return _mm_add_pd(_mm_mul_pd(a, _mm_castsi128_pd(b)), _mm_sub_pd(_mm_mul_pd(c, _mm_set1_pd(d)), e));
}

EXPORT __attribute__((naked)) uint64_t ZOO(chain)(void)
{
  __asm__("mov %r10, %rax\n\tret");
}
#endif
