// SPDX-License-Identifier: Apache-2.0
// Functions of every calling convention that C has on x86-64. Compiled twice for the tests: into libzoo.so, whose functions
// are traced, and into the guest under other names, where nothing is.
#ifndef XSP_TESTS_TRACERS_FUNCTIONS_ZOO_H
#define XSP_TESTS_TRACERS_FUNCTIONS_ZOO_H

#include <complex.h>
#include <stdarg.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ZOO_TRACED(name) zoo_##name
#define ZOO_DIRECTLY(name) direct_##name

struct zoo_pair { // rax and xmm0
  int64_t whole;
  double real;
};
struct zoo_points { // xmm0 and xmm1
  double x, y;
};
struct zoo_words { // rax and rdx
  uint64_t low, high;
};
struct zoo_heap { // more on the stack than is copied without being told
  int64_t word[160];
};
struct zoo_big { // in memory: a hidden pointer, or bytes on the stack
  double value[7];
  int32_t number;
};

#define ZOO_DECLARE(ZOO)                                                                                               \
  int64_t ZOO(ints)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int32_t, int16_t, int8_t, uint8_t,  \
                    int64_t, int64_t, int64_t);                                                                        \
  double ZOO(doubles)(double, double, double, double, double, double, double, double, double, float, double, double);  \
  float ZOO(mixed)(int, float, char, double, const char *, float, long, double, short, float, long, double, float,     \
                   float, float, int, float);                                                                          \
  struct zoo_pair ZOO(pair)(struct zoo_pair, int, struct zoo_pair);                                                    \
  struct zoo_points ZOO(points)(struct zoo_points, double, struct zoo_points);                                         \
  struct zoo_words ZOO(words)(struct zoo_words, uint64_t, struct zoo_words, struct zoo_words);                         \
  struct zoo_big ZOO(big)(struct zoo_big, int, struct zoo_big, double);                                                \
  long double ZOO(long_double)(long double, int, long double, double);                                                 \
  double _Complex ZOO(complex_double)(double _Complex, float);                                                         \
  float _Complex ZOO(complex_float)(float _Complex, float _Complex);                                                   \
  long double _Complex ZOO(complex_long_double)(long double _Complex, int);                                            \
  __int128 ZOO(wide)(__int128, int, __int128, __int128, __int128);                                                     \
  double ZOO(variadic)(const char *kinds, ...);                                                                        \
  int64_t ZOO(deep)(int depth, int64_t value, double more);                                                            \
  int64_t ZOO(deeper)(int depth, int64_t value, double more);                                                          \
  int64_t ZOO(tail)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int32_t, int16_t, int8_t, uint8_t,  \
                    int64_t, int64_t, int64_t);                                                                        \
  void ZOO(call)(void (*function)(void *), void *data);                                                                \
  int ZOO(error)(int value);                                                                                           \
  uint64_t ZOO(modes)(void);                                                                                           \
  int64_t ZOO(many)(int64_t, struct zoo_heap, int64_t);                                                                \
  _Bool ZOO(small)(_Bool, unsigned char, signed char);

ZOO_DECLARE(ZOO_TRACED)
ZOO_DECLARE(ZOO_DIRECTLY)

#if defined(__x86_64__)
// Vectors in registers and, aligned as wide as they are, on the stack.
#define ZOO_DECLARE_VECTORS(ZOO)                                                                                       \
  __attribute__((target("avx"))) __m256d ZOO(avx)(__m256d, __m256d, __m256d, __m256d, __m256d, __m256d, __m256d,       \
                                                  __m256d, int, __m256d, double, __m256d);                             \
  __attribute__((target("avx512f"))) __m512d ZOO(avx512)(__m512d, __m512d, __m512d, __m512d, __m512d, __m512d,         \
                                                         __m512d, __m512d, int, __m512d, double, __m512d);             \
  __m128d ZOO(sse)(__m128d, __m128i, __m128d, int, __m128d);                                                           \
  uint64_t ZOO(chain)(void); /* the static chain's register */

ZOO_DECLARE_VECTORS(ZOO_TRACED)
ZOO_DECLARE_VECTORS(ZOO_DIRECTLY)
#endif

#endif
