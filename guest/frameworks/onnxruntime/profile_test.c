// SPDX-License-Identifier: Apache-2.0
// Profile files that are broken are refused with their place, and none is published by half. (What whole ones publish is
// compared with the listener in tests/frameworks/onnxruntime/test_onnxruntime.py.)
#include "frameworks/common/predictor.h"
#include "frameworks/onnxruntime/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char whole[] =
    "[\n{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :1,\"dur\" :7,\"ts\" :6,\"ph\" : \"X\",\"name\" "
    ":\"a_kernel_time\",\"args\" :"
    " {\"op_name\" : \"Conv\",\"node_index\" : \"0\",\"output_type_shape\" : [{\"float\":[1,64]}]}},\n"
    "{\"cat\" : \"Session\",\"dur\" :12,\"ts\" :5,\"name\" :\"model_run\",\"args\" : {}}\n]\n";

static enum status publish(const char *text, size_t length, struct error *err)
{
  struct inference model = {.model = {1, 1}};
  const struct inferences inferences = {.items = &model, .count = 1};
  char *exact = malloc(length + 1);
  memcpy(exact, text, length);
  enum status status = onnxruntime_profile_publish(exact, length, 1000, &inferences, "p.json", err);
  free(exact);
  return status;
}

static void a_whole_profile_is_read(void **state)
{
  assert_int_equal(publish(whole, sizeof whole - 1, NULL), STATUS_OK);
  assert_int_equal(publish("[]", 2, NULL), STATUS_OK);
}

static void every_cut_is_refused(void **state)
{
  for (size_t length = 0; length < sizeof whole - 2; length++) { // the last newline may be missing
    struct error err = {0};
    assert_int_equal(publish(whole, length, &err), STATUS_INPUT);
    assert_non_null(strstr(err.where, "p.json: byte "));
  }
}

static void events_that_make_no_sense_are_refused(void **state)
{
  static const char *const texts[] = {
      "{}",
      "[1]",
      "[{}]",
      "[{\"cat\":\"Node\",\"name\":\"a\",\"ts\":1}]",
      "[{\"cat\":\"Node\",\"name\":\"a\",\"ts\":-1,\"dur\":1}]",
      "[{\"cat\":\"Node\",\"name\":\"a\",\"ts\":1.5,\"dur\":1}]",
      "[{\"cat\":\"Node\",\"name\":\"a\",\"ts\":9223372036854775807,\"dur\":1}]",
      "[{\"cat\":1,\"name\":\"a\",\"ts\":1,\"dur\":1}]",
      "[{\"args\":[]}]",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct error err = {0};
    if (publish(texts[i], strlen(texts[i]), &err) != STATUS_INPUT || err.why[0] == 0)
      fail_msg("%s was taken", texts[i]);
  }
}

static void predictors_are_found_by_name_and_file(void **state)
{
  assert_ptr_equal(predictor_find("onnxruntime"), predictors[0]);
  assert_null(predictor_find("caffe"));
  assert_ptr_equal(predictor_for_file("a/b.onnx"), predictors[0]);
  assert_ptr_equal(predictor_for_file("b.ort"), predictors[0]);
  assert_ptr_equal(predictor_for_file("a/b.xml"), predictor_find("openvino"));
  assert_ptr_equal(predictor_for_file("x.script.txt"), predictor_find("script"));
  assert_null(predictor_for_file("x.txt"));
  assert_null(predictor_for_file(".onnx"));
}

int main(void)
{
  unsetenv("XSP_SESSION");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_profile_is_read),
      cmocka_unit_test(every_cut_is_refused),
      cmocka_unit_test(events_that_make_no_sense_are_refused),
      cmocka_unit_test(predictors_are_found_by_name_and_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
