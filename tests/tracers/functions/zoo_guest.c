// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of xsp and calls libzoo.so in many ways; see tests/tracers/test_functions.py. Prints what came out of
// the calls, which has to be the same whether they are traced or not, and how many calls it made.
//   zoo_guest MODE [N]
#include "tests/tracers/functions/zoo.h"

#include <errno.h>
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static double real(uint64_t *state)
{
  return (double)(int64_t)next_random(state) * 0x1p-40;
}

static atomic_uint calls, differences;

static void same(const char *what, const void *a, const void *b, size_t size)
{
  atomic_fetch_add(&calls, 1);
  if (memcmp(a, b, size) == 0)
    return;
  atomic_fetch_add(&differences, 1);
  fprintf(stderr, "%s differs\n", what);
}

#define R ((int64_t)next_random(s))
#define D real(s)
#define F ((float)real(s))
// Both calls get the same arguments: the state is set back between them. Compares `size` bytes (a long double has 10).
#define BOTH_BYTES(type, name, size, ...)                                                                              \
  do {                                                                                                                 \
    uint64_t before = *s;                                                                                              \
    type traced, direct;                                                                                               \
    memset(&traced, 0, sizeof traced);                                                                                 \
    memset(&direct, 0, sizeof direct);                                                                                 \
    traced = zoo_##name(__VA_ARGS__);                                                                                  \
    *s = before;                                                                                                       \
    direct = direct_##name(__VA_ARGS__);                                                                               \
    same(#name, &traced, &direct, size);                                                                               \
  } while (0)
#define BOTH(type, name, ...) BOTH_BYTES(type, name, sizeof(type), __VA_ARGS__)

static __int128 wide(uint64_t *s)
{
  return (__int128)((unsigned __int128)R << 64 | (uint64_t)R);
}

static struct zoo_big big(uint64_t *s)
{
  struct zoo_big value;
  memset(&value, 0, sizeof value);
  for (int i = 0; i < 7; i++)
    value.value[i] = D;
  value.number = (int32_t)R;
  return value;
}

static void scalars(uint64_t *s)
{
  // The order in which C evaluates arguments is the compiler's: the same for both calls, which is all that counts.
  BOTH(int64_t, ints, R, R, R, R, R, R, R, (int32_t)R, (int16_t)R, (int8_t)R, (uint8_t)R, R, R, R);
  BOTH(int64_t, tail, R, R, R, R, R, R, R, (int32_t)R, (int16_t)R, (int8_t)R, (uint8_t)R, R, R, R);
  BOTH(double, doubles, D, D, D, D, D, D, D, D, D, F, D, D);
  BOTH(float, mixed, (int)R, F, (char)R, D, "five!", F, (long)R, D, (short)R, F, (long)R, D, F, F, F, (int)R, F);
  BOTH_BYTES(long double, long_double, 10, (long double)D, (int)R, (long double)D, D);
  BOTH(__int128, wide, wide(s), (int)R, wide(s), wide(s), wide(s));
  BOTH(double, variadic, "ididLdddddddiiiiiiLid", (int)R, D, (int)R, D, (long double)D, D, D, D, D, D, D, D, (int)R,
       (int)R, (int)R, (int)R, (int)R, (int)R, (long double)D, (int)R, D);
  BOTH(double, variadic, "iii", (int)R, (int)R, (int)R);
  BOTH(_Bool, small, R & 1, (unsigned char)R, (signed char)R);
  double _Complex complex_double = D + D * I;
  BOTH(double _Complex, complex_double, complex_double, F);
  float _Complex complex_float = F + F * I;
  BOTH(float _Complex, complex_float, complex_float, conjf(complex_float));
  long double _Complex complex_long = (long double)D + (long double)D * I;
  BOTH_BYTES(long double _Complex, complex_long_double, 10, complex_long, (int)R);
}

static void structs(uint64_t *s)
{
  struct zoo_pair pair = {R, D}, other = {R, D};
  BOTH(struct zoo_pair, pair, pair, (int)R, other);
  struct zoo_points points = {D, D};
  BOTH(struct zoo_points, points, points, D, points);
  struct zoo_words words = {(uint64_t)R, (uint64_t)R}, more = {(uint64_t)R, (uint64_t)R};
  BOTH(struct zoo_words, words, words, (uint64_t)R, more, words);
  struct zoo_big a = big(s), b = big(s);
  BOTH_BYTES(struct zoo_big, big, offsetof(struct zoo_big, number) + 4, a, (int)R, b, D);
  struct zoo_heap heap;
  for (int i = 0; i < 160; i++)
    heap.word[i] = R;
  BOTH(int64_t, many, R, heap, R);
}

#if defined(__x86_64__)
__attribute__((target("avx"))) static __m256d wide_4(uint64_t *s)
{
  return _mm256_set_pd(D, D, D, D);
}
__attribute__((target("avx"))) static void vectors_avx(uint64_t *s)
{
  __m256d v[11];
  for (int i = 0; i < 11; i++)
    v[i] = wide_4(s);
  BOTH(__m256d, avx, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], (int)R, v[8], D, v[9]);
}
__attribute__((target("avx512f"))) static void vectors_avx512(uint64_t *s)
{
  __m512d v[11];
  for (int i = 0; i < 11; i++)
    v[i] = _mm512_set_pd(D, D, D, D, D, D, D, D);
  BOTH(__m512d, avx512, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], (int)R, v[8], D, v[9]);
}
static void vectors(uint64_t *s)
{
  __m128d a = _mm_set_pd(D, D), b = _mm_set_pd(D, D);
  __m128i words = _mm_castpd_si128(b);
  BOTH(__m128d, sse, a, words, b, (int)R, a);
  if (__builtin_cpu_supports("avx"))
    vectors_avx(s);
  if (__builtin_cpu_supports("avx512f"))
    vectors_avx512(s);
  uint64_t chain, wanted = (uint64_t)R;
  __asm__ volatile("mov %1, %%r10\n\tcall zoo_chain@PLT"
                   : "=a"(chain)
                   : "r"(wanted)
                   : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
  same("chain", &chain, &wanted, sizeof chain);
}
#else
static void vectors(uint64_t *s)
{
}
#endif

static int (*volatile const table[])(int) = {zoo_error}; // a pointer in data, bound without any call

static void states(uint64_t *s)
{
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  fesetround(modes[next_random(s) % 4]);
  BOTH(uint64_t, modes, );
  fesetround(FE_TONEAREST);
  errno = 17;
  int earlier = table[0](23), expected = 17;
  same("errno before", &earlier, &expected, sizeof earlier);
  expected = 23;
  int after = errno;
  if (after != expected)
    atomic_fetch_add(&differences, 1);
  BOTH(int64_t, deep, 100, R, D);
}

static void *work(void *data)
{
  uint64_t state = (uintptr_t)data * 2654435761u + 88172645463325252u;
  for (int i = 0; i < 100; i++) {
    scalars(&state);
    structs(&state);
    vectors(&state);
    states(&state);
  }
  return NULL;
}

static void in_threads(uintptr_t count)
{
  pthread_t thread[256];
  for (uintptr_t i = 0; i < count && i < 256; i++)
    if (pthread_create(&thread[i], NULL, work, (void *)(i + 1)) != 0)
      exit(9);
  for (uintptr_t i = 0; i < count && i < 256; i++)
    pthread_join(thread[i], NULL);
}

void zoo_odd(const char *mode, unsigned count); // zoo_odd.c

__attribute__((constructor)) static void before_main(void)
{
  uint64_t state = 1, *s = &state;
  BOTH(int64_t, deep, 1, R, D);
}

static void at_exit(void)
{
  uint64_t state = 2, *s = &state;
  BOTH(int64_t, deep, 2, R, D);
}

int main(int argc, char **argv)
{
  const char *mode = argc > 1 ? argv[1] : "values";
  unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  atexit(at_exit);
  if (strcmp(mode, "values") == 0)
    work((void *)(uintptr_t)count);
  else if (strcmp(mode, "threads") == 0)
    in_threads(count);
  else
    zoo_odd(mode, count);
  printf("%s: %u calls, %u differ\n", mode, atomic_load(&calls), atomic_load(&differences));
  return atomic_load(&differences) != 0;
}
