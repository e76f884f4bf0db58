// SPDX-License-Identifier: Apache-2.0
// What MXNet's files say: symbols (as Gluon exports them and as its backend rewrites them), signatures, profiles.
#include "frameworks/mxnet/profile.h"
#include "frameworks/mxnet/shapes.h"
#include "frameworks/mxnet/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/expect.h"

static const char net[] =
    "{\"nodes\": [{\"op\": \"null\", \"name\": \"data\", \"inputs\": []},"
    " {\"op\": \"null\", \"name\": \"w\", \"attrs\": {\"__shape__\": \"(16, 0, 3, 3)\"}, \"inputs\": []},"
    " {\"op\": \"BatchNorm\", \"name\": \"norm\", \"attrs\": {\"eps\": \"1e-05\"}, \"inputs\": [[0, 0, 0], [1, 0, 0]]},"
    " {\"op\": \"Convolution\", \"name\": \"conv\", \"attrs\": {\"layout\": \"NCHW\", \"num_group\": \"2\"},"
    "  \"inputs\": [[2, 0, 0], [1, 0, 0]]},"
    " {\"op\": \"_sg_mkldnn_conv\", \"name\": \"sg0\", \"inputs\": [[3, 0, 0]], \"subgraphs\": [{\"nodes\":"
    "  [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}, {\"op\": \"Convolution\", \"name\": \"a\", \"inputs\": "
    "[]},"
    "   {\"op\": \"Activation\", \"name\": \"b\", \"attrs\": {\"act_type\": \"relu\"}, \"inputs\": []}], \"heads\": "
    "[[2, 0, 0]]}]}],"
    " \"arg_nodes\": [0, 1], \"heads\": [[4, 0, 0]], \"attrs\": {\"mxnet_version\": [\"int\", 10901]}}";

static void symbols_are_read(void **state)
{
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct mxnet_symbol symbol;
  OK(mxnet_symbol_read(net, strlen(net), "net", &pool, &symbol, err));
  assert_int_equal(symbol.count, 5);
  assert_true(mxnet_is_variable(&symbol.nodes[0]));
  assert_string_equal(symbol.nodes[1].shape, "(16, 0, 3, 3)");
  assert_string_equal(symbol.nodes[3].op, "Convolution");
  assert_string_equal(symbol.nodes[3].layout, "NCHW");
  assert_int_equal(symbol.nodes[3].inputs[0], 2);
  assert_int_equal(symbol.nodes[3].inputs[1], 1);
  assert_int_equal(symbol.nodes[4].inputs[1], MXNET_NO_NODE);
  assert_null(symbol.nodes[3].fused);
  assert_string_equal(symbol.nodes[4].fused, "a,b");
  assert_string_equal(symbol.nodes[4].fused_ops, "relu");
  assert_int_equal(symbol.nodes[3].entry_count, 2);
  assert_int_equal(symbol.nodes[3].entries[1].node, 1);
  framework_pool_done(&pool);
}

static void operators_are_what_their_attributes_say(void **state)
{
  const struct {
    struct mxnet_node node;
    const char *operation;
  } cases[] = {{{.op = "Convolution"}, "Convolution"},
               {{.op = "Activation", .act_type = "tanh"}, "tanh"},
               {{.op = "Activation"}, "Activation"},
               {{.op = "LeakyReLU"}, "leaky"},
               {{.op = "LeakyReLU", .act_type = "gelu"}, "gelu"},
               {{.op = "Pooling"}, "max_pool"},
               {{.op = "Pooling", .pool_type = "avg", .global_pool = "False"}, "avg_pool"},
               {{.op = "Pooling", .pool_type = "avg", .global_pool = "True"}, "global_avg_pool"},
               {{.op = "Pooling", .pool_type = "lp"}, "Pooling"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_string_equal(mxnet_operator(&cases[i].node), cases[i].operation);
}

// Shapes of all nodes' outputs as the library tells them.
static const char *output_names[] = {"data", "w", "conv_output", "pool_output"};
static const int four[] = {4, 4, 4, 4}, *const output_ranks = four;
static const int sizes[][4] = {{1, 3, 8, 8}, {4, 3, 3, 3}, {1, 4, 6, 6}, {1, 4, 3, 3}};
static const int *output_shapes[] = {sizes[0], sizes[1], sizes[2], sizes[3]};
static uint32_t output_count;

static int get_internals(mxnet_handle symbol, mxnet_handle *ret_internals)
{
  *ret_internals = symbol;
  return 0;
}

static int list_outputs(mxnet_handle symbol, uint32_t *count, const char ***names)
{
  *count = output_count;
  *names = output_names;
  return 0;
}

static int infer_shape(mxnet_handle symbol, uint32_t count, const char **names, const uint32_t *starts,
                       const int *shapes, uint32_t *in_count, const int **in_ranks, const int ***in_shapes,
                       uint32_t *out_count, const int **out_ranks, const int ***out_shapes, uint32_t *aux_count,
                       const int **aux_ranks, const int ***aux_shapes, int *is_complete)
{
  assert_int_equal(count, 1);
  assert_string_equal(names[0], "data");
  assert_int_equal(starts[1], 4);
  assert_int_equal(shapes[3], 8);
  *out_count = output_count;
  *out_ranks = output_ranks;
  *out_shapes = output_shapes;
  return 0;
}

static int free_symbol(mxnet_handle symbol)
{
  return 0;
}

static void work_is_read_from_inferred_shapes(void **state)
{
  struct mxnet_entry of_conv[] = {{0, 0}, {1, 0}}, of_pool[] = {{2, 0}};
  struct mxnet_node nodes[] = {
      {.op = "null", .name = "data"},
      {.op = "null", .name = "w"},
      {.op = "Convolution", .name = "conv", .entries = of_conv, .entry_count = 2, .kernel = "(3, 3)"},
      {.op = "Pooling", .name = "pool", .entries = of_pool, .entry_count = 1, .kernel = "(2, 2)"}};
  const struct mxnet_symbol graph = {nodes, 4};
  const struct tensor_info info = {.name = "data", .rank = 4};
  const struct tensor input = {.info = &info, .shape = {1, 3, 8, 8}};
  struct mxnet_api api = {.SymbolGetInternals = get_internals,
                          .SymbolListOutputs = list_outputs,
                          .SymbolInferShapeEx = infer_shape,
                          .SymbolFree = free_symbol};
  mxnet_handle symbol = (mxnet_handle)(uintptr_t)&graph;
  struct arena arena = {0};
  output_count = 4;
  struct mxnet_work *work = mxnet_work_read(&api, symbol, &graph, &input, 1, &arena);
  assert_non_null(work);
  assert_string_equal(work[2].shape, "[1,4,6,6]");
  assert_int_equal(work[2].tags.count, 4);
  assert_string_equal(work[2].tags.items[0].text, "[1,3,8,8] [4,3,3,3]");
  assert_int_equal(work[2].tags.items[2].number, 4 * 4 * 27); // parameter_bytes
  assert_string_equal(work[3].tags.items[4].text, "max_pool");
  assert_string_equal(work[3].tags.items[5].text, "[2,2]");
  output_count = 3; // another graph than the one that was read
  work = mxnet_work_read(&api, symbol, &graph, &input, 1, &arena);
  assert_non_null(work);
  assert_null(work[2].shape);
  assert_int_equal(work[2].tags.count, 0);
  arena_done(&arena);
}

static void every_cut_is_refused(void **state)
{
  for (size_t length = 0; length < strlen(net); length++) {
    struct pool pool = {.maximum_bytes = 1 << 24};
    struct mxnet_symbol symbol;
    struct error err = {0};
    assert_int_equal(mxnet_symbol_read(net, length, "net", &pool, &symbol, &err), STATUS_INPUT);
    assert_int_not_equal(err.why[0], 0);
    framework_pool_done(&pool);
  }
}

static void what_is_no_symbol_is_refused(void **state)
{
  const char *const texts[] = {"[]",
                               "{}",
                               "{\"nodes\": 1}",
                               "{\"nodes\": []}",
                               "{\"nodes\": [1]}",
                               "{\"nodes\": [{}]}",
                               "{\"nodes\": [{\"op\": \"a\"}]}",
                               "{\"nodes\": [{\"op\": 1, \"name\": \"a\"}]}",
                               "{\"nodes\": [{\"op\": \"a\", \"name\": \"b\", \"inputs\": [[-1]]}]}",
                               "{\"nodes\": [{\"op\": \"a\", \"name\": \"b\", \"inputs\": [[\"x\"]]}]}",
                               "{\"nodes\": [{\"op\": \"a\", \"name\": \"b\", \"inputs\": [[1e9]]}]}",
                               "{\"nodes\": [{\"op\": \"a\", \"name\": \"b\", \"attrs\": []}]}",
                               "{\"nodes\": [{\"op\": \"a\", \"name\": \"b\", \"subgraphs\": {}}]}",
                               "{\"nodes\": [{\"op\": \"a\", \"name\": \"b\"}]} more"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct pool pool = {.maximum_bytes = 1 << 24};
    struct mxnet_symbol symbol;
    struct error err = {0};
    if (mxnet_symbol_read(texts[i], strlen(texts[i]), "net", &pool, &symbol, &err) != STATUS_INPUT || err.why[0] == 0)
      fail_msg("%s was taken", texts[i]);
    framework_pool_done(&pool);
  }
}

static void inputs_get_shapes_from_where_they_go(void **state)
{
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct mxnet_symbol symbol;
  OK(mxnet_symbol_read(net, strlen(net), "net", &pool, &symbol, err));
  const uint32_t shape[] = {16, 3, 7, 5};
  const struct mxnet_parameter weights = {"w", shape, 4};
  struct tensor_info info = {0};
  assert_true(mxnet_input_shape(&symbol, 0, &weights, 1, &info)); // through the normalisation
  assert_int_equal(info.rank, 4);
  assert_int_equal(info.shape[0], -1);
  assert_int_equal(info.shape[1], 6); // two groups of three
  assert_int_equal(info.shape[2], -1);
  assert_string_equal(info.dimension_name[0], "N");
  assert_null(info.dimension_name[1]);
  assert_string_equal(info.dimension_name[2], "H");
  assert_string_equal(info.dimension_name[3], "W");
  // Channels last, transposed, dense, and nothing that says it.
  symbol.nodes[3].layout = "NHWC";
  assert_true(mxnet_input_shape(&symbol, 0, &weights, 1, &info));
  assert_int_equal(info.shape[3], 10);
  assert_string_equal(info.dimension_name[1], "H");
  symbol.nodes[3].layout = NULL;
  symbol.nodes[3].op = "Deconvolution";
  assert_true(mxnet_input_shape(&symbol, 0, &weights, 1, &info));
  assert_int_equal(info.shape[1], 16);
  symbol.nodes[3].op = "FullyConnected";
  assert_false(mxnet_input_shape(&symbol, 0, &weights, 1, &info)); // of a rank that dense weights do not have
  const struct mxnet_parameter dense = {"w", shape, 2};
  assert_true(mxnet_input_shape(&symbol, 0, &dense, 1, &info));
  assert_int_equal(info.rank, 2);
  assert_int_equal(info.shape[1], 3);
  assert_false(mxnet_input_shape(&symbol, 0, NULL, 0, &info));
  symbol.nodes[2].inputs[0] = 2; // a circle
  symbol.nodes[3].inputs[0] = 4;
  assert_false(mxnet_input_shape(&symbol, 2, &dense, 1, &info));
  framework_pool_done(&pool);
}

static void shapes_are_read(void **state)
{
  struct tensor_info info = {0};
  assert_true(mxnet_read_shape("(0, 3, 224, -1)", &info));
  assert_int_equal(info.rank, 4);
  assert_int_equal(info.shape[0], -1);
  assert_int_equal(info.shape[1], 3);
  assert_int_equal(info.shape[3], -1);
  assert_true(mxnet_read_shape("[5,]", &info));
  assert_int_equal(info.rank, 1);
  const char *const wrong[] = {"", "()", "5", "(", "(5", "(5 6)", "(a)", "(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (mxnet_read_shape(wrong[i], &info))
      fail_msg("%s was taken", wrong[i]);
}

static void signatures_are_read(void **state)
{
  const char text[] = "{\"inputs\": [{\"data_shape\": [0, 3], \"data_name\": \"data\"}, {\"data_name\": \"x\","
                      " \"data_shape\": [2]}], \"input_type\": \"image/jpeg\"}";
  struct tensor_info info = {0};
  bool found = false;
  OK(mxnet_signature_read(text, strlen(text), "file", "x", &info, &found, err));
  assert_true(found);
  assert_int_equal(info.rank, 1);
  assert_int_equal(info.shape[0], 2);
  OK(mxnet_signature_read(text, strlen(text), "file", "y", &info, &found, err));
  assert_false(found);
  for (size_t length = 0; length < strlen(text); length++) {
    struct error err = {0};
    assert_int_equal(mxnet_signature_read(text, length, "file", "x", &info, &found, &err), STATUS_INPUT);
  }
}

#define EVENT(name, category, phase, time, thread)                                                                     \
  "{\"name\": \"" name "\", \"cat\": \"" category "\", \"ph\": \"" phase "\", \"ts\": " time                           \
  ", \"pid\": 0, \"tid\": " thread "}"

static void profiles_are_read(void **state)
{
  // The comma is MXNet's; the thread is a hash that needs 64 bits.
  static const char told[] =
      "{\"traceEvents\": [\n,\n" EVENT("conv", "operator", "B", "1795298637808171", "18446744073709551615") //
      "," EVENT("conv", "operator", "E", "1795298637808267", "18446744073709551615")                        //
      "," EVENT("pool", "operator", "B", "1795298637808001", "7")                                           //
      "," EVENT("late", "operator", "B", "1795298637808002", "8")                                           //
      "," EVENT("pool", "operator", "E", "1795298637808003", "8")                                           //
      "," EVENT("pool", "operator", "E", "1795298637808009", "7")                                           //
      "," EVENT("wait", "other", "B", "1795298637808001", "7")                                              //
      "," EVENT("conv", "operator", "b", "1795298637808171", "7")                                           //
      ",{\"ph\": \"M\", \"args\": {\"name\": \"cpu/0\"}, \"pid\": 0}], \"displayTimeUnit\": \"ms\"}";
  char text[sizeof told];
  memcpy(text, told, sizeof told);
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct mxnet_profile profile;
  OK(mxnet_profile_read(text, strlen(text), "profile", &pool, &profile, err));
  assert_int_equal(profile.count, 2);
  assert_string_equal(profile.events[0].name, "pool");
  assert_int_equal(profile.events[0].end_us - profile.events[0].start_us, 8);
  assert_string_equal(profile.events[1].name, "conv");
  assert_int_equal(profile.events[1].start_us, INT64_C(1795298637808171));
  assert_int_equal(profile.events[1].end_us - profile.events[1].start_us, 96);
  assert_int_equal(profile.events[0].thread, 7);
  assert_int_equal(profile.events[1].thread, UINT64_MAX);
  framework_pool_done(&pool);
  for (size_t length = 0; length < strlen(told); length++) {
    memcpy(text, told, sizeof told);
    struct error err = {0};
    assert_int_equal(mxnet_profile_read(text, length, "profile", &pool, &profile, &err), STATUS_INPUT);
    assert_int_equal(profile.count, 0);
    framework_pool_done(&pool);
  }
}

static void impossible_events_are_left_out(void **state)
{
  char text[] =
      "{\"traceEvents\": [" EVENT("back", "operator", "B", "10", "1") "," EVENT("back", "operator", "E", "9", "1") //
      "," EVENT("far", "operator", "B", "9223372036854775807", "1")                                                //
      "," EVENT("end", "operator", "E", "5", "1") "]}";
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct mxnet_profile profile;
  OK(mxnet_profile_read(text, strlen(text), "profile", &pool, &profile, err));
  assert_int_equal(profile.count, 0);
  char wrong[] = "{\"traceEvents\": [" EVENT("a", "operator", "B", "1.5", "1") "]}";
  assert_int_equal(mxnet_profile_read(wrong, strlen(wrong), "profile", &pool, &profile, NULL), STATUS_INPUT);
  framework_pool_done(&pool);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symbols_are_read),
      cmocka_unit_test(operators_are_what_their_attributes_say),
      cmocka_unit_test(work_is_read_from_inferred_shapes),
      cmocka_unit_test(every_cut_is_refused),
      cmocka_unit_test(what_is_no_symbol_is_refused),
      cmocka_unit_test(inputs_get_shapes_from_where_they_go),
      cmocka_unit_test(shapes_are_read),
      cmocka_unit_test(signatures_are_read),
      cmocka_unit_test(profiles_are_read),
      cmocka_unit_test(impossible_events_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
