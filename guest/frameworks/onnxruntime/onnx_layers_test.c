// SPDX-License-Identifier: Apache-2.0
// The tensors between layers of an ONNX model, and the copy that hands them out.
#include "frameworks/onnxruntime/onnx.h"

#include "base/folder.h"
#include "base/mapped.h"
#include "base/wire_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void put_text(struct buf *out, unsigned field, const char *text)
{
  protobuf_bytes(out, field, text, strlen(text));
}

static void put_node(struct buf *out, const char *type, const char *first, const char *second)
{
  size_t node = protobuf_begin(out, ONNX_GRAPH_NODE);
  put_text(out, 1, "data");
  put_text(out, 2, first);
  if (second != NULL)
    put_text(out, 2, second);
  put_text(out, 4, type);
  protobuf_end(out, node);
}

// Split → a, b (left out: ""); Constant → k; Relu → scores, which is the model's output.
static struct buf make_model(void)
{
  struct buf out = {0};
  size_t graph = protobuf_begin(&out, ONNX_MODEL_GRAPH);
  put_node(&out, "Split", "a", "");
  put_node(&out, "Split", "b", "a");
  put_node(&out, "Constant", "k", NULL);
  put_node(&out, "Relu", "scores", NULL);
  size_t output = protobuf_begin(&out, 12);
  put_text(&out, 1, "scores");
  protobuf_end(&out, output);
  protobuf_end(&out, graph);
  return out;
}

static void test_tensors(void **state)
{
  struct arena arena = {0};
  struct buf model = make_model();
  struct onnx_layers layers;
  onnx_layers_read((const uint8_t *)model.data, model.length, &arena, &layers);
  assert_int_equal(layers.output_count, 1);
  assert_int_equal(layers.count, 2);
  assert_string_equal(layers.items[0].name, "a");
  assert_string_equal(layers.items[0].type, "Split");
  assert_string_equal(layers.items[1].name, "b");
  buf_done(&model);
  arena_done(&arena);
}

static void test_the_copy_has_them_as_outputs(void **state)
{
  char folder[] = "/tmp/xsp-onnx-layers-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/net.onnx", folder);
  struct buf model = make_model();
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(model.data, 1, model.length, file), model.length);
  fclose(file);
  struct arena arena = {0};
  struct onnx_layers layers;
  const char *copy;
  assert_int_equal(onnx_file_layers(path, folder, &arena, &copy, &layers, NULL), STATUS_OK);
  assert_int_equal(layers.count, 2);
  struct mapped made = {0};
  assert_true(mapped_open(copy, &made));
  assert_memory_equal(made.bytes, model.data, model.length);
  char place[64];
  assert_false(onnx_damage(made.bytes, made.size, place, sizeof place));
  onnx_layers_read(made.bytes, made.size, &arena, &layers); // all are outputs now
  assert_int_equal(layers.count, 0);
  assert_int_equal(layers.output_count, 3);
  mapped_close(&made);
  struct error err = {0};
  assert_int_equal(onnx_file_layers("/nowhere.onnx", folder, &arena, &copy, &layers, &err), STATUS_INPUT);
  folder_remove_flat(folder);
  buf_done(&model);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_the_copy_has_them_as_outputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
