// SPDX-License-Identifier: Apache-2.0
// Graphs as OpenVINO writes them, and the work of nodes from them.
#include "frameworks/openvino/graph.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define PORT(id, dims) "<port id=\"" id "\" precision=\"FP32\">" dims "</port>"
#define DIM(size) "<dim>" size "</dim>"
#define LAYER(id, name, type) "<layer id=\"" id "\" name=\"" name "\" type=\"" type "\" version=\"opset1\">"

static const char graph_text[] = "<?xml version=\"1.0\"?>\n<net name=\"n\" version=\"11\">\n<layers>\n" LAYER(
    "0", "x",
    "Parameter") "<data "
                 "shape=\"2,3,8,"
                 "8\" "
                 "element_type="
                 "\"f32\" "
                 "/><"
                 "output>" PORT("0", DIM("2") DIM("3") DIM("8") DIM("8")) "</output></layer>" LAYER("1", "w", "Const") "<output>" PORT(
                     "0",
                     DIM("4") DIM("3") DIM("3")
                         DIM("3")) "</output></layer>" LAYER("2", "Multiply_7&amp;8",
                                                             "Convolution") "<data strides=\"1, 1\" />"
                                                                            "<rt_info><attribute "
                                                                            "name=\"fused_names\" value=\"a > b\" "
                                                                            "/></rt_info><input>" PORT(
                                                                                "0",
                                                                                DIM("2") DIM("3") DIM("8") DIM("8"))
                                                                                PORT("1", DIM("4") DIM("3") DIM("3") DIM("3")) "</input><output>" PORT(
                                                                                    "2", DIM("2") DIM("4") DIM("6") DIM(
                                                                                             "6")) "</output></"
                                                                                                   "layer>" LAYER("3", "n1", "Add") "<input>" PORT("0", "") "</input><output>" PORT("2", DIM("-1")) "</output></layer>" LAYER("4", "n2", "ReLU") "<rt_info><attribute name=\"fused_names\" version=\"0\" value=\"relu1\" /></rt_info></layer>" LAYER("5",
                                                                                                                                                                                                                                                                                                                                                     "p", "MaxPool") "<data kernel=\"3, 3\" /><input>" PORT("0", DIM("2") DIM("4")
                                                                                                                                                                                                                                                                                                                                                                                                                     DIM("6") DIM(
                                                                                                                                                                                                                                                                                                                                                                                                                         "6")) "</input><output>" PORT("1",
                                                                                                                                                                                                                                                                                                                                                                                                                                                       DIM("2") DIM(
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "4")
                                                                                                                                                                                                                                                                                                                                                                                                                                                           DIM("3") DIM(
                                                                                                                                                                                                                                                                                                                                                                                                                                                               "3")) "</output></layer>" LAYER("6",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               "s",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               "Subgraph") "<output>" PORT("2",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                           DIM("2")
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               DIM("4")) "</output><body><layers>" LAYER("0",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "i",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "Parameter") "<output>" PORT("0",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      DIM("9")) "</output></layer>" LAYER("1",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          "m",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          "Multiply") "<data a=\"1\" /></layer>" LAYER("2",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       "c",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       "Sigmoid") "</layer><layer id=\"3\" name=\"r\" type=\"Result\" />"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "</layers><edges><edge from-layer=\"0\" to-layer=\"1\" to-port=\"0\" /></edges></body></layer>\n" LAYER("7",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          "q",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          "PowerStatic") "<data scale=\"2\" power=\"1\" shift=\"0\" /></layer></layers><edges>"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\" />"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "<edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"1\" />"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "<edge from-layer=\"99\" from-port=\"0\" to-layer=\"2\" to-port=\"1\" /></edges></net>";

static void test_operators_are_read(void **unused)
{
  (void)unused;
  struct arena arena = {0};
  struct openvino_graph graph;
  assert_true(openvino_graph_read(graph_text, sizeof graph_text - 1, &arena, &graph));
  assert_int_equal(graph.count, 8);
  const struct openvino_operator *convolution = &graph.items[2];
  assert_string_equal(convolution->name, "Multiply_7&8");
  assert_int_equal(convolution->input_count, 2);
  assert_true(!convolution->inputs[0].is_constant && convolution->inputs[1].is_constant);
  assert_int_equal(convolution->inputs[1].sizes[0], 4);
  assert_int_equal(convolution->outputs[0].rank, 4);
  assert_true(graph.items[3].outputs[0].rank == LAYER_RANK_UNKNOWN && graph.items[3].inputs[0].rank == 0);
  assert_string_equal(graph.items[5].kernel, "[3,3]");
  assert_string_equal(graph.items[6].inner, "Multiply Sigmoid");
  assert_int_equal(graph.items[6].output_count, 1);
  assert_string_equal(graph.items[7].type, "ScaleShift");
  arena_done(&arena);
}

static void test_every_cut_is_refused(void **unused)
{
  (void)unused;
  for (size_t length = 0; length < sizeof graph_text - 2; length++) {
    struct arena arena = {0};
    struct openvino_graph graph;
    char *text = malloc(length + 1); // so that sanitizers see the end
    memcpy(text, graph_text, length);
    assert_false(openvino_graph_read(text, length, &arena, &graph));
    assert_int_equal(graph.count, 0);
    free(text);
    arena_done(&arena);
  }
}

static const char *tag_of(const struct layer_report *layer, const char *key)
{
  for (size_t i = 0; i < layer->tags->count; i++)
    if (strcmp(layer->tags->items[i].key, key) == 0)
      return layer->tags->items[i].text != NULL ? layer->tags->items[i].text : "(number)";
  return "";
}

static int64_t number_of(const struct layer_report *layer, const char *key)
{
  for (size_t i = 0; i < layer->tags->count; i++)
    if (strcmp(layer->tags->items[i].key, key) == 0)
      return layer->tags->items[i].number;
  return -1;
}

static void test_nodes_have_their_operators_work(void **unused)
{
  (void)unused;
  struct arena arena = {0};
  struct openvino_graph graph;
  assert_true(openvino_graph_read(graph_text, sizeof graph_text - 1, &arena, &graph));
  struct openvino_node list[] = {
      {.name = "Multiply_7&8", .type = "Convolution", .primitive = "brgconv_avx512_f32", .fused = "n1,n2"},
      {.name = "Multiply_7&8", .type = "Convolution", .primitive = "brgconv_avx512_bf16", .fused = "n1,gone"},
      {.name = "x_f32_abcd", .type = "Reorder", .primitive = "jit_uni_f32"},
      {.name = "s", .type = "Subgraph", .primitive = "jit_avx512_f32", .fused = "n2"},
      {.name = "p", .type = "Pooling", .primitive = "jit_avx512_f32"}};
  const struct openvino_nodes nodes = {list, sizeof list / sizeof list[0]};
  const struct layer_report *work = openvino_layers_read(&graph, &nodes, &arena);
  assert_non_null(work);
  assert_string_equal(work[0].shape, "[2,4,6,6]");
  assert_string_equal(tag_of(&work[0], "operator"), "Convolution");
  assert_string_equal(tag_of(&work[0], "input_shape"), "[2,3,8,8] [4,3,3,3]");
  assert_string_equal(tag_of(&work[0], "fused_ops"), "Add ReLU");
  assert_string_equal(tag_of(&work[0], "source_layers"), "a > b, relu1");
  assert_string_equal(tag_of(&work[3], "source_layers"), ""); // its own nodes are not written
  assert_int_equal(number_of(&work[0], "parameter_bytes"), 4 * 4 * 27);
  assert_int_equal(number_of(&work[0], "output_bytes"), 4 * 2 * 4 * 36);
  assert_string_equal(tag_of(&work[1], "fused_ops"), "Add ?");
  assert_int_equal(number_of(&work[1], "output_bytes"), 2 * 2 * 4 * 36); // computed in 16 bits
  assert_int_equal(work[2].tags->count, 1);                              // put in by the plug-in: a primitive only
  assert_null(work[2].shape);
  assert_string_equal(tag_of(&work[3], "operator"), "Multiply");
  assert_string_equal(tag_of(&work[3], "fused_ops"), "Sigmoid ReLU");
  assert_string_equal(tag_of(&work[4], "kernel_shape"), "[3,3]");
  arena_done(&arena);
}

static void test_a_veiled_graph_is_found(void **unused)
{
  (void)unused;
  static const unsigned char veil[] = {0x30, 0x60, 0x70, 0x02, 0x04, 0x08, 0x3f, 0x6f, 0x72, 0x74, 0x78, 0x7f};
  char bytes[4096] = "header <?xml version=\"1.0\"?><cnndata/> weights";
  size_t start = 100, length = 0;
  memcpy(bytes + start, graph_text, sizeof graph_text - 1);
  size_t size = start + sizeof graph_text - 1;
  assert_in_range(size, 0, sizeof bytes);
  assert_ptr_equal(openvino_graph_find(bytes, size, &length), bytes + start); // the last of two
  assert_int_equal(length, sizeof graph_text - 1);
  for (size_t i = 0; i < length; i++)
    bytes[start + i] = (char)(bytes[start + i] ^ veil[i % sizeof veil]);
  assert_ptr_equal(openvino_graph_find(bytes, size, &length), bytes + start);
  assert_memory_equal(bytes + start, graph_text, length);
  assert_null(openvino_graph_find(bytes, 7, &length));
  assert_null(openvino_graph_find(bytes, 0, &length));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operators_are_read), cmocka_unit_test(test_every_cut_is_refused),
      cmocka_unit_test(test_nodes_have_their_operators_work), cmocka_unit_test(test_a_veiled_graph_is_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
