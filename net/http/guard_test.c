// SPDX-License-Identifier: Apache-2.0
#include "http/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_tokens(void **state)
{
  (void)state;
  assert_true(guard_is_token("Bearer s3cret", "s3cret"));
  assert_true(guard_is_token("bearer s3cret", "s3cret"));
  assert_false(guard_is_token(NULL, "s3cret"));
  assert_false(guard_is_token("", "s3cret"));
  assert_false(guard_is_token("Bearer ", "s3cret"));
  assert_false(guard_is_token("Bearer s3cre", "s3cret"));
  assert_false(guard_is_token("Bearer s3crets3cret", "s3cret")); // the token, repeated
  assert_false(guard_is_token("Bearer S3cret", "s3cret"));
  assert_false(guard_is_token("Basic s3cret", "s3cret"));
  assert_true(guard_is_token("Basic dXNlcjpzM2NyZXQ=", "s3cret")); // user:s3cret
  assert_true(guard_is_token("basic OnMzY3JldA==", "s3cret"));     // :s3cret
  assert_true(guard_is_token("Basic dTphOmI=", "a:b"));            // u:a:b
  assert_false(guard_is_token("Basic czNjcmV0", "s3cret"));        // s3cret
  assert_false(guard_is_token("Basic czNjcmV0Og==", "s3cret"));    // s3cret:
  assert_false(guard_is_token("Basic dXNlcjpzM2NyZXQ", "s3cret")); // without its padding
  assert_false(guard_is_token("Basic ", "s3cret"));
}

static void test_hosts(void **state)
{
  static const char *const local[] = {"localhost",      "localhost:4318", "LOCALHOST:1", "127.0.0.1",
                                      "127.9.8.7:4318", "[::1]",          "[::1]:4318"};
  static const char *const foreign[] = {"",
                                        "evil.example",
                                        "localhost.evil.example",
                                        "127.0.0.1.evil.example",
                                        "10.0.0.1",
                                        "[::2]:4318",
                                        "[::1",
                                        "localhost:4318.evil.example",
                                        "127.0.0.1x",
                                        "localhost:a",
                                        "0x7f000001"};
  (void)state;
  for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
    assert_true(guard_is_local_host(local[i]));
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
    assert_false(guard_is_local_host(foreign[i]));
  assert_false(guard_is_local_host(NULL));
}

static void test_origins(void **state)
{
  (void)state;
  assert_true(guard_is_own_origin(NULL, "localhost:4318"));
  assert_true(guard_is_own_origin("http://localhost:4318", "localhost:4318"));
  assert_false(guard_is_own_origin("http://localhost:3000", "localhost:4318"));
  assert_false(guard_is_own_origin("https://evil.example", "localhost:4318"));
  assert_false(guard_is_own_origin("null", "localhost:4318"));
  assert_false(guard_is_own_origin("http://localhost:4318", NULL));
}

static void test_fetches(void **state)
{
  (void)state;
  assert_true(guard_is_own_fetch(NULL));
  assert_true(guard_is_own_fetch("same-origin"));
  assert_true(guard_is_own_fetch("none"));
  assert_false(guard_is_own_fetch("same-site"));
  assert_false(guard_is_own_fetch("cross-site"));
  assert_false(guard_is_own_fetch(""));
}

static void test_users(void **state)
{
  static const struct {
    const char *text, *problem;
    unsigned line;
  } bad[] = {{"ann", "no token", 1},
             {"ann t1\n\nbob\n", "no token", 3},
             {"a/b t1", "a name has", 1},
             {"ann\x80 t1", "a name has", 1},
             {"ann t1 t2", "white space", 1},
             {"ann t\xc3\xa4", "white space", 1},
             {"ann t1\nann t2", "earlier line", 2},
             {"ann t1\nbob t1", "earlier line", 2},
             {"ann owners", "the owner's", 1}};
  struct arena arena = {0};
  struct guard_user *users;
  unsigned line;
  (void)state;
  assert_null(guard_read_users(slice_of("\n ann\tt1 \r\n\nbob  t:2"), "owners", &arena, &users, &line));
  assert_string_equal(users[0].name, "ann");
  assert_string_equal(users[0].token, "t1");
  assert_string_equal(users[1].name, "bob");
  assert_string_equal(users[1].token, "t:2");
  assert_null(users[2].name);
  assert_null(guard_read_users(slice_of(""), "owners", &arena, &users, &line));
  assert_null(users[0].name);
  assert_false(guard_is_name((struct slice){"an\0n", 4}));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const char *problem = guard_read_users(slice_of(bad[i].text), "owners", &arena, &users, &line);
    assert_non_null(problem);
    assert_non_null(strstr(problem, bad[i].problem));
    assert_int_equal(line, bad[i].line);
  }
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tokens),  cmocka_unit_test(test_users),   cmocka_unit_test(test_hosts),
      cmocka_unit_test(test_origins), cmocka_unit_test(test_fetches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
