// SPDX-License-Identifier: Apache-2.0
// What differs between two signatures of tf.function: also of those that are cut off, and without the program's texts.
#include "frameworks/tensorflow/signature.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static char reason[SIGNATURE_SIZE];

static bool explain(const char *before, const char *now)
{
  // Allocated: a sanitizer sees reads past their ends.
  struct tensorflow_signature *signatures[2] = {calloc(1, sizeof **signatures), calloc(1, sizeof **signatures)};
  assert_non_null(signatures[0]);
  assert_non_null(signatures[1]);
  tensorflow_signature_take(signatures[0], before);
  tensorflow_signature_take(signatures[1], now);
  bool ret = tensorflow_signature_explain(signatures[0], signatures[1], reason, sizeof reason);
  free(signatures[0]);
  free(signatures[1]);
  return ret;
}

static void check(const char *before, const char *now, const char *expected)
{
  assert_true(explain(before, now));
  assert_string_equal(reason, expected);
}

static void test_first_parameter_that_differs(void **unused)
{
  (void)unused;
  check("(x: TensorSpec(shape=(2, 3), dtype=tf.float32), rate: Literal[0.5])",
        "(x: TensorSpec(shape=(2, 4), dtype=tf.float32), rate: Literal[0.25])",
        "argument x mismatch. expected TensorSpec(shape=(2, 3), dtype=tf.float32), actual TensorSpec(shape=(2, 4), "
        "dtype=tf.float32)");
  check("(x: List[a], rate: Literal[0.5])", "(x: List[a], rate: Literal[-1e-05])",
        "argument rate == 0.5, now -1e-05: a value of Python's");
  check("(training: Literal[None])", "(training: Literal[True])",
        "argument training == None, now True: a value of Python's");
  check("(x: a)", "(x: a, y: b)", "other shapes or types");
  check("()", "(x: a)", "other shapes or types");
  assert_false(explain("(x: a, y: b)", "(x: a, y: b)"));
  assert_false(explain("()", "()"));
}

static void test_texts_and_objects_of_the_program_are_not_shown(void **unused)
{
  (void)unused;
  check("(s: Literal['secret-password'])", "(s: Literal['other'])", "argument s: another text");
  check("(s: Literal['a, b)]'], n: Literal[1])", "(s: Literal['a, b)]'], n: Literal[2])",
        "argument n == 1, now 2: a value of Python's");
  check("(s: Literal[\"it's\\\"\"], n: Literal[1])", "(s: Literal['x'], n: Literal[1])", "argument s: another text");
  check("(s: Literal[1])", "(s: Literal['secret'])", "argument s: another value of Python's");
  check("(s: Literal[<Key secret>])", "(s: Literal[<Key other>])", "argument s: another value of Python's");
  check("(s: Tuple[Literal['secret'], Literal[1]])", "(s: Tuple[Literal['other'], Literal[1]])",
        "argument s: another value of Python's");
  check("(s: Dict[['secret', Literal[b'key']], [2, Literal[1]]])", "(s: TensorSpec(shape=(), name='secret'))",
        "argument s mismatch. expected Dict[[..., Literal[...]], [2, Literal[1]]], actual TensorSpec(shape=(), "
        "name=...)");
}

// Each length of the first parameter up to the cut, and past it, with each character of what follows at the end.
static void test_what_is_cut_off(void **unused)
{
  (void)unused;
  static const char *const ends[][2] = {{", b: Literal[1])", ", b: Literal[2])"},
                                        {", b: Literal['x'])", ", b: Literal['y'])"},
                                        {", b: T[1])", ", b: T[2])"}};
  for (size_t length = SIGNATURE_SIZE - 24; length < SIGNATURE_SIZE + 8; length++)
    for (size_t end = 0; end < sizeof ends / sizeof ends[0]; end++) {
      char texts[2][2 * SIGNATURE_SIZE] = {"(a: ", "(a: "};
      for (size_t i = 0; i < 2; i++) {
        memset(texts[i] + 4, 'x', length - 4);
        strcpy(texts[i] + length, ends[end][i]);
      }
      assert_true(explain(texts[0], texts[1]));
      if (length >= SIGNATURE_SIZE - 2)
        assert_string_equal(reason, "other shapes or types");
      assert_false(explain(texts[0], texts[0]));
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_parameter_that_differs),
      cmocka_unit_test(test_texts_and_objects_of_the_program_are_not_shown),
      cmocka_unit_test(test_what_is_cut_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
