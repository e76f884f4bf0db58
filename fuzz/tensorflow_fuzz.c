// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/tensorflow: the first byte chooses the message. Any bytes give an answer whose parts are within
// bounds, or an error.
#include "frameworks/tensorflow/graph.h"
#include "frameworks/tensorflow/layers.h"
#include "frameworks/tensorflow/metadata.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
  if (!holds)
    abort();
}

static void check_graph(const struct tensorflow_graph *graph, struct arena *arena)
{
  for (size_t i = 0; i < graph->count; i++) {
    const struct tensorflow_node *node = &graph->nodes[i];
    check(tensorflow_graph_find(graph, node->name, strlen(node->name)) != NULL);
    check(node->shape.rank <= TENSORFLOW_NO_RANK);
    struct tensorflow_originals originals;
    tensorflow_originals_find(graph, graph, 1, node, arena, &originals); // all is executed: nothing is lost
    check(originals.count == 0);
    struct tensorflow_graph none = {0};
    tensorflow_originals_find(graph, &none, 1, node, arena, &originals);
    check(originals.count == 0 || originals.main != NULL);
  }
}

static void check_steps(const uint8_t *data, size_t size, struct arena *arena)
{
  struct tensorflow_steps steps;
  const char *problem = NULL;
  if (!tensorflow_steps_read(data, size, arena, &steps, &problem))
    check(problem != NULL);
  else
    for (size_t i = 0; i < steps.count; i++) {
      const struct tensorflow_step *step = &steps.items[i];
      check(i == 0 || steps.items[i - 1].start_ns <= step->start_ns);
      check(step->node.length > 0 && (const uint8_t *)step->node.data >= data &&
            (const uint8_t *)step->node.data + step->node.length <= data + size);
      check(step->start_ns + step->duration_ns <= INT64_MAX && step->shape.rank <= TENSORFLOW_NO_RANK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  struct arena arena = {0};
  struct tensorflow_model model;
  const char *problem = NULL;
  uint8_t kind = data[0];
  data++, size--;
  if (kind == 'f' && tensorflow_frozen_read(data, size, &arena, &model, &problem))
    check_graph(&model.graph, &arena);
  if (kind == 's' && tensorflow_saved_read(data, size, &arena, &model, &problem))
    check_graph(&model.graph, &arena);
  if (kind == 'm') {
    check_steps(data, size, &arena);
    const struct tensorflow_graph none = {0};
    struct tensorflow_layers *layers = tensorflow_layers_create(&none, "m");
    struct error err = {0};
    check(tensorflow_layers_publish(layers, data, size, (struct xsp_context){0}, &err) == STATUS_OK || err.why[0] != 0);
    tensorflow_layers_free(layers);
  }
  arena_done(&arena);
  return 0;
}
