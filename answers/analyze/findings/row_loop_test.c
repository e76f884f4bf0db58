// SPDX-License-Identifier: Apache-2.0
// Loops of Python whose iterations need each other, and those that do not.
#include "analyze/findings/row_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

// The body of `for x in rows:` in a function, from line 4 on; `line` is of the file.
static bool is_free(const char *body, int64_t line)
{
  char source[1024];
  int length =
      snprintf(source, sizeof source, "import torch\n\ndef f(rows, h):\n    for x in rows:\n%s    return h\n", body);
  int64_t first;
  bool is = findings_loop_is_independent((struct slice){source, (size_t)length}, line, &first);
  assert_int_equal(first, 4);
  return is;
}

static void test_loops_over_rows(void **unused)
{
  (void)unused;
  static const char *const bodies[] = {
      "        out.append(x @ w)\n",
      "        out[i] = torch.matmul(x, w.t())\n",
      "        x = x.unsqueeze(0)\n        out.append(model(x))\n",
      "        total += loss(model(x), y[i])\n",
      "        scores = q[i] @ k[i].t()\n        scores = scores * scale\n        out.append(f(scores) @ v[i])\n",
      "        a, b = x.chunk(2)\n\n        # both\n        out.append(a @ b)  # one\n",
      "        out.append(\n            model(x,\n                  mask=m[i]))\n",
      "        out[i, :n] = f(\"= [ := ;\", x)\n"};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
    assert_true(is_free(bodies[i], 5));
  assert_true(is_free(bodies[4], 7));
  assert_true(is_free(bodies[6], 6)); // within a statement
}

static void test_loops_that_hand_on(void **unused)
{
  (void)unused;
  static const char *const bodies[] = {"        h = torch.tanh(x @ w + h @ u)\n",
                                       "        h = x @ w + h @ u\n        out.append(h)\n",
                                       "        new = f(x, state)\n        state = new\n        out.append(new)\n",
                                       "        out.append(f(x, out[-1]))\n",
                                       "        out[i] = f(out[i - 1])\n",
                                       "        h = layer(h)\n",
                                       "        y = model(x)\n",
                                       "        h *= x @ w\n",
                                       "        y = x @ w\n        h.update(y)\n",
                                       "        if x.any():\n            out.append(x @ w)\n",
                                       "        self.h = f(x, self.h)\n",
                                       "        outs.append(h := cell(x, h))\n",
                                       "        acc += h.sum(); h = h @ w\n",
                                       "        acc += h = h @ w\n",
                                       "        out.append(x @ w); h = x\n",
                                       "        a = b = f(x)\n"};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
    assert_false(is_free(bodies[i], 5));
}

static void test_other_blocks(void **unused)
{
  (void)unused;
  int64_t first;
  static const char in_while[] = "while x:\n  out.append(x @ w)\n",
                    after[] = "for x in y:\n  out.append(x)\nz = x @ w\n",
                    with[] = "for x in y:\n  with lock:\n    out.append(x @ w)\n";
  assert_false(findings_loop_is_independent(slice_of(in_while), 2, &first));
  assert_false(findings_loop_is_independent(slice_of(after), 3, &first));
  assert_false(findings_loop_is_independent(slice_of(with), 3, &first));
  assert_false(findings_loop_is_independent(slice_of(after), 9, &first));
  assert_true(findings_loop_is_independent(slice_of(after), 2, &first));
}

static void test_comprehensions(void **unused)
{
  (void)unused;
  static const char source[] = "a = [x @ w for x in y]\nb = [h := cell(x, h)\n     for x in y]\n";
  assert_true(findings_comprehension_is_independent(slice_of(source), 1));
  assert_false(findings_comprehension_is_independent(slice_of(source), 2));
  assert_false(findings_comprehension_is_independent(slice_of(source), 3));
  assert_false(findings_comprehension_is_independent(slice_of(source), 9));
}

static void test_damaged_sources(void **unused)
{
  (void)unused;
  int64_t first;
  static const char *const sources[] = {
      "",  "for x in y:\n  out.append((x @ w\n", "for x in y:\n  out.append('x\\", "\"\"\"",
      "#", "for x in y:\n  out.append(\"\"\"x\n"};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
    assert_false(findings_loop_is_independent(slice_of(sources[i]), 2, &first));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_loops_over_rows), cmocka_unit_test(test_loops_that_hand_on),
      cmocka_unit_test(test_other_blocks),    cmocka_unit_test(test_comprehensions),
      cmocka_unit_test(test_damaged_sources),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
