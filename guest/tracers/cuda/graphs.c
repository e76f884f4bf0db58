// SPDX-License-Identifier: Apache-2.0
// Nodes are made while a stream is captured, and copied when the graph is instantiated: executions name the copies. Called on the
// program's threads, only while graphs are made.
#include "tracers/cuda/graphs.h"

#include "tracers/annotations/guest_table.h"
#include "tracers/cuda/calls.h"

#include <xsp/monitor.h>

// By node id; a later graph's nodes have other ids.
static struct guest_map paths = {.capacity = UINT32_C(1) << 20};
static struct guest_map originals = {.capacity = UINT32_C(1) << 20}; // of copies: the node that was made first

static void keep(uint64_t node_id, uint32_t path)
{
  if (path != 0)
    guest_map_put(&paths, (const void *)(uintptr_t)node_id, (void *)(uintptr_t)path);
}

uint32_t cuda_graphs_path(uint64_t node_id)
{
  return (uint32_t)(uintptr_t)guest_map_get(&paths, (const void *)(uintptr_t)node_id);
}

// A span without length where the program is: its parent is the layer whose work is captured.
static void publish(uint64_t node_id, uint64_t original_id)
{
  XSP_SITE_FULL(made, XSP_LEVEL_KERNEL, "graph node", "graph", CUDA_TRACER);
  uint64_t now = xsp_clock_ticks();
  struct xsp_interval interval = {.size = sizeof interval, .start = now, .end = now};
  struct xsp_span span = xsp_span_emit(&made, &interval);
  xsp_span_tag_int(&span, "graph_node", (int64_t)node_id);
  if (original_id != 0)
    xsp_span_tag_int(&span, "original_graph_node", (int64_t)original_id);
}

static void note_made(uint64_t node_id)
{
  keep(node_id, xsp_monitor_path(XSP_SOURCE_PYTHON | XSP_SOURCE_FRAMEWORK));
  publish(node_id, 0);
}

static void note_copied(uint64_t node_id, uint64_t original_id)
{
  uint64_t first = (uint64_t)(uintptr_t)guest_map_get(&originals, (const void *)(uintptr_t)original_id);
  first = first != 0 ? first : original_id;
  keep(node_id, cuda_graphs_path(first));
  guest_map_put(&originals, (const void *)(uintptr_t)node_id, (void *)(uintptr_t)first);
  publish(node_id, first);
}

void cuda_graphs_callback(void *data, uint32_t domain, uint32_t cbid, const void *details)
{
  const struct cupti *cupti = data;
  const struct cupti_resource *resource = details;
  bool is_of_node = domain == CUPTI_DOMAIN_RESOURCE && (cbid == CUPTI_NODE_CREATED || cbid == CUPTI_NODE_CLONED);
  const struct cupti_graph *graph = is_of_node && resource != NULL ? resource->descriptor : NULL;
  uint64_t id = 0, original_id = 0;
  if (graph == NULL || cupti->get_graph_node_id(graph->node, &id) != CUPTI_OK)
    return;
  if (cbid == CUPTI_NODE_CREATED)
    note_made(id);
  else if (cbid == CUPTI_NODE_CLONED && cupti->get_graph_node_id(graph->original_node, &original_id) == CUPTI_OK)
    note_copied(id, original_id);
}

void cuda_graphs_start(const struct cupti *cupti)
{
  if (cupti->enable_callback == NULL || cupti->get_graph_node_id == NULL)
    return;
  cupti->enable_callback(1, cupti->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_NODE_CREATED);
  cupti->enable_callback(1, cupti->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_NODE_CLONED);
}
