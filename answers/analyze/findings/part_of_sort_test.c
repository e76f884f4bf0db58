// SPDX-License-Identifier: Apache-2.0
// Sorts of which a source uses a part, and those whose order it needs.
#include "analyze/findings/part_of_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

// The body of a function, whose first line sorts.
static bool takes_part(const char *body)
{
  char source[1024];
  int length = snprintf(source, sizeof source,
                        "order = v = 1\n\nclass A:\n  def f(\n      x, k\n  ):\n    y = x * 2\n%s\n  def g(order, v):\n"
                        "    return order + v\n",
                        body);
  return findings_takes_part((struct slice){source, (size_t)length}, 8);
}

static void test_parts(void **unused)
{
  (void)unused;
  static const char *const bodies[] = {
      "    order = torch.argsort(x)  # all\n    return x[order[:k]]\n",
      "    order = x.argsort(dim=-1, descending=True)\n\n    # order\n    return order[..., :self.k]\n",
      "    order = torch.argsort(x)\n    order = order[:, :10]\n    return x[order], order\n",
      "    v, order = torch.sort(x, dim=-1)\n    a = v[:, :k]\n    b = order[:, :k]\n",
      "    v, _ = x.sort()\n    return x >= v[:, k - 1, None]\n",
      "    v = torch.sort(x)\n    return v.values[-1]\n",
      "    v = torch.sort(x)\n    return v[1][:k]\n",
      "    order = torch.argsort(\n        x)\n    return order[:k]\n",
      "    order = x.argsort()[-k:]\n",
      "    return x.sort(descending=True)[0][:, :k]\n",
      "    v = torch.sort(x).values[:, 0]\n",
      "    v, order = torch.sort(x)\n    return order[:5], self.order, reorder(x)\n"};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
    assert_true(takes_part(bodies[i]));
}

static void test_all(void **unused)
{
  (void)unused;
  static const char *const bodies[] = {
      "    order = torch.argsort(x)\n    r = rel[order[:1000]].sum()\n    ranked = rel[order]\n",
      "    order = torch.argsort(x)\n    a = order[:half]\n    b = order[half:]\n",
      "    order = torch.argsort(x)\n    a = order[:n // 2]\n",
      "    order = torch.argsort(x)\n    for i in range(0, n, bs):\n      b = x[order[i:i + bs]]\n",
      "    order = torch.argsort(x)\n    for i in range(n):\n      b = x[order[i]]\n",
      "    order = torch.argsort(x)\n    while n:\n      i = order[0]\n      order = order[1:]\n",
      "    order = torch.argsort(x)\n    a = order[:k]\n    b = order[:m]\n",
      "    order = torch.argsort(x)\n    a = order[mask]\n",
      "    order = torch.argsort(x)\n    a = order[:, :]\n    b = order[:50000]\n",
      "    order = torch.argsort(x)\n",
      "    self.order = torch.argsort(x)\n    a = self.order[:k]\n",
      "    order = torch.argsort(x).flip(0)\n    a = order[:k]\n",
      "    a = x[torch.argsort(x)]\n",
      "    v = torch.sort(\n      x)\n    a = v[0]\n",
      "    v = torch.sort(x)\n    a = v[0]\n",
      "    v, order = torch.sort(x)\n    a = v[:k]\n    return order\n",
      "    order = x\n"};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
    assert_false(takes_part(bodies[i]));
}

static void test_damaged_sources(void **unused)
{
  (void)unused;
  static const char *const sources[] = {"",      "order = argsort(", "v = sort(x)\nv[", "v = sort(x)\nv[0",
                                        "sort(", "def f(",           "v = sort(x)\nv[]"};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
    assert_false(findings_takes_part(slice_of(sources[i]), 1));
  assert_false(findings_takes_part(slice_of("v = sort(x)\nv[0]"), 9));
  assert_true(findings_takes_part(slice_of("v = argsort(x)\nv[0]"), 1));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_all),
      cmocka_unit_test(test_damaged_sources),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
