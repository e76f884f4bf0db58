// SPDX-License-Identifier: Apache-2.0
// F21 to F25 and F34 over programs with known answers: how a model is called, in which types, and what is compiled for it. Each names
// its fault with its line, and is silent about the same program without.
#include "analyze/findings/test_operators.h"

#include <stdio.h>
#include <string.h>

// ---- F21 and F22 -----------------------------------------------------------------------------------------------------
static void calls(const char *const *signatures, size_t count)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 16);
  for (size_t i = 0; i < count; i++) {
    int64_t at = step(MS);
    fixture_words(&fixture, fixture.span_id, "signature", signatures[i]);
    operator_at(main, "aten::addmm", at + US, 500 * US);
  }
}

static void test_f21(void **unused)
{
  (void)unused;
  static const char *const growing[] = {"ids=int64[1,10]", "ids=int64[1,11]", "ids=int64[1,12]",
                                        "ids=int64[1,13]", "ids=int64[1,14]", "ids=int64[1,15]",
                                        "ids=int64[1,16]", "ids=int64[1,17]", "ids=int64[1,18]"};
  calls(growing, 9);
  assert_int_equal(ask_rule("F21"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16);
  ASSERT_NEAR(found_number(0, "time_ms"), 8. / 9);
  assert_string_equal(found_text(0, "confidence"), "high");
}

// As of a damaged file: after the largest number none is larger.
static void test_f21_is_silent_about_impossible_sizes(void **unused)
{
  (void)unused;
  char signatures[9][48] = {"ids=int64[1,9223372036854775807]"};
  const char *growing[9] = {signatures[0]};
  for (int i = 1; i < 9; i++) {
    snprintf(signatures[i], sizeof signatures[i], "ids=int64[1,-922337203685477580%d]", 9 - i);
    growing[i] = signatures[i];
  }
  calls(growing, 9);
  assert_int_equal(ask_rule("F21"), 0);
}

// Of other numbers than token ids these may be two epochs over batches that are sorted by their lengths.
static void test_f21_is_less_sure_without_token_ids(void **unused)
{
  (void)unused;
  char signatures[24][32];
  const char *sorted[24];
  for (int i = 0; i < 24; i++) {
    snprintf(signatures[i], sizeof signatures[i], "x=float32[8,%d,64]", 16 + i % 12);
    sorted[i] = signatures[i];
  }
  calls(sorted, 24);
  assert_int_equal(ask_rule("F21"), 1);
  assert_string_equal(found_text(0, "confidence"), "medium");
}

static void test_f21_names_the_line_that_calls_the_model(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  uint32_t call = python(python(0, "sample", FILE_OF, 16), "Module._call_impl", TORCH "nn/modules/module.py", 1798);
  uint32_t forward =
      python(python(call, "GPT.forward", FILE_OF, 5), "Module._call_impl", TORCH "nn/modules/module.py", 1798);
  for (int i = 0; i < 9; i++) {
    char signature[32];
    int64_t at = step(MS);
    snprintf(signature, sizeof signature, "ids=int64[1,%d]", 10 + i);
    fixture_words(&fixture, fixture.span_id, "signature", signature);
    operator_at(python(forward, "Block.forward", FILE_OF, 3), "aten::addmm", at + US, 500 * US);
  }
  assert_int_equal(ask_rule("F21"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16);
}

static void test_f21_is_silent_with_a_cache(void **unused)
{
  (void)unused;
  static const char *const cached[] = {"ids=int64[1,10]", "ids=int64[1,1]", "ids=int64[1,1]",
                                       "ids=int64[1,1]",  "ids=int64[1,1]", "ids=int64[1,1]",
                                       "ids=int64[1,1]",  "ids=int64[1,1]", "ids=int64[1,1]"};
  calls(cached, 9);
  assert_int_equal(ask_rule("F21"), 0);
}

// Of an encoder, whose input stays, and a decoder. `format`: has the position.
static size_t decoding_with(const char *format)
{
  char signatures[9][96];
  const char *all[9];
  for (int i = 0; i < 9; i++) {
    snprintf(signatures[i], sizeof signatures[i], format, 10 + i);
    all[i] = signatures[i];
  }
  calls(all, 9);
  return ask_rule("F21");
}

static void test_f21_of_a_decoder(void **unused)
{
  (void)unused;
  assert_int_equal(decoding_with("input_ids=int64[2,96], decoder_input_ids=int64[2,%d]"), 1);
  assert_non_null(strstr(found_text(0, "title"), "up to 18"));
  assert_string_equal(found_text(0, "confidence"), "high");
}

static void test_f21_of_a_decoder_by_position(void **unused)
{
  (void)unused;
  assert_int_equal(decoding_with("float32[2,96,64], mask=bool[2,96], int64[2,%d]"), 1);
}

static void test_f21_is_silent_about_numbers_that_grow_with_a_cache(void **unused)
{
  static const char *const formats[] = {"ids=int64[1,1], attention_mask=int64[1,%d]", "ids=int64[1,1], int64[1,%d]",
                                        "x=int64[1,96], attention_mask=int64[1,%d]",
                                        "ids=int64[1,96], decoder_position_ids=int64[1,%d]",
                                        "ids=int64[1,96], past=float32[1,8,%d]"};
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(decoding_with(formats[i]), 0);
  }
}

// Two epochs over batches that are sorted by their lengths.
static void test_f21_is_silent_about_few_calls_in_a_row(void **unused)
{
  (void)unused;
  static const char *const sorted[] = {"float32[8,16,64]", "float32[8,17,64]", "float32[8,18,64]", "float32[8,19,64]",
                                       "float32[8,20,64]", "float32[8,16,64]", "float32[8,17,64]", "float32[8,18,64]",
                                       "float32[8,19,64]", "float32[8,20,64]"};
  calls(sorted, 10);
  assert_int_equal(ask_rule("F21"), 0);
}

static void test_f22(void **unused)
{
  (void)unused;
  static const char *const doubles[] = {"float64[64,512]", "float64[64,512]"};
  calls(doubles, 2);
  assert_int_equal(ask_rule("F22"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.25); // half of the operators' time
}

static void test_f22_of_xla(void **unused)
{
  (void)unused;
  static const char *const doubles[] = {"f64[256,256], f64[256]", "f64[256,256], f64[256]"};
  calls(doubles, 2);
  assert_int_equal(ask_rule("F22"), 1);
}

static void test_f22_is_silent(void **unused)
{
  (void)unused;
  static const char *const floats[] = {"float32[64,512]", "float32[64,512]"};
  calls(floats, 2);
  assert_int_equal(ask_rule("F22"), 0);
}

// ---- F23 -------------------------------------------------------------------------------------------------------------
static int64_t inference(bool has_graph, bool has_backward)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 15);
  int64_t at = step(MS);
  fixture_words(&fixture, fixture.span_id, "signature", "float32[8,128]");
  for (int i = 0; i < 4; i++) {
    int64_t id = operator_at(main, "aten::addmm", at + i * 100 * US, 100 * US);
    if (has_graph)
      fixture_int(&fixture, id, "sequence", 5 + i);
  }
  if (has_backward)
    backward_at(main, "AddmmBackward0", at + 500 * US, 100 * US);
  return at;
}

static void without_gradients(int64_t dropout_us)
{
  int64_t at = inference(false, false) + 600 * US;
  uint32_t layer = python(0, "main", FILE_OF, 20);
  operator_at(layer, "aten::dropout", at, dropout_us * US);
  operator_at(fixture.context_id, "aten::bernoulli_", at, dropout_us * US - US);
}

static void test_f23(void **unused)
{
  (void)unused;
  (void)inference(true, false);
  assert_int_equal(ask_rule("F23"), 1);
  ASSERT_NEAR(found_number(0, "line"), 15);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.6); // outside of operators
}

static void test_f23_is_silent_without_a_graph(void **unused)
{
  (void)unused;
  (void)inference(false, false);
  assert_int_equal(ask_rule("F23"), 0);
}

static void test_f23_names_dropout_without_gradients(void **unused)
{
  (void)unused;
  without_gradients(60);
  assert_int_equal(ask_rule("F23"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.06);
}

static void test_f23_is_silent_at_little_dropout(void **unused)
{
  (void)unused;
  without_gradients(40);
  assert_int_equal(ask_rule("F23"), 0);
}

static void test_f23_is_silent_in_training(void **unused)
{
  (void)unused;
  (void)inference(true, true);
  assert_int_equal(ask_rule("F23"), 0);
}

// ---- F24 and F25 -----------------------------------------------------------------------------------------------------
static void regions(int count)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 32), layer = python(main, "Layer.forward", FILE_OF, 16);
  int64_t at = step(MS);
  for (int i = 0; i < count; i++)
    operator_at(i == 0 ? main : layer, "Torch-Compiled Region: 1/0", at + i * 100 * US, 50 * US);
}

static void test_f24(void **unused)
{
  (void)unused;
  regions(4);
  assert_int_equal(ask_rule("F24"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16); // where the model goes on after a break
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.75);
}

// The operators' time is no bound, as that of libraries' primitives in them.
static void test_f24_without_call_paths(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L/Lib", 1);
  int64_t at = step(MS);
  for (int i = 0; i < 4; i++) {
    fixture_span(&fixture, XSP_LEVEL_LAYER, "Torch-Compiled Region: 1/0", at + i * 250 * US, 220 * US);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", at + i * 250 * US + 10 * US, 200 * US);
    fixture_span(&fixture, XSP_LEVEL_LIBRARY, "primitive", at + i * 250 * US + 20 * US, 150 * US);
  }
  assert_int_equal(ask_rule("F24"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.2);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.15);
}

static void test_f24_is_silent_about_one_region(void **unused)
{
  (void)unused;
  regions(1);
  assert_int_equal(ask_rule("F24"), 0);
}

static void compilations(int count)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 32);
  for (int i = 0; i < 10; i++) {
    int64_t at = step(MS);
    fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, "torch.compile", NULL, 0);
    if (i < count)
      fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "torch.compile", at, 500 * US);
  }
}

static void test_f25(void **unused)
{
  (void)unused;
  compilations(4);
  assert_int_equal(ask_rule("F25"), 1);
  ASSERT_NEAR(found_number(0, "line"), 32);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.15); // the first does not count
}

// Functions that the loop calls later for the first time.
static void test_f25_is_silent_about_the_first_of_each_function(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  for (int i = 0; i < 10; i++) {
    int64_t id = fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "jax.jit compilation", step(MS), 500 * US);
    fixture_words(&fixture, id, "compile_id", i < 4 ? "4/1" : i % 2 == 0 ? "5/0" : "6/0");
  }
  assert_int_equal(ask_rule("F25"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.15);
}

// Each kind of reason has the advice of its framework.
static void tracings(const char *reason, const char *advice)
{
  fixture_run(&fixture, "M/L", 1);
  for (int i = 0; i < 10; i++) {
    int64_t id = fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "tf.function", step(MS), 500 * US);
    fixture_words(&fixture, id, "reason", reason);
  }
  assert_int_equal(ask_rule("F25"), 1);
  assert_string_equal(found_text(0, "context"), "tf.function");
  assert_non_null(strstr(found_text(0, "advice"), advice));
  assert_null(strstr(found_text(0, "advice"), "mark_dynamic"));
}

static void test_f25_of_shapes_of_tf_function(void **unused)
{
  (void)unused;
  tracings("argument x mismatch. expected TensorSpec(shape=(2, 3)), actual TensorSpec(shape=(2, 4))",
           "reduce_retracing=True");
}

static void test_f25_of_values_of_tf_function(void **unused)
{
  (void)unused;
  tracings("argument rate == 0.5, now 0.25: a value of Python's", "tensors instead of Python numbers");
}

static void test_f25_is_silent_about_the_first(void **unused)
{
  (void)unused;
  compilations(3);
  assert_int_equal(ask_rule("F25"), 0);
}

static void test_f25_is_silent_where_nothing_is_compiled_again(void **unused)
{
  (void)unused;
  compilations(1);
  fixture.request.thresholds = (const char *[]){"recompilation-observations=0"};
  fixture.request.threshold_count = 1;
  assert_int_equal(ask_rule("F25"), 0);
}

// ---- F34 -------------------------------------------------------------------------------------------------------------
static void padded_batch(int64_t padded, int64_t spare)
{
  fixture_run(&fixture, "M/L", 1);
  int64_t id = fixture_span(&fixture, XSP_LEVEL_MODEL, "predict", 0, MS);
  fixture_int(&fixture, id, "positions", 100);
  fixture_int(&fixture, id, "padded", padded);
  fixture_int(&fixture, id, "spare", spare);
  operator_at(python(0, "train", FILE_OF, 25), "aten::addmm", 0, 800 * US);
}

static void test_f34_of_positions_to_spare(void **unused)
{
  (void)unused;
  padded_batch(49, 10);
  assert_int_equal(ask_rule("F34"), 1);
  ASSERT_NEAR(found_number(0, "line"), 25);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.08);
}

static void test_f34_names_the_threshold_that_decided(void **unused)
{
  (void)unused;
  padded_batch(49, 29); // 29 / 100. * 100 is less than 29
  assert_int_equal(ask_rule("F34"), 1);
  assert_string_equal(found_text(0, "threshold"), "padding-spare=10%");
}

static void test_f34_of_all_padding(void **unused)
{
  (void)unused;
  padded_batch(50, 50);
  assert_int_equal(ask_rule("F34"), 1);
  assert_string_equal(found_text(0, "threshold"), "padding-share=50%");
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.4);
}

static void test_f34_is_silent(void **unused)
{
  (void)unused;
  padded_batch(49, 9);
  assert_int_equal(ask_rule("F34"), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f21),
      TEST(test_f21_is_silent_about_impossible_sizes),
      TEST(test_f21_is_less_sure_without_token_ids),
      TEST(test_f21_names_the_line_that_calls_the_model),
      TEST(test_f21_of_a_decoder),
      TEST(test_f21_of_a_decoder_by_position),
      TEST(test_f21_is_silent_about_numbers_that_grow_with_a_cache),
      TEST(test_f21_is_silent_with_a_cache),
      TEST(test_f21_is_silent_about_few_calls_in_a_row),
      TEST(test_f22),
      TEST(test_f22_of_xla),
      TEST(test_f22_is_silent),
      TEST(test_f23),
      TEST(test_f23_is_silent_without_a_graph),
      TEST(test_f23_names_dropout_without_gradients),
      TEST(test_f23_is_silent_at_little_dropout),
      TEST(test_f23_is_silent_in_training),
      TEST(test_f24),
      TEST(test_f24_without_call_paths),
      TEST(test_f24_is_silent_about_one_region),
      TEST(test_f25),
      TEST(test_f25_is_silent_about_the_first_of_each_function),
      TEST(test_f25_of_shapes_of_tf_function),
      TEST(test_f25_of_values_of_tf_function),
      TEST(test_f25_is_silent_about_the_first),
      TEST(test_f25_is_silent_where_nothing_is_compiled_again),
      TEST(test_f34_of_positions_to_spare),
      TEST(test_f34_names_the_threshold_that_decided),
      TEST(test_f34_of_all_padding),
      TEST(test_f34_is_silent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
