// SPDX-License-Identifier: Apache-2.0
#include "agent/constraint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct agent_framework frameworks[] = {{"onnxruntime", "1.31.1"}, {"tensorflow", "2.21.0"}, {"program", NULL}};
static struct agent_model models[] = {
    {.file = "a", .name = "net", .version = "1.9", .framework = "onnxruntime"},
    {.file = "b", .name = "net", .version = "1.10", .framework = "onnxruntime"},
    {.file = "c", .name = "net", .version = "3", .framework = "tensorflow"},
    {.file = "d", .name = "other", .version = "x", .framework = "onnxruntime"},
};
static const struct agent_record record = {.name = "gpu-7",
                                           .url = "http://h:1",
                                           .architecture = "x86_64",
                                           .cpu_model = "Intel(R) Xeon(R) Processor",
                                           .gpu_model = "NVIDIA H200, NVIDIA H200",
                                           .cpus = 16,
                                           .memory_bytes = (int64_t)8 << 30,
                                           .gpus = 2,
                                           .frameworks = frameworks,
                                           .framework_count = 3,
                                           .models = models,
                                           .model_count = 4};

// The text of the first constraint that is missed, "" for none, "?" for a text that is not of constraints.
static const char *missed(const char *text)
{
  static char found[100];
  struct arena arena = {0};
  struct constraints constraints;
  const char *why = NULL;
  enum status status = constraints_parse(text, &arena, &constraints, NULL);
  const struct constraint *one = status == STATUS_OK ? constraints_missed(&constraints, &record, &arena, &why) : NULL;
  assert_true((one != NULL) == (why != NULL) || one == NULL);
  snprintf(found, sizeof found, "%s", status != STATUS_OK ? "?" : one != NULL ? one->text : "");
  arena_done(&arena);
  return found;
}

static void test_satisfied(void **state)
{
  static const char *const texts[] = {"",
                                      "framework=onnxruntime",
                                      "framework=onnxruntime>=1.20",
                                      "framework=onnxruntime>=1.20,<2",
                                      "framework=onnxruntime==1.31.1,arch=x86_64",
                                      "framework=program",
                                      "framework=onnxruntime>=1.20,<2,framework=tensorflow",
                                      "name=gpu-7",
                                      "name!=gpu-8",
                                      " arch=x86_64 , cpus>=16",
                                      "cpu=xeon",
                                      "gpu=h200",
                                      "gpu!=h100",
                                      "gpus>=2,gpus<3,gpus!=1,gpus=2,gpus<=2,gpus>1",
                                      "memory>=8GiB,memory<=8G,memory=8589934592,memory>7.5GiB,memory>8GB,memory<1T",
                                      "memory!=8GB",
                                      "arch=x86_64,"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_string_equal(missed(texts[i]), "");
}

static void test_missed(void **state)
{
  static const char *const texts[] = {
      "framework=mxnet",
      "framework=onnxruntime>=2",
      "framework=onnxruntime>=1.20,<1.31",
      "framework=program>=1", // of unknown version
      "name=gpu",
      "arch!=x86_64",
      "cpu=epyc",
      "gpu!=nvidia",
      "interconnect=mlx5", // unknown
      "interconnect!=mlx5",
      "gpu_memory>=1", // unknown
      "gpu_memory<1",
      "cpus>16",
      "cpus<16",
      "memory>8GiB",
      "memory>=8.5GB,memory>=8.6GB",
  };
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_string_not_equal(missed(texts[i]), "");
  assert_string_equal(missed("arch=x86_64,framework=mxnet,gpus>=100"), "framework=mxnet");
  assert_string_equal(missed("framework=onnxruntime>=1.20,<1.31,arch=x86_64"), "framework=onnxruntime>=1.20,<1.31");
}

static void test_malformed(void **state)
{
  static const char *const texts[] = {"memory",
                                      "memory>=",
                                      "memory>=8Gi",
                                      "memory>=8 GiB",
                                      "memory>=GiB",
                                      "memory>=-1",
                                      "memory>=1e3",
                                      "memory>=9999999999999999999",
                                      "cpus>=1K",
                                      "gpus~=1",
                                      "size>=3",
                                      "=3",
                                      ",",
                                      ">=3",
                                      "arch>=x",
                                      "arch=",
                                      "name!",
                                      "name!x",
                                      "framework",
                                      "framework=",
                                      "framework>=1",
                                      "framework!=a",
                                      "framework=a>=x",
                                      "framework=a>=1,<",
                                      "memory>=nan",
                                      "gpus=0x10",
                                      "gpus=.",
                                      "memory=1KiBB"};
  char many[1000] = "";
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_string_equal(missed(texts[i]), "?");
  for (size_t i = 0; i < CONSTRAINTS_MOST; i++)
    strcat(many, "cpus>=1,");
  assert_string_equal(missed(many), "");
  strcat(many, "cpus>=1");
  assert_string_equal(missed(many), "?");
}

static const char *model_file(const char *constraints_text, const char *requirement)
{
  struct arena arena = {0};
  struct constraints constraints;
  assert_int_equal(constraints_parse(constraints_text, &arena, &constraints, NULL), STATUS_OK);
  const struct agent_model *model = constraints_model(&constraints, &record, requirement);
  arena_done(&arena);
  return model != NULL ? model->file : "";
}

static void test_models(void **state)
{
  (void)state;
  assert_string_equal(model_file("", "net"), "c"); // the newest
  assert_string_equal(model_file("framework=onnxruntime", "net"), "b");
  assert_string_equal(model_file("", "net<1.10"), "a");
  assert_string_equal(model_file("", "net == 1.9"), "a");
  assert_string_equal(model_file("", "net>=1.9,<2"), "b");
  assert_string_equal(model_file("", "net==2"), "");
  assert_string_equal(model_file("", "net=1"), "");
  assert_string_equal(model_file("", "ne"), "");
  assert_string_equal(model_file("", "other"), "d");
  assert_string_equal(model_file("", "other>=1"), ""); // its version is not a number
  assert_string_equal(model_file("framework=mxnet", "net"), "");
}

static void test_records(void **state)
{
  struct arena arena = {0};
  struct agent_record back;
  struct buf text = {0}, again = {0};
  struct json_writer json;
  (void)state;
  json_start(&json, &text);
  agent_record_write(&record, &json);
  assert_true(agent_record_read((struct slice){text.data, text.length}, &arena, &back));
  json_start(&json, &again);
  agent_record_write(&back, &json);
  assert_string_equal(text.data, again.data);
  assert_null(back.interconnect);
  assert_int_equal(back.gpu_memory_bytes, 0);
  for (size_t length = 0; length < text.length; length++) // no part of it is a record
    assert_false(agent_record_read((struct slice){text.data, length}, &arena, &back));
  static const char *const wrong[] = {"{}",
                                      "[]",
                                      "{\"name\":\"a\"}",
                                      "{\"name\":\"../a\",\"url\":\"http://h:1\"}",
                                      "{\"name\":\"a\",\"url\":\"ftp://h:1\"}",
                                      "{\"name\":\"a\",\"url\":\"http://h:1\",\"cpus\":-1}",
                                      "{\"name\":\"a\",\"url\":\"http://u@h\"}",
                                      "{\"name\":\"a\",\"url\":\"http://h/path\"}",
                                      "{\"name\":\"a\",\"url\":\"http://h\",\"models\":[{\"name\":\"n\"}]}",
                                      "{\"name\":\"a\",\"url\":\"http://h\",\"frameworks\":[1]}",
                                      "{\"name\":\"a\\n\",\"url\":\"http://h\"}"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_false(agent_record_read(slice_of(wrong[i]), &arena, &back));
  assert_true(agent_record_read(slice_of("{\"name\":\"a\",\"url\":\"http://h:1\",\"new\":{\"x\":[1]},\"cpus\":null}"),
                                &arena, &back));
  buf_done(&text);
  buf_done(&again);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_satisfied), cmocka_unit_test(test_missed),  cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_models),    cmocka_unit_test(test_records),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
