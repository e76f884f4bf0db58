// SPDX-License-Identifier: Apache-2.0
// One stream captures a graph: launches there are its nodes. A graph is not known where that is not sure: an event recorded in the stream
// may let a second one capture, and a kernel that differs from what its node's function ran before ends the launch's nodes.
#include "tracers/rocm/graphs.h"

#include "tracers/annotations/guest_table.h"
#include "tracers/rocm/calls.h"

#include <stdlib.h>
#include <string.h>
#include <xsp/monitor.h>

#define LAUNCHES 4096u // that may run at once
#define NODES_MOST (UINT32_C(1) << 20)

enum call { BEGIN, END, INSTANTIATE, LAUNCH_GRAPH, RECORD_EVENT, LAUNCH, LAUNCH_MODULE, LAUNCH_EXTENDED, CALLS };
static const struct {
  const char *name;
  enum call call;
} names[] = {{"hipStreamBeginCapture", BEGIN},
             {"hipStreamEndCapture", END},
             {"hipGraphInstantiate", INSTANTIATE},
             {"hipGraphInstantiateWithFlags", INSTANTIATE},
             {"hipGraphInstantiateWithParams", INSTANTIATE},
             {"hipGraphLaunch", LAUNCH_GRAPH},
             {"hipEventRecord", RECORD_EVENT},
             {"hipLaunchKernel", LAUNCH},
             {"hipExtLaunchKernel", LAUNCH},
             {"hipModuleLaunchKernel", LAUNCH_MODULE},
             {"hipExtModuleLaunchKernel", LAUNCH_EXTENDED}};
static uint8_t calls[ROCM_CALLS_MOST]; // enum call + 1; 0: none. Before the first callback

struct node {
  uint64_t id;
  const void *function;
};
struct graph { // kept: its executions may be read late
  bool is_known;
  uint32_t count, capacity;
  struct node *nodes;
};
static struct guest_map capturing = {.capacity = UINT32_C(1) << 12};   // by stream
static struct guest_map graphs = {.capacity = UINT32_C(1) << 16};      // by graph
static struct guest_map executables = {.capacity = UINT32_C(1) << 16}; // the same, by executable
static struct guest_map paths = {.capacity = UINT32_C(1) << 20};       // by node
static struct guest_map kernels = {.capacity = UINT32_C(1) << 20};     // kernel id + 1, by function
static uint32_t capturing_count;                                       // atomic
static uint64_t node_count;                                            // atomic
static struct launch {
  uint64_t correlation_id; // atomic
  const struct graph *graph;
  uint32_t next; // the tracer's thread
} launches[LAUNCHES];

static int note_operation(uint32_t kind, uint32_t operation, void *data)
{
  const struct rocm *rocm = data;
  const char *name = NULL;
  if (operation >= ROCM_CALLS_MOST || rocm->operation_name(kind, operation, &name, NULL) != ROCM_OK || name == NULL)
    return ROCM_OK;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i].name) == 0)
      calls[operation] = (uint8_t)(names[i].call + 1);
  return ROCM_OK;
}

bool rocm_graphs_wanted(const struct rocm *rocm, uint32_t **ret_operations, size_t *ret_count)
{
  const char *name = NULL;
  *ret_count = 0;
  *ret_operations = calloc(ROCM_CALLS_MOST, sizeof **ret_operations);
  for (uint32_t kind = 1; rocm->kind_name(kind, &name, NULL) == ROCM_OK; kind++)
    if (name != NULL && strcmp(name, ROCM_HIP) == 0)
      rocm->each_operation(kind, note_operation, (void *)(uintptr_t)rocm);
  for (uint32_t i = 0; *ret_operations != NULL && i < ROCM_CALLS_MOST; i++)
    if (calls[i] != 0)
      (*ret_operations)[(*ret_count)++] = i;
  return *ret_count > 0;
}

// A span without length where the program is: its parent is the layer whose work is captured.
static void publish(uint64_t node)
{
  XSP_SITE_FULL(made, XSP_LEVEL_KERNEL, "graph node", "graph", ROCM_TRACER);
  uint64_t now = xsp_clock_ticks();
  struct xsp_interval interval = {.size = sizeof interval, .start = now, .end = now};
  struct xsp_span span = xsp_span_emit(&made, &interval);
  xsp_span_tag_int(&span, "graph_node", (int64_t)node);
}

static void note_captured(struct graph *graph, const void *function)
{
  if (graph->count == graph->capacity && graph->is_known) {
    uint32_t capacity = graph->capacity == 0 ? 64 : 2 * graph->capacity;
    struct node *nodes = capacity > NODES_MOST ? NULL : realloc(graph->nodes, capacity * sizeof *nodes);
    graph->is_known = nodes != NULL;
    graph->nodes = nodes != NULL ? nodes : graph->nodes;
    graph->capacity = nodes != NULL ? capacity : graph->capacity;
  }
  if (!graph->is_known)
    return;
  uint64_t id = __atomic_add_fetch(&node_count, 1, __ATOMIC_RELAXED);
  uint32_t path = xsp_monitor_path(XSP_SOURCE_PYTHON | XSP_SOURCE_FRAMEWORK);
  graph->nodes[graph->count++] = (struct node){id, function};
  if (path != 0)
    guest_map_put(&paths, (const void *)(uintptr_t)id, (void *)(uintptr_t)path);
  publish(id);
}

static void begin_capture(const void *stream)
{
  struct graph *graph = calloc(1, sizeof *graph);
  if (graph == NULL)
    return;
  graph->is_known = true;
  __atomic_add_fetch(&capturing_count, 1, __ATOMIC_RELAXED);
  guest_map_put(&capturing, stream, graph);
}

static void end_capture(const struct rocm_capture_end *end)
{
  struct graph *graph = guest_map_get(&capturing, end->stream);
  if (graph == NULL)
    return;
  guest_map_put(&capturing, end->stream, NULL);
  __atomic_sub_fetch(&capturing_count, 1, __ATOMIC_RELAXED);
  if (end->ret_graph != NULL && *end->ret_graph != NULL)
    guest_map_put(&graphs, *end->ret_graph, graph);
}

static void note_launch(uint64_t correlation_id, const void *executable)
{
  const struct graph *graph = guest_map_get(&executables, executable);
  struct launch *launch = &launches[correlation_id % LAUNCHES];
  if (graph == NULL)
    return;
  launch->graph = graph;
  launch->next = 0;
  __atomic_store_n(&launch->correlation_id, correlation_id, __ATOMIC_RELEASE);
}

// The stream and the function of a launch; elsewhere both NULL.
static void read_launch(enum call call, const union rocm_hip_arguments *arguments, const void **stream,
                        const void **function)
{
  *stream = call == RECORD_EVENT      ? arguments->record.stream
            : call == LAUNCH          ? arguments->launch.stream
            : call == LAUNCH_MODULE   ? arguments->launch_module.stream
            : call == LAUNCH_EXTENDED ? arguments->launch_extended.stream
                                      : NULL;
  *function = call == LAUNCH ? arguments->launch.function : arguments->launch_module.function; // the same in both
}

static bool has_failed(const struct rocm_hip_call *returned)
{
  const int *result = (const void *)((const uint8_t *)returned + returned->size - ROCM_HIP_RESULT_BYTES);
  return returned->size >= sizeof *returned + ROCM_HIP_RESULT_BYTES && *result != 0;
}

void rocm_graphs_note(const struct rocm_event *event, void *user_data, void *rocm)
{
  const struct rocm_event_end *end = rocm_event_end(rocm, event);
  const struct rocm_hip_call *hip = end->payload;
  bool is_exit = end->phase == ROCM_PHASE_EXIT;
  if (hip == NULL || end->operation >= ROCM_CALLS_MOST || calls[end->operation] == 0)
    return;
  enum call call = (enum call)(calls[end->operation] - 1);
  const void *stream, *function;
  if (is_exit && call != END && has_failed(hip))
    return;
  if (call == BEGIN && is_exit)
    begin_capture(hip->arguments.begin.stream);
  else if (call == END && is_exit)
    end_capture(&hip->arguments.end);
  else if (call == INSTANTIATE && is_exit && hip->arguments.instantiate.ret_executable != NULL)
    guest_map_put(&executables, *hip->arguments.instantiate.ret_executable,
                  guest_map_get(&graphs, hip->arguments.instantiate.graph));
  else if (call == LAUNCH_GRAPH && !is_exit)
    note_launch(event->correlation_id, hip->arguments.launch_graph.executable);
  if (call < RECORD_EVENT || is_exit || __atomic_load_n(&capturing_count, __ATOMIC_RELAXED) == 0)
    return;
  read_launch(call, &hip->arguments, &stream, &function);
  struct graph *graph = guest_map_get(&capturing, stream);
  if (graph != NULL && call == RECORD_EVENT)
    graph->is_known = false;
  else if (graph != NULL)
    note_captured(graph, function);
}

uint64_t rocm_graphs_node(uint64_t correlation_id, uint64_t kernel_id, const char *kernel_name)
{
  static const char of_runtime[] = "__amd_rocclr_"; // copies and fills
  struct launch *launch = &launches[correlation_id % LAUNCHES];
  if (correlation_id == 0 || __atomic_load_n(&launch->correlation_id, __ATOMIC_ACQUIRE) != correlation_id ||
      (kernel_name != NULL && strncmp(kernel_name, of_runtime, sizeof of_runtime - 1) == 0) ||
      !launch->graph->is_known || launch->next >= launch->graph->count)
    return 0;
  const struct node *node = &launch->graph->nodes[launch->next++];
  uint64_t known = (uint64_t)(uintptr_t)guest_map_get(&kernels, node->function);
  if (known == 0)
    guest_map_put(&kernels, node->function, (void *)(uintptr_t)(kernel_id + 1));
  if (known == 0 || known == kernel_id + 1)
    return node->id;
  launch->next = UINT32_MAX; // an order that is not that of the capture
  return 0;
}

uint32_t rocm_graphs_path(uint64_t node)
{
  return (uint32_t)(uintptr_t)guest_map_get(&paths, (const void *)(uintptr_t)node);
}
