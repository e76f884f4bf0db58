// SPDX-License-Identifier: Apache-2.0
// The simulated libcuda: graphs, made by hand or by capturing streams. A launch starts each node when those that it depends
// on have ended, so nodes of one launch overlap in its stream.
#include "device.h"

#include <cupti.h>
#include <stdlib.h>

#define NODES_MAXIMUM 256
#define WAITS_MAXIMUM 4

struct CUgraphNode_st {
  uint64_t id;
  CUgraph graph;
  CUgraphNode original; // of a clone
  struct simulator_operation operation;
  unsigned waits_for[WAITS_MAXIMUM]; // indices of earlier nodes
  unsigned waits, index;
};
struct CUgraph_st {
  uint32_t id;
  unsigned count;
  bool is_captured; // now
  CUgraph original;
  CUgraphNode nodes[NODES_MAXIMUM];
};
struct CUgraphExec_st {
  CUgraph graph; // a clone
};

static uint32_t graphs;
static uint64_t nodes;

uint32_t simulator_graph_id(CUgraph graph)
{
  return graph->id;
}

uint32_t simulator_executable_id(CUgraphExec executable)
{
  return executable->graph->id;
}

uint64_t simulator_node_id(CUgraphNode node)
{
  return node->id;
}

bool simulator_node_is_kernel(CUgraphNode node)
{
  return node->operation.kind == SIMULATOR_KERNEL;
}

static CUgraph create(CUgraph original)
{
  CUgraph graph = calloc(1, sizeof(struct CUgraph_st));
  graph->id = __atomic_add_fetch(&graphs, 1, __ATOMIC_RELAXED);
  graph->original = original;
  TELL(graph_changed, original ? CUPTI_CBID_RESOURCE_GRAPH_CLONED : CUPTI_CBID_RESOURCE_GRAPH_CREATED, graph, NULL,
       NULL, NULL);
  return graph;
}

static CUgraphNode add(CUgraph graph, const struct simulator_operation *operation, CUgraphNode original)
{
  if (graph->count == NODES_MAXIMUM)
    return NULL;
  CUgraphNode node = calloc(1, sizeof(struct CUgraphNode_st));
  node->id = __atomic_add_fetch(&nodes, 1, __ATOMIC_RELAXED);
  node->graph = graph;
  node->original = original;
  node->operation = *operation;
  node->index = graph->count;
  graph->nodes[graph->count++] = node;
  TELL(graph_changed, original ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph,
       node, original, NULL);
  return node;
}

static CUresult wait_for(CUgraphNode node, CUgraphNode earlier)
{
  if (!earlier)
    return CUDA_SUCCESS;
  if (node->waits == WAITS_MAXIMUM || earlier->graph != node->graph)
    return CUDA_ERROR_INVALID_VALUE;
  node->waits_for[node->waits++] = earlier->index;
  return CUDA_SUCCESS;
}

bool graph_has(CUstream stream)
{
  if (stream->capture && !stream->capture->is_captured) // a stream that had joined
    stream->capture = NULL;
  return stream->capture != NULL;
}

CUresult graph_capture(CUstream stream, const struct simulator_operation *operation)
{
  CUgraphNode node = add(stream->capture, operation, NULL);
  if (!node)
    return CUDA_ERROR_OUT_OF_MEMORY;
  CUgraphNode last = stream->last;
  stream->last = node;
  if (stream->joined && stream->joined != last)
    wait_for(node, stream->joined);
  stream->joined = NULL;
  return wait_for(node, last);
}

CUresult graph_join(CUstream stream, CUevent event)
{
  if (graph_has(stream) && stream->capture != event->capture)
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (!event->capture->is_captured)
    return CUDA_ERROR_INVALID_VALUE;
  if (!stream->capture)
    stream->last = NULL;
  stream->capture = event->capture;
  stream->joined = event->node;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
  const cuStreamBeginCapture_v2_params given = {stream, mode};
  DRIVER_CALL_WITH(cuStreamBeginCapture_v2, NULL, &given);
  if (!stream || graph_has(stream))
    RETURN(CUDA_ERROR_ILLEGAL_STATE);
  stream->last = stream->joined = NULL;
  stream->capture = create(NULL);
  stream->capture->is_captured = true;
  stream->capture_began = true;
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
  const cuStreamEndCapture_params given = {stream, graph};
  DRIVER_CALL_WITH(cuStreamEndCapture, NULL, &given);
  if (!graph_has(stream) || !stream->capture_began)
    RETURN(CUDA_ERROR_ILLEGAL_STATE);
  *graph = stream->capture;
  stream->capture->is_captured = false;
  stream->capture = NULL;
  stream->capture_began = false;
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
  (void)flags;
  DRIVER_CALL(cuGraphCreate, NULL);
  *graph = create(NULL);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *waits, size_t count,
                                       const CUDA_KERNEL_NODE_PARAMS *given)
{
  DRIVER_CALL(cuGraphAddKernelNode_v2, NULL);
  struct simulator_operation operation = {.kind = SIMULATOR_KERNEL,
                                          .name = given->func->name,
                                          .grid = {given->gridDimX, given->gridDimY, given->gridDimZ},
                                          .block = {given->blockDimX, given->blockDimY, given->blockDimZ},
                                          .shared_bytes = given->sharedMemBytes};
  *node = add(graph, &operation, NULL);
  CUresult result = *node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
    result = wait_for(*node, waits[i]);
  RETURN(result);
}

EXPORTED CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
  const cuGraphInstantiateWithFlags_params given = {executable, graph, flags};
  DRIVER_CALL_WITH(cuGraphInstantiateWithFlags, NULL, &given);
  CUgraph clone = create(graph);
  for (unsigned i = 0; i < graph->count; i++) {
    CUgraphNode original = graph->nodes[i], node = add(clone, &original->operation, original);
    node->waits = original->waits;
    for (unsigned j = 0; j < original->waits; j++)
      node->waits_for[j] = original->waits_for[j];
  }
  *executable = calloc(1, sizeof(struct CUgraphExec_st));
  (*executable)->graph = clone;
  TELL(graph_changed, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph, NULL, NULL, *executable);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
  const cuGraphLaunch_params given = {executable, stream};
  DRIVER_CALL_WITH(cuGraphLaunch, NULL, &given);
  stream = stream_of(stream);
  if (!stream)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  uint64_t ends_ns[NODES_MAXIMUM];
  CUgraph graph = executable->graph;
  unsigned passes = device_replay_begin(stream->context, ""); // a node waits for the one before it, then
  device_lock();
  uint64_t begin_ns = device_earliest_ns(stream);
  for (unsigned i = 0; i < graph->count; i++) {
    CUgraphNode node = graph->nodes[i];
    uint64_t start_ns = passes > 0 && i > 0 ? ends_ns[i - 1] : begin_ns;
    for (unsigned j = 0; j < node->waits; j++)
      if (ends_ns[node->waits_for[j]] > start_ns)
        start_ns = ends_ns[node->waits_for[j]];
    struct simulator_operation operation = node->operation;
    operation.correlation_id = call.correlation_id;
    operation.passes = operation.kind == SIMULATOR_KERNEL ? passes : 0;
    operation.graph_id = graph->id;
    operation.node_id = node->id;
    operation.source_graph_id = graph->original->id;
    operation.source_node_id = node->original->id;
    ends_ns[i] = start_ns + device_duration_ns(&operation);
    device_enqueue_at(stream, &operation, start_ns, ends_ns[i]);
  }
  device_unlock();
  if (passes > 0)
    device_replay_end(stream->context);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuGraphExecDestroy(CUgraphExec executable)
{
  (void)executable;
  DRIVER_CALL(cuGraphExecDestroy, NULL);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuGraphDestroy(CUgraph graph)
{
  (void)graph;
  DRIVER_CALL(cuGraphDestroy, NULL);
  RETURN(CUDA_SUCCESS);
}
