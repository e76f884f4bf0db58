// SPDX-License-Identifier: Apache-2.0
// Nodes are made while a stream is captured, and copied when the graph is instantiated: executions name the copies. Called on the
// program's threads, only while graphs are made.
#include "tracers/cuda/graphs.h"

#include "tracers/annotations/guest_table.h"

#include <xsp/monitor.h>

static struct guest_map paths = {.capacity = UINT32_C(1) << 20}; // by node id; a later graph's nodes have other ids

static void keep(uint64_t node_id, uint32_t path)
{
  if (path != 0)
    guest_map_put(&paths, (const void *)(uintptr_t)node_id, (void *)(uintptr_t)path);
}

uint32_t graphs_path(uint64_t node_id)
{
  return (uint32_t)(uintptr_t)guest_map_get(&paths, (const void *)(uintptr_t)node_id);
}

void graphs_callback(void *data, uint32_t domain, uint32_t cbid, const void *details)
{
  const struct cupti *cupti = data;
  const struct cupti_resource *resource = details;
  const struct cupti_graph *graph = domain == CUPTI_DOMAIN_RESOURCE && resource != NULL ? resource->descriptor : NULL;
  uint64_t id = 0, original_id = 0;
  if (graph == NULL || cupti->get_graph_node_id(graph->node, &id) != CUPTI_OK)
    return;
  if (cbid == CUPTI_NODE_CREATED)
    keep(id, xsp_monitor_path(XSP_SOURCE_PYTHON | XSP_SOURCE_FRAMEWORK));
  else if (cbid == CUPTI_NODE_CLONED && cupti->get_graph_node_id(graph->original_node, &original_id) == CUPTI_OK)
    keep(id, graphs_path(original_id));
}

void graphs_start(const struct cupti *cupti, void *subscriber)
{
  if (cupti->enable_callback == NULL || cupti->get_graph_node_id == NULL)
    return;
  cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_NODE_CREATED);
  cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_NODE_CLONED);
}
