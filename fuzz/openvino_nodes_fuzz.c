// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/openvino/nodes: a list of any texts and times. Lines of the input: name, primitive, type; "-" is NULL.
#include "frameworks/openvino/graph.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *next_text(char **rest)
{
  char *text = strsep(rest, "\n");
  return text == NULL || strcmp(text, "-") == 0 ? NULL : text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size + 1);
  if (text == NULL)
    return 0;
  if (size > 0)
    memcpy(text, data, size);
  text[size] = 0;
  static struct ov_profiling_info infos[1024];
  struct ov_profiling_list list = {infos, 0};
  for (char *rest = text; rest != NULL && list.count < 1024; list.count++)
    infos[list.count] =
        (struct ov_profiling_info){.name = next_text(&rest), .primitive = next_text(&rest), .type = next_text(&rest)};
  struct arena arena = {0};
  struct openvino_nodes nodes;
  openvino_nodes_read(&list, &arena, &nodes);
  if (nodes.count > list.count)
    abort();
  for (size_t i = 0; i < nodes.count; i++)
    if (nodes.nodes[i].at >= list.count || strlen(nodes.nodes[i].name) > size)
      abort();
  arena_done(&arena);
  uint64_t told = 0, before = 0;
  for (size_t i = 0; i + 8 <= size; i += 8, before = told) {
    int64_t mean;
    memcpy(&mean, data + i, sizeof mean);
    uint64_t duration = openvino_duration_ns(mean, i, &told);
    if (told < before || (duration != 0) != (told != before))
      abort();
  }
  free(text);
  return 0;
}
