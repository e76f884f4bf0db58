// SPDX-License-Identifier: Apache-2.0
// The answers of predictor programs: what is read of right ones, and the message and the field that each wrong one is
// refused by.
#include "frameworks/program/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EXPECT_CONTAINS(text, part)                                                                                    \
  do {                                                                                                                 \
    if (strstr((text), (part)) == NULL)                                                                                \
      fail_msg("\"%s\" has no \"%s\"", (text), (part));                                                                \
  } while (0)
#define HEAD "\"version\":1,\"framework\":\"testing\",\"framework_version\":\"7.5\",\"clock\":\"realtime\""
#define LAYER "{\"name\":\"a\",\"type\":\"A\",\"thread\":5,\"start\":2000,\"end\":3000}"
#define TIMES "\"start\":2000,\"end\":9000"

static struct arena arena;
static struct error err;
static const struct program_question measured = {.wants_layers = true, .sent_ns = 1000, .received_ns = 10000};
static const struct program_question at_model_level = {.sent_ns = 1000, .received_ns = 10000};

static enum status open_answer(const char *line)
{
  struct program_facts facts;
  err = (struct error){0};
  return program_read_open(line, strlen(line), "p.py", &arena, &facts, &err);
}

static enum status prediction(const char *line, const struct program_question *question)
{
  struct program_prediction read;
  err = (struct error){0};
  return program_read_prediction(line, strlen(line), "p.py", question, &arena, &read, &err);
}

static void test_open(void **state)
{
  static const char line[] = "{" HEAD ",\"untold\":[\"thread\",\"start\"],\"note\":\"bfloat16\",\"inputs\":["
                             "{\"name\":\"x\",\"type\":\"float16\",\"shape\":[\"N\",3,-1]},"
                             "{\"name\":\"y\",\"type\":\"int64\",\"shape\":[]}]}\n";
  struct program_facts facts;
  assert_int_equal(program_read_open(line, strlen(line), "p.py", &arena, &facts, &err), STATUS_OK);
  assert_int_equal(facts.version, 1);
  assert_string_equal(facts.framework, "testing");
  assert_string_equal(facts.framework_version, "7.5");
  assert_string_equal(facts.note, "bfloat16");
  assert_int_equal(facts.clock, XSP_CLOCK_REALTIME);
  assert_int_equal(facts.untold, PROGRAM_NO_START | PROGRAM_NO_THREAD);
  assert_string_equal(program_untold_text(facts.untold, &arena), "start,thread");
  assert_null(program_untold_text(0, &arena));
  assert_int_equal(facts.input_count, 2);
  const struct tensor_info *x = &facts.inputs[0];
  assert_string_equal(x->name, "x");
  assert_int_equal(x->type, TENSOR_FLOAT16);
  assert_int_equal(x->rank, 3);
  assert_string_equal(x->dimension_name[0], "N");
  assert_int_equal(x->shape[0], -1);
  assert_int_equal(x->shape[1], 3);
  assert_null(x->dimension_name[1]);
  assert_int_equal(x->shape[2], -1);
  assert_null(x->dimension_name[2]);
  assert_int_equal(facts.inputs[1].rank, 0);
  assert_int_equal(facts.inputs[1].type, TENSOR_INT64);
}

static void test_prediction(void **state)
{
  static const char line[] =
      "{" TIMES ",\"preprocess\":{\"start\":1500,\"end\":2000},\"layers\":["
      "{\"name\":\"block\",\"type\":\"Block\",\"thread\":5,\"start\":2000,\"end\":8000,\"index\":7},"
      "{\"name\":\"conv\",\"type\":\"Conv\",\"thread\":5,\"start\":2100,\"end\":7000,\"parent\":0,"
      "\"shape\":[1,64,7],\"alloc_bytes\":256,\"tags\":{\"stride\":-2,\"how\":\"direct\"}}]}\n";
  struct program_prediction read;
  assert_int_equal(program_read_prediction(line, strlen(line), "p.py", &measured, &arena, &read, &err), STATUS_OK);
  assert_int_equal(read.model.start_ns, 2000);
  assert_int_equal(read.model.end_ns, 9000);
  assert_int_equal(read.preprocess.start_ns, 1500);
  assert_int_equal(read.postprocess.end_ns, 0);
  assert_int_equal(read.layer_count, 2);
  const struct layer_report *block = &read.layers[0], *conv = &read.layers[1];
  assert_int_equal(block->index, 7);
  assert_true(block->parent == LAYER_PARENT_MODEL);
  assert_int_equal(block->alloc_bytes, -1);
  assert_null(block->shape);
  assert_int_equal(block->duration_ns, 6000);
  assert_int_equal(conv->parent, 0);
  assert_int_equal(conv->index, -1);
  assert_int_equal(conv->start_ns, 2100);
  assert_int_equal(conv->duration_ns, 4900);
  assert_int_equal(conv->alloc_bytes, 256);
  assert_string_equal(conv->shape, "[1,64,7]");
  assert_int_equal(conv->tags->count, 3);
  assert_string_equal(conv->tags->items[0].key, "stride");
  assert_int_equal(conv->tags->items[0].number, -2);
  assert_string_equal(conv->tags->items[1].text, "direct");
  assert_string_equal(conv->tags->items[2].key, "thread");
  assert_int_equal(conv->tags->items[2].number, 5);
}

static void test_durations_only(void **state)
{
  const struct program_question question = {.wants_layers = true,
                                            .untold = PROGRAM_NO_START | PROGRAM_NO_NAME | PROGRAM_NO_THREAD,
                                            .sent_ns = 1000,
                                            .received_ns = 10000};
  static const char line[] = "{" TIMES ",\"layers\":[{\"type\":\"Conv\",\"duration\":500}]}";
  struct program_prediction read;
  assert_int_equal(program_read_prediction(line, strlen(line), "p.py", &question, &arena, &read, &err), STATUS_OK);
  assert_null(read.layers[0].name);
  assert_int_equal(read.layers[0].duration_ns, 500);
  assert_int_equal(read.layers[0].tags->count, 0);
  assert_int_equal(prediction("{" TIMES ",\"layers\":[{\"type\":\"C\",\"duration\":7001}]}", &question), STATUS_INPUT);
  EXPECT_CONTAINS(err.why, "predict: \"layers[0]\" is longer than the prediction");
}

static void test_refusal(void **state)
{
  assert_int_equal(open_answer("{\"error\":\"no weights\"}\n"), STATUS_INPUT);
  assert_string_equal(err.what, "the predictor program cannot open");
  assert_string_equal(err.why, "no weights");
  assert_int_equal(open_answer("{\"error\":\"no weights\",\"version\":1}\n"), STATUS_INPUT);
  EXPECT_CONTAINS(err.why, "open: \"version\" is no field");
  assert_int_equal(program_read_done("{}\n", 3, "prepare", "p.py", &err), STATUS_OK);
}

static void test_wrong_answers_to_open(void **state)
{
  static const struct {
    const char *line, *why;
  } cases[] = {
      {"", "open: is no JSON"},
      {"null", "open: is no object"},
      {"{\"note\":\"\xc3\"}", "open: is no UTF-8: byte 9"},
      {"{" HEAD ",\"inputs\":[]} {}", "open: is no JSON"},
      {"{" HEAD "}", "open: \"inputs\" is missing"},
      {"{" HEAD ",\"inputs\":{}}", "open: \"inputs\" is no array"},
      {"{" HEAD ",\"inputs\":[7]}", "open: \"inputs[0]\" is no object"},
      {"{" HEAD ",\"inputs\":[{}]}", "open: \"inputs[0].name\" is missing"},
      {"{" HEAD ",\"inputs\":[],\"clock\":\"realtime\"}", "open: \"clock\" is told twice"},
      {"{" HEAD ",\"inputs\":[],\"note\":\"\"}", "open: \"note\" is empty"},
      {"{" HEAD ",\"inputs\":[],\"a\\u0000b\":1}", "open: \"a\" is no field"},
      {"{" HEAD ",\"inputs\":[{\"name\":\"x\",\"type\":\"bool\",\"shape\":[1,true]}]}", "\"inputs[0].shape[1]\" is no"},
      {"{" HEAD ",\"inputs\":[{\"name\":\"x\",\"type\":\"bool\",\"shape\":[-2]}]}", "\"inputs[0].shape[0]\" is -2"},
      {"{" HEAD ",\"inputs\":[{\"name\":\"x\",\"type\":\"bool\",\"shape\":[\"\"]}]}",
       "\"inputs[0].shape[0]\" is empty"},
      {"{\"version\":0}", "open: \"version\" is 0, not 1 to 3"},
      {"{\"framework\":\"a-name-of-more-than-thirty-one-bytes\"}", "open: \"framework\" is longer than 31 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(open_answer(cases[i].line), STATUS_INPUT);
    EXPECT_CONTAINS(err.why, cases[i].why);
    assert_string_equal(err.where, "p.py");
  }
}

static void test_wrong_predictions(void **state)
{
  static const struct {
    const char *line, *why;
  } cases[] = {
      {"{" TIMES "}", "predict: \"layers\" is missing"},
      {"{" TIMES ",\"layers\":{}}", "predict: \"layers\" is no array"},
      {"{\"start\":999}", "predict: \"start\" is 1 ns before the request was sent"},
      {"{\"end\":10001}", "predict: \"end\" is 1 ns after its answer came"},
      {"{\"end\":1e4}", "predict: \"end\" is no whole number"},
      {"{\"end\":-1}", "predict: \"end\" is -1"},
      {"{\"start\":3000,\"end\":2999,\"layers\":[]}", "predict: \"end\" is before its \"start\""},
      {"{" TIMES ",\"preprocess\":{\"start\":1500}}", "predict: \"preprocess.end\" is missing"},
      {"{" TIMES ",\"preprocess\":{\"start\":1500,\"end\":1400}}", "predict: \"preprocess.end\" is before its"},
      {"{" TIMES ",\"layers\":[],\"preprocess\":{\"start\":1500,\"end\":2001}}",
       "predict: \"preprocess.end\" is after"},
      {"{" TIMES ",\"layers\":[],\"postprocess\":{\"start\":8999,\"end\":9000}}", "\"postprocess.start\" is before"},
      {"{" TIMES ",\"layers\":[{\"name\":\"a\"}]}", "predict: \"layers[0].start\" is missing, and"},
      {"{" TIMES ",\"layers\":[" LAYER ",{\"parent\":1}]}", "predict: \"layers[1].start\" is missing, and"},
      {"{" TIMES ",\"layers\":[{\"name\":\"a\",\"type\":\"A\",\"thread\":5,\"start\":2000,\"end\":3000,\"parent\":0}]}",
       "predict: \"layers[0].parent\" is 0, not the place of an earlier layer"},
      {"{" TIMES ",\"layers\":[{\"shape\":[1,-1]}]}", "predict: \"layers[0].shape[1]\" is -1"},
      {"{" TIMES ",\"layers\":[{\"tags\":[]}]}", "predict: \"layers[0].tags\" is no object"},
      {"{" TIMES ",\"layers\":[{\"tags\":{\"a\":1,\"a\":2}}]}", "predict: \"layers[0].tags.a\" is told twice"},
      {"{" TIMES ",\"layers\":[{\"tags\":{\"a\\u0000b\":1}}]}", "predict: \"layers[0].tags.a\" is no key"},
      {"{\"start\":2001,\"end\":9000,\"layers\":[" LAYER "]}", "predict: \"layers[0]\" lies outside of the prediction"},
      {"{\"layers\":[" LAYER "," LAYER "],\"start\":2000,\"end\":2999}",
       "\"layers[0]\" lies outside of the prediction"},
      {"{" TIMES ",\"layers\":[{\"tags\":{\"untold\":1}}]}", "predict: \"layers[0].tags.untold\" is no key"},
      {"{" TIMES ",\"layers\":[{\"tags\":{\"a\":null}}]}", "predict: \"layers[0].tags.a\" is no text"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(prediction(cases[i].line, &measured), STATUS_INPUT);
    EXPECT_CONTAINS(err.why, cases[i].why);
  }
  assert_int_equal(prediction("{" TIMES "}", &at_model_level), STATUS_OK);
  assert_int_equal(prediction("{" TIMES ",\"layers\":[]}", &at_model_level), STATUS_INPUT);
  EXPECT_CONTAINS(err.why, "predict: \"layers\" is told, though");
}

#define OUTPUT "{\"name\":\"y\",\"type\":\"float32\",\"shape\":[2,3],\"offset\":64}"
#define BETWEEN "{\"name\":\"c\",\"type\":\"int8\",\"shape\":[],\"offset\":0,\"layer_type\":\"Conv\"}"
static const struct program_question with_outputs = {.wants_outputs = true, .sent_ns = 1000, .received_ns = 10000};

static void test_outputs(void **state)
{
  static const char line[] = "{" TIMES ",\"outputs\":[" OUTPUT "," BETWEEN "]}";
  struct program_prediction read;
  assert_int_equal(program_read_prediction(line, strlen(line), "p.py", &with_outputs, &arena, &read, &err), STATUS_OK);
  assert_int_equal(read.output_count, 2);
  assert_string_equal(read.outputs[0].info.name, "y");
  assert_int_equal(read.outputs[0].info.type, TENSOR_FLOAT);
  assert_int_equal(read.outputs[0].info.shape[1], 3);
  assert_int_equal(read.outputs[0].size_bytes, 24);
  assert_int_equal(read.outputs[0].offset, 64);
  assert_null(read.outputs[0].layer_type);
  assert_string_equal(read.outputs[1].layer_type, "Conv");
  assert_int_equal(read.outputs[1].size_bytes, 1);
}

static void test_wrong_outputs(void **state)
{
  static const struct {
    const char *line, *why;
  } cases[] = {
      {"{" TIMES "}", "predict: \"outputs\" is missing"},
      {"{" TIMES ",\"outputs\":[{\"name\":\"y\"}]}", "predict: \"outputs[0].type\" is missing"},
      {"{" TIMES ",\"outputs\":[{\"type\":\"text\"}]}", "predict: \"outputs[0].type\" is no type"},
      {"{" TIMES ",\"outputs\":[{\"shape\":[-1]}]}", "predict: \"outputs[0].shape[0]\" is -1"},
      {"{" TIMES ",\"outputs\":[{\"shape\":[\"N\"]}]}", "predict: \"outputs[0].shape[0]\" is no"},
      {"{" TIMES ",\"outputs\":[{\"offset\":-1}]}", "predict: \"outputs[0].offset\" is -1"},
      {"{" TIMES ",\"outputs\":[{\"name\":\"y\",\"type\":\"float32\",\"shape\":[4294967296,4294967296],\"offset\":0}]}",
       "predict: \"outputs[0]\" has more than"},
      {"{" TIMES ",\"outputs\":[" BETWEEN "," OUTPUT "]}", "predict: \"outputs[1]\" is an output of the model after"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(prediction(cases[i].line, &with_outputs), STATUS_INPUT);
    EXPECT_CONTAINS(err.why, cases[i].why);
  }
  assert_int_equal(prediction("{" TIMES ",\"outputs\":[]}", &at_model_level), STATUS_INPUT);
  EXPECT_CONTAINS(err.why, "predict: \"outputs\" is told, though");
}

static void test_a_long_path_is_cut(void **state)
{
  char line[1200];
  snprintf(line, sizeof line, "{\"%0900d\":1}", 7);
  assert_int_equal(open_answer(line), STATUS_INPUT);
  EXPECT_CONTAINS(err.why, "000\" is no field");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open),
      cmocka_unit_test(test_prediction),
      cmocka_unit_test(test_durations_only),
      cmocka_unit_test(test_refusal),
      cmocka_unit_test(test_wrong_answers_to_open),
      cmocka_unit_test(test_wrong_predictions),
      cmocka_unit_test(test_outputs),
      cmocka_unit_test(test_wrong_outputs),
      cmocka_unit_test(test_a_long_path_is_cut),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  arena_done(&arena);
  return failed;
}
