// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of models that OpenVINO exported: finds the graph, reads it, computes the work of nodes.
#include "frameworks/openvino/graph.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size > 1 << 20)
    return 0;
  char *bytes = malloc(size + 1); // it is changed, and must not be read beyond
  if (bytes == NULL)
    return 0;
  if (size > 0)
    memcpy(bytes, data, size);
  struct arena arena = {0};
  struct openvino_graph graph;
  size_t length = 0;
  const char *text = openvino_graph_find(bytes, size, &length);
  if (text != NULL && openvino_graph_read(text, length, &arena, &graph)) {
    struct openvino_node list[16] = {{0}};
    struct openvino_nodes nodes = {list, 0};
    for (; nodes.count < graph.count && nodes.count < 16; nodes.count++)
      list[nodes.count] = (struct openvino_node){.name = graph.items[nodes.count].name,
                                                 .type = graph.items[nodes.count].type,
                                                 .primitive = "jit_bf16",
                                                 .fused = graph.items[graph.count - 1].name};
    const struct layer_report *layers = openvino_layers_read(&graph, &nodes, &arena);
    for (size_t i = 0; i < nodes.count; i++)
      if (layers[i].tags->count > LAYER_TAGS_MOST)
        abort();
  }
  arena_done(&arena);
  free(bytes);
  return 0;
}
