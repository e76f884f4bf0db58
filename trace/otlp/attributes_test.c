// SPDX-License-Identifier: Apache-2.0
// Every tag's key survives the way to an attribute and back.
#include "otlp/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_role(const char *key, enum otlp_role role, const char *tag)
{
  struct slice found;
  assert_int_equal(otlp_span_role(slice_of(key), &found), role);
  if (tag != NULL)
    assert_true(slice_is(found, tag));
}

static void attributes_have_their_roles(void **state)
{
  (void)state;
  assert_role("xsp.level", OTLP_IS_LEVEL, NULL);
  assert_role("xsp.trace", OTLP_IS_TRACE, NULL);
  assert_role("xsp.layer_index", OTLP_IS_TAG, "layer_index");
  assert_role("xsp.warmup", OTLP_IS_TAG, "warmup");
  assert_role("xsp.unknown", OTLP_IS_TAG, "xsp.unknown");
  assert_role("xsp.tag.xsp.level", OTLP_IS_TAG, "xsp.level");
  assert_role("xsp.", OTLP_IS_TAG, "xsp.");
  assert_role("http.method", OTLP_IS_TAG, "http.method");
  assert_role("level", OTLP_IS_TAG, "level");
  assert_role("", OTLP_IS_TAG, "");
  for (unsigned role = OTLP_IS_TAG + 1; role < OTLP_ROLE_COUNT; role++)
    assert_role(otlp_role_attribute((enum otlp_role)role), (enum otlp_role)role, NULL);
}

static void tags_survive(void **state)
{
  (void)state;
  static const char *const keys[] = {"flops",         "warmup",  "own_ns",      "xsp.level",         "xsp.flops",
                                     "xsp.tag.a",     "xsp.foo", "http.method", "xsp.tag.xsp.level", "x",
                                     "xsp.track_name"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    char attribute[64];
    snprintf(attribute, sizeof attribute, "%s%s", otlp_tag_prefix(slice_of(keys[i])), keys[i]);
    assert_role(attribute, OTLP_IS_TAG, keys[i]);
  }
  assert_string_equal(otlp_tag_prefix(slice_of("flops")), "xsp.");
  assert_string_equal(otlp_tag_prefix(slice_of("flops_half")), "xsp.");
  assert_string_equal(otlp_tag_prefix(slice_of("own_ns")), "");
  assert_string_equal(otlp_tag_prefix(slice_of("xsp.level")), "xsp.tag.");
}

static void metrics_are_known(void **state)
{
  (void)state;
  assert_true(otlp_is_metric(slice_of("flops")));
  assert_true(otlp_is_metric(slice_of("flops_half")));
  assert_true(otlp_is_metric(slice_of("achieved_occupancy_pct")));
  assert_false(otlp_is_metric(slice_of("grid")));
  assert_false(otlp_is_metric(slice_of("flopsy")));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attributes_have_their_roles),
      cmocka_unit_test(tags_survive),
      cmocka_unit_test(metrics_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
