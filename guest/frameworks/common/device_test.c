// SPDX-License-Identifier: Apache-2.0
// Texts of --device.
#include "frameworks/common/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void texts_are_read(void **unused)
{
  (void)unused;
  static const struct {
    const char *text;
    enum device_kind kind;
    int index;
  } cases[] = {{NULL, DEVICE_DEFAULT, -1},        {"cpu", DEVICE_CPU, -1},      {"CPU", DEVICE_CPU, -1},
               {"gpu", DEVICE_GPU, -1},           {"gpu:0", DEVICE_GPU, 0},     {"GPU:12", DEVICE_GPU, 12},
               {"GPU.1", DEVICE_NAMED, -1},       {"cuda:1", DEVICE_NAMED, -1}, {"cpux", DEVICE_NAMED, -1},
               {"AUTO:GPU,CPU", DEVICE_NAMED, -1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct framework_device device;
    assert_true(framework_device_parse(cases[i].text, &device));
    assert_int_equal(device.kind, cases[i].kind);
    assert_int_equal(device.index, cases[i].index);
  }
}

static void numbers_that_are_none_are_refused(void **unused)
{
  (void)unused;
  static const char *const texts[] = {"", "gpu:", "gpu:x", "gpu:-1", "gpu:1x", "gpu:99999"};
  struct framework_device device;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_false(framework_device_parse(texts[i], &device));
}

static void an_absent_device_lists_those_that_are_there(void **unused)
{
  (void)unused;
  struct arena arena = {0};
  struct framework_device device;
  struct error error = {0};
  assert_true(framework_device_parse("gpu:1", &device));
  const char *present = framework_device_list(&arena, framework_device_list(&arena, "", "CPU"), "GPU.0");
  assert_int_equal(framework_device_missing(&device, "openvino", present, &error), STATUS_USE);
  assert_non_null(strstr(error.why, "'gpu:1'"));
  assert_non_null(strstr(error.why, "CPU, GPU.0"));
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_read),
      cmocka_unit_test(numbers_that_are_none_are_refused),
      cmocka_unit_test(an_absent_device_lists_those_that_are_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
