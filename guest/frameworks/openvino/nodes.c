// SPDX-License-Identifier: Apache-2.0
// Reads OpenVINO's list of profiling information; see graph.h. The list comes from the framework and is not
// trusted: texts may be missing, times may be anything.
#include "frameworks/openvino/graph.h"

#include "base/slice.h"

#include <stdbool.h>
#include <string.h>

static const char *text_or_empty(const char *text)
{
  return text != NULL ? text : "";
}

static bool is_no_work(const char *type)
{
  return text_is_one_of(type, "Parameter", "Result", "Constant", "Const", "Input", "Output");
}

static bool is_fused(const struct ov_profiling_info *info)
{
  return strncmp(text_or_empty(info->primitive), "undef", 5) == 0;
}

static char *copy(struct arena *arena, const char *text)
{
  return arena_copy(arena, text_or_empty(text), strlen(text_or_empty(text)));
}

// The names of the fused nodes that follow the one at `at`; NULL: there are none.
static char *join_fused(const struct ov_profiling_list *list, size_t at, struct arena *arena)
{
  size_t size = 0, end = at + 1;
  for (; end < list->count && is_fused(&list->infos[end]); end++)
    size += strlen(text_or_empty(list->infos[end].name)) + 1;
  if (size == 0)
    return NULL;
  char *joined = arena_alloc(arena, size);
  char *to = joined;
  for (size_t i = at + 1; i < end; i++) {
    const char *name = text_or_empty(list->infos[i].name);
    memcpy(to, name, strlen(name));
    to += strlen(name);
    *to++ = i + 1 < end ? ',' : '\0';
  }
  return joined;
}

void openvino_nodes_read(const struct ov_profiling_list *list, struct arena *arena, struct openvino_nodes *ret_nodes)
{
  *ret_nodes = (struct openvino_nodes){.nodes = arena_alloc_array(arena, list->count + 1, sizeof *ret_nodes->nodes)};
  for (size_t i = 0; i < list->count; i++) {
    const struct ov_profiling_info *info = &list->infos[i];
    if (is_fused(info) || is_no_work(text_or_empty(info->type)))
      continue;
    struct openvino_node *node = &ret_nodes->nodes[ret_nodes->count];
    *node = (struct openvino_node){.name = copy(arena, info->name),
                                   .type = copy(arena, info->type),
                                   .primitive = copy(arena, info->primitive),
                                   .fused = join_fused(list, i, arena),
                                   .index = (int64_t)ret_nodes->count,
                                   .at = i};
    ret_nodes->count++;
  }
}

uint64_t openvino_duration_ns(int64_t mean_us, uint64_t inferences, uint64_t *sum_us)
{
  uint64_t all_us = 0;
  if (mean_us <= 0 || __builtin_mul_overflow((uint64_t)mean_us, inferences, &all_us) || all_us <= *sum_us)
    return 0;
  uint64_t duration_us = all_us - *sum_us, duration_ns = 0;
  if (__builtin_mul_overflow(duration_us, UINT64_C(1000), &duration_ns) || duration_ns > INT64_MAX)
    return 0;
  *sum_us = all_us;
  return duration_ns;
}
