// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/litert/file and graph: any bytes as a TFLite model.
#include "frameworks/litert/graph.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const struct litert_graph *graph, struct arena *arena)
{
  struct litert_event events[8] = {{.tag = "Convolution", .is_delegated = true},
                                   {.tag = "Clamp (NC)", .is_delegated = true},
                                   {.tag = "Copy", .is_delegated = true},
                                   {.tag = "ADD", .node = 1}};
  struct litert_match matches[8];
  for (size_t count = 0; count <= 4; count++) {
    (void)litert_graph_match(graph, events, count, matches);
    for (size_t i = 0; i < count; i++)
      if (matches[i].part < LITERT_PUT_IN && matches[i].node >= graph->node_count)
        abort();
  }
  const struct litert_work *work = litert_work_read(graph, 3, arena);
  for (size_t i = 0; work != NULL && i < graph->node_count; i++)
    if (work[i].tags.count > LAYER_TAGS_MOST)
      abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct litert_graph graph;
  if (litert_graph_read(data, size, &arena, &graph))
    match(&graph, &arena);
  arena_done(&arena);
  char place[64];
  bool is_cut = litert_file_is_cut(data, size, place, sizeof place);
  if (is_cut != (place[0] != 0) || strlen(place) >= sizeof place)
    abort();
  return 0;
}
