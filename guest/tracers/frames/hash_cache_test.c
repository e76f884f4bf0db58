// SPDX-License-Identifier: Apache-2.0
// The cache never gives a path that was not stored under the hash, also while threads store and forget in one set.
#include "tracers/frames/hash_cache.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct hash128 hash_of(uint64_t number)
{
  return hash128_of(number, number >> 3);
}

static void test_finds_what_was_put(void **state)
{
  struct hash_cache cache;
  assert_true(hash_cache_map(&cache));
  for (uint32_t i = 1; i <= 20000; i++) { // of 131,072 places: two sets of four fill up rarely
    struct hash128 hash = hash_of(i);
    assert_int_equal(hash_cache_find(&cache, &hash), 0);
    hash_cache_put(&cache, &hash, i);
    assert_int_equal(hash_cache_find(&cache, &hash), i);
  }
  uint32_t forgotten = 0;
  for (uint32_t i = 1; i <= 20000; i++) {
    struct hash128 hash = hash_of(i);
    uint32_t path = hash_cache_find(&cache, &hash);
    assert_true(path == i || path == 0);
    forgotten += path == 0;
  }
  assert_true(forgotten < 200);
  munmap(cache.sets, HASH_CACHE_SETS * sizeof *cache.sets);
}

// Both words, their order, and the order of frames count.
static void test_hash_tells_apart(void **state)
{
  struct hash128 hash[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  hash128_add(&hash[0], 16, 32);
  hash128_add(&hash[0], 48, 64);
  hash128_add(&hash[1], 48, 64);
  hash128_add(&hash[1], 16, 32);
  hash128_add(&hash[2], 32, 16);
  hash128_add(&hash[2], 64, 48);
  hash128_add(&hash[3], 16, 32);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) {
      assert_true(hash[i].low != hash[j].low);
      assert_true(hash[i].high >> 32 != hash[j].high >> 32);
    }
}

// A small number and an address that differ in the same bits: a caller's path and a code object, say.
static void test_words_do_not_cancel(void **state)
{
  struct hash128 left = hash128_of(32, 1), right = hash128_of(0, 1);
  hash128_add(&left, 0x7f0000001000, 8);
  hash128_add(&right, 0x7f0000001020, 8);
  assert_true(left.low != right.low && left.high >> 32 != right.high >> 32);
}

static struct hash128 hash_in_one_place(uint64_t number) // in the same two sets
{
  uint64_t high = number << 40;
  return (struct hash128){number * (HASH_CACHE_SETS - HASH_CACHE_FIRST) ^ high, high};
}

static void test_full_sets_forget(void **state)
{
  struct hash_cache cache;
  assert_true(hash_cache_map(&cache));
  for (uint64_t i = 1; i <= 40; i++) {
    struct hash128 hash = hash_in_one_place(i);
    hash_cache_put(&cache, &hash, (uint32_t)i);
    assert_int_equal(hash_cache_find(&cache, &hash), i);
  }
  uint32_t found = 0;
  for (uint64_t i = 1; i <= 40; i++) {
    struct hash128 hash = hash_in_one_place(i);
    found += hash_cache_find(&cache, &hash) != 0;
  }
  assert_int_equal(found, 2 * HASH_CACHE_WAYS);
  munmap(cache.sets, HASH_CACHE_SETS * sizeof *cache.sets);
}

static struct hash_cache shared;
static uint32_t wrong; // atomic

static void *compete(void *argument)
{
  uint64_t random = (uintptr_t)argument;
  for (int i = 0; i < 200000; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint64_t number = (random >> 33) % 12 + 1;
    struct hash128 hash = hash_in_one_place(number); // twelve in two sets of four
    uint32_t path = hash_cache_find(&shared, &hash);
    if (path != 0 && path != number)
      __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    hash_cache_put(&shared, &hash, (uint32_t)number);
  }
  return NULL;
}

static void test_threads_find_only_what_was_put(void **state)
{
  pthread_t threads[4];
  assert_true(hash_cache_map(&shared));
  for (uintptr_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, compete, (void *)(i + 1)), 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(wrong, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_finds_what_was_put),
      cmocka_unit_test(test_hash_tells_apart),
      cmocka_unit_test(test_words_do_not_cancel),
      cmocka_unit_test(test_full_sets_forget),
      cmocka_unit_test(test_threads_find_only_what_was_put),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
