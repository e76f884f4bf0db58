// SPDX-License-Identifier: Apache-2.0
// Texts that PyTorch, OpenCV, NCCL and people have put into ranges, and what they are.
#include "format/range.h"
#include "format/stems.h"

#include <xsp/span.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define A XSP_LEVEL_APPLICATION
#define M XSP_LEVEL_MODEL
#define L XSP_LEVEL_LAYER
#define LIB XSP_LEVEL_LIBRARY
#define NO RANGE_NO_NUMBER

struct expected {
  const char *domain, *text, *model_range;
  unsigned level;
  const char *name; // NULL: the whole text
  int64_t sequence, op_id;
  const char *sizes;
};

static const struct expected table[] = {
    // PyTorch's emit_nvtx
    {"", "aten::mm", NULL, L, NULL, NO, NO, NULL},
    {NULL, "aten::mm, op_id = 318133", NULL, L, "aten::mm", NO, 318133, NULL},
    {"", "aten::to, seq = 46176, op_id = 993408", NULL, L, "aten::to", 46176, 993408, NULL},
    {"", "aten::to, seq = 46176, op_id = 993408, sizes = [[64, 3], [], [2]]", NULL, L, "aten::to", 46176, 993408,
     "[[64, 3], [], [2]]"},
    {"", "aten::add, seq = 1, op_id = 2, sizes = [[1], [1], []], input_op_ids = [(4,0), (-1,-1)]", NULL, L, "aten::add",
     1, 2, "[[1], [1], []]"},
    {"", "aten::add, sizes = [[1]]", NULL, L, "aten::add", NO, NO, "[[1]]"}, // of 2019
    {"", "AddmmBackward, seq = 12, sizes = []", NULL, L, "AddmmBackward", 12, NO, "[]"},
    {"", "autograd::engine::evaluate_function: AddmmBackward0, seq = 9, op_id = 77", NULL, L,
     "autograd::engine::evaluate_function: AddmmBackward0", 9, 77, NULL},
    {"", "autograd::engine::evaluate_function: AddmmBackward0", NULL, A, NULL, NO, NO, NULL}, // of no number: any range
    {"", "torchvision::nms, op_id = 5", NULL, L, "torchvision::nms", NO, 5, NULL},
    {"", "nccl:all_reduce, op_id = 5", NULL, L, "nccl:all_reduce", NO, 5, NULL},
    {"", "a, b, seq = -1, op_id = 5", NULL, L, "a, b", -1, 5, NULL},
    {"", "big, op_id = 9223372036854775807", NULL, L, "big", NO, INT64_MAX, NULL},
    {"", "aten::mm, op_id = 5, and more", NULL, L, "aten::mm", NO, 5, NULL},
    {"", "aten::mm, op_id = 5, sizes = [[6", NULL, L, "aten::mm", NO, 5, NULL}, // cut short
    // not quite: nothing of the text may be lost
    {"", "big, op_id = 9223372036854775808", NULL, A, NULL, NO, NO, NULL},
    {"", "aten::mm, op_id = 99999999999999999999", NULL, L, NULL, NO, NO, NULL},
    {"", "load, op_id = x", NULL, A, NULL, NO, NO, NULL},
    {"", "load, op_id = ", NULL, A, NULL, NO, NO, NULL},
    {"", "load, op_id = 5x", NULL, A, NULL, NO, NO, NULL},
    {"", "load, op_id = -", NULL, A, NULL, NO, NO, NULL},
    {"", "load, sizes = [[1]]", NULL, A, NULL, NO, NO, NULL},
    {"", "load, sizes = [[1]", NULL, A, NULL, NO, NO, NULL},
    {"", "load, sizes = ]1[", NULL, A, NULL, NO, NO, NULL},
    {"", ", seq = 3", NULL, A, NULL, NO, NO, NULL},
    {"", "aten::", NULL, A, NULL, NO, NO, NULL},
    {"", "xaten::mm", NULL, A, NULL, NO, NO, NULL},
    {"", "saxpy", NULL, A, NULL, NO, NO, NULL},
    {"", "MyClass::run", NULL, A, NULL, NO, NO, NULL},
    {"", "", NULL, A, NULL, NO, NO, NULL},
    // OpenCV
    {"", "forwardLayer", NULL, L, NULL, NO, NO, NULL},
    {"OpenCVTrace", "cv::dnn::Net::Impl::forwardLayer(LayerData&)", NULL, L, NULL, NO, NO, NULL},
    {"", "forwardLayers", NULL, A, NULL, NO, NO, NULL},
    {"", "my_forwardLayer", NULL, A, NULL, NO, NO, NULL},
    // OpenVINO, by domain
    {"ov::op::cpu::details", "Multiply_3808", NULL, L, NULL, NO, NO, NULL},
    {"ov::op::cpu::details", "a, seq = 3", "*", L, NULL, NO, NO, NULL},
    {"ov::op::cpu::exec", "Convolution::execute", NULL, A, NULL, NO, NO, NULL},
    {"ov::phases", "Read model", NULL, A, NULL, NO, NO, NULL},
    // libraries, by domain
    {"NCCL", "ncclAllReduce", NULL, LIB, NULL, NO, NO, NULL},
    {"cuBLAS", "cublasGemmEx", NULL, LIB, NULL, NO, NO, NULL},
    {"CUBLASLT", "x", NULL, LIB, NULL, NO, NO, NULL},
    {"cuDNN", "aten::mm, op_id = 3", "*", LIB, NULL, NO, NO, NULL},
    {"CUDNN 9.1", "x", NULL, LIB, NULL, NO, NO, NULL},
    {"dnnl::primitive::execute", "convolution", NULL, LIB, NULL, NO, NO, NULL},
    {"oneDNN", "convolution", NULL, LIB, NULL, NO, NO, NULL},
    {"cuSolverDn", "x", NULL, LIB, NULL, NO, NO, NULL},
    {"ncclx", "x", NULL, A, NULL, NO, NO, NULL},
    {"libcudf", "x", NULL, A, NULL, NO, NO, NULL},
    {"", "ncclAllReduce", NULL, A, NULL, NO, NO, NULL},
    {"my", "aten::mm", NULL, L, NULL, NO, NO, NULL},
    // steps
    {"", "saxpy", "saxpy", M, NULL, NO, NO, NULL},
    {"", "iteration 12", "iteration *", M, NULL, NO, NO, NULL},
    {"", "step, op_id = 12", "step", M, "step", NO, 12, NULL},
    {"", "step, op_id = 12", "step, *", M, "step", NO, 12, NULL},
    {"", "aten::mm, op_id = 12", "*", L, "aten::mm", NO, 12, NULL},
    {"", "aten::mm, op_id = 12", "aten::m*", M, "aten::mm", NO, 12, NULL},
    {"", "saxpy", "*", M, NULL, NO, NO, NULL},
    {"", "ProfilerStep#7", NULL, M, NULL, NO, NO, NULL},
    {"", "ProfilerStep#7, op_id = 1", NULL, M, "ProfilerStep#7", NO, 1, NULL},
    {"", "ProfilerStep#", NULL, A, NULL, NO, NO, NULL},
    {"", "ProfilerStep#x", NULL, A, NULL, NO, NO, NULL},
};

static void check(const struct expected *row)
{
  // In memory of exactly its size, so that a sanitizer sees a byte too far.
  size_t length = strlen(row->text);
  char *text = malloc(length + (length == 0));
  assert_non_null(text);
  memcpy(text, row->text, length);
  struct range range;
  range_read(row->domain, text, length, row->model_range, &range);
  const char *name = row->name != NULL ? row->name : row->text;
  if (range.level != row->level || range.name_length != strlen(name) || memcmp(range.name, name, strlen(name)) != 0 ||
      range.sequence != row->sequence || range.op_id != row->op_id || range.is_step != (row->level == M) ||
      (range.sizes == NULL) != (row->sizes == NULL) ||
      (row->sizes != NULL &&
       (range.sizes_length != strlen(row->sizes) || memcmp(range.sizes, row->sizes, range.sizes_length) != 0)))
    fail_msg("'%s': level %u, name '%.*s', sequence %lld, op_id %lld, sizes '%.*s'", row->text, range.level,
             (int)range.name_length, range.name, (long long)range.sequence, (long long)range.op_id,
             range.sizes == NULL ? 0 : (int)range.sizes_length, range.sizes == NULL ? "" : range.sizes);
  free(text);
}

static void texts(void **state)
{
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    check(&table[i]);
}

static void every_text_cut_at_every_byte(void **state)
{
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    for (size_t length = 0; length <= strlen(table[i].text); length++) {
      char *text = malloc(length + (length == 0));
      assert_non_null(text);
      memcpy(text, table[i].text, length);
      struct range range;
      range_read(table[i].domain, text, length, table[i].model_range, &range);
      assert_true(range.name >= text && range.name + range.name_length <= text + length);
      free(text);
    }
}

static void globs(void **state)
{
  static const struct {
    const char *glob, *text;
    bool matches;
  } rows[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "anything", true},
      {"a*c", "abc", true},
      {"a*c", "abcd", false},
      {"a*b*c", "aXbYbZc", true},
      {"*ab", "aab", true},
      {"a?c", "abc", true},
      {"a?c", "ac", false},
      {"[a-c]x", "bx", true},
      {"[a-c]x", "dx", false},
      {"[!a-c]x", "dx", true},
      {"[^a]x", "ax", false},
      {"[]]", "]", true},
      {"[a-]", "-", true},
      {"[abc", "[abc", true},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"a\\", "a\\", true},
      {"**a**", "bab", true},
      {"step", "steps", false},
      {"Step", "step", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (range_matches(rows[i].glob, rows[i].text, strlen(rows[i].text)) != rows[i].matches)
      fail_msg("'%s' and '%s'", rows[i].glob, rows[i].text);
  assert_false(range_matches(NULL, "", 0));
}

// A megabyte of what makes careless readers quadratic; ctest's time limit is the judge.
static void long_texts_take_one_pass(void **state)
{
  static const char *const parts[] = {", sizes = [", ", seq = 1x", ", op_id = 1, sizes = [[", ",", "forwardLaye", "["};
  enum { SIZE = 1 << 20 };
  char *text = malloc(SIZE);
  assert_non_null(text);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    size_t length = 0, part = strlen(parts[i]);
    for (; length + part <= SIZE; length += part)
      memcpy(text + length, parts[i], part);
    struct range range;
    range_read("", text, length, "*a*b", &range);
  }
  free(text);
}

static void wrappers(void **unused)
{
  (void)unused;
  static const struct {
    const char *name;
    bool is_wrapper;
  } rows[] = {{"autograd::engine::evaluate_function: AddmmBackward0", true},
              {"Torch-Compiled Region: 0/0", true},
              {"TorchDynamo Cache Lookup", true},
              {"CompiledFunction", true},
              {"CompiledFunctionBackward", true},
              {"CompiledFunctional", false},
              {"nn.Module: Linear_0", true},
              {"AddmmBackward0", false},
              {"aten::mm", false},
              {"", false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_int_equal(range_is_wrapper(rows[i].name, strlen(rows[i].name)), rows[i].is_wrapper);
}

static void stems(void **unused)
{
  (void)unused;
  static const char *const rows[][2] = {{"step 12", "step"},
                                        {"ProfilerStep#3", "ProfilerStep#"},
                                        {"iter_007", "iter"},
                                        {"epoch 1/3, batch 7", "epoch /, batch"},
                                        {"resnet50", "resnet50"},
                                        {"llama 8b v1.5", "llama 8b v1.5"},
                                        {"took 1.5", "took 1.5"},
                                        {"__next__", "__next__"},
                                        {"12", ""},
                                        {"", ""}};
  char stem[64];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    size_t length = range_stem(rows[i][0], strlen(rows[i][0]), stem, sizeof stem);
    assert_int_equal(length, strlen(rows[i][1]));
    assert_memory_equal(stem, rows[i][1], length);
  }
  assert_int_equal(range_stem("a long name", 11, stem, 4), 4);
}

static void numbers_of_stems(void **unused)
{
  (void)unused;
  struct interner numbers = {0};
  uint32_t step = stems_at(&numbers, "step 7", 6);
  assert_int_equal(stems_at(&numbers, "step 12", 7), step);
  assert_int_not_equal(stems_at(&numbers, "resnet50", 8), step);
  assert_int_equal(interner_count(&numbers), 2);
  interner_done(&numbers);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts),
      cmocka_unit_test(every_text_cut_at_every_byte),
      cmocka_unit_test(globs),
      cmocka_unit_test(long_texts_take_one_pass),
      cmocka_unit_test(wrappers),
      cmocka_unit_test(stems),
      cmocka_unit_test(numbers_of_stems),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
