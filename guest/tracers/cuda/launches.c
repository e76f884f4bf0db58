// SPDX-License-Identifier: Apache-2.0
// What the driver's calls do, by callbacks on the program's threads. Captured launches run nothing: they are known by the nodes
// that they make. The lock here is never held during a call of the program's or of CUPTI's profilers.
#include "tracers/cuda/launches.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "tracers/cuda/batches.h"
#include "tracers/cuda/calls.h"
#include "tracers/cuda/captured.h"
#include "tracers/device/kernels.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum what { OTHER, LAUNCH, LAUNCH_EX, GRAPH_LAUNCH, CAPTURE_BEGIN, CAPTURE_END, INSTANTIATE, CHANGE };

static struct call_kind {
  uint8_t what; // enum what
  bool is_per_thread;
} kinds[CALLS_MOST]; // of the driver's calls

static const struct cupti *cupti;
static pid_t owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of captures, counts, sites and graphs
static unsigned captures;                                // streams that are captured now
struct launch_counts cuda_launch_counts;

static _Thread_local struct current { // the call that the thread is in
  unsigned depth;                     // calls inside a call are not its own
  uint64_t start, node_id;            // a node that it made; 0: none
  bool is_measured, is_begun, instantiates;
  struct captured_nodes nodes; // of an executable
} current;

// ---- which calls
static enum what what_of(const char *name)
{
  static const struct {
    const char *beginning;
    enum what what;
  } calls[] = {{"cuLaunchKernelEx", LAUNCH_EX},
               {"cuLaunchKernel", LAUNCH},
               {"cuLaunchCooperativeKernelMulti", OTHER},
               {"cuLaunchCooperativeKernel", LAUNCH},
               {"cuGraphLaunch", GRAPH_LAUNCH},
               {"cuStreamBeginCapture", CAPTURE_BEGIN},
               {"cuStreamEndCapture", CAPTURE_END},
               {"cuGraphInstantiate", INSTANTIATE},
               {"cuGraphExecDestroy", OTHER},
               {"cuGraphExecGet", OTHER},
               {"cuGraphExec", CHANGE},
               {"cuGraphNodeSetEnabled", CHANGE}};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (strncmp(name, calls[i].beginning, strlen(calls[i].beginning)) == 0)
      return calls[i].what;
  return OTHER;
}

void cuda_launches_start(const struct cupti *used, const struct ranges_wish *wish)
{
  cupti = used;
  cuda_batches_start(used, wish);
  for (uint32_t cbid = 1; cbid < CALLS_MOST; cbid++) {
    const char *name = cuda_call_name(used, CUPTI_DOMAIN_DRIVER, cbid);
    enum what what = name == NULL ? OTHER : what_of(name);
    if (what == OTHER)
      continue;
    kinds[cbid] = (struct call_kind){(uint8_t)what, strstr(name, "_ptsz") != NULL};
    used->enable_callback(1, used->subscriber, CUPTI_DOMAIN_DRIVER, cbid);
  }
  used->enable_callback(1, used->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_ENDS);
  __atomic_store_n(&owner, getpid(), __ATOMIC_RELEASE);
}

// ---- launches
// Kernels of NCCL and NVSHMEM wait for one another: alone, a repeated one would never end.
static bool waits_for_others(const char *symbol)
{
  return symbol != NULL && (strncmp(symbol, "nccl", 4) == 0 || strstr(symbol, "nvshmem") != NULL);
}

static struct xsp_site *kernel_of(enum what what, const struct cupti_call *call, void **ret_stream)
{
  const struct cuda_launch *launch = call->parameters;
  const struct cuda_launch_config *config =
      what == LAUNCH_EX ? ((const struct cuda_launch_ex *)call->parameters)->config : NULL;
  const uint32_t *grid = config != NULL ? config->grid : launch->grid;
  const uint32_t *block = config != NULL ? config->block : launch->block;
  const struct device_kernel_shape shape = {.grid = {grid[0], grid[1], grid[2]},
                                            .block = {block[0], block[1], block[2]}};
  *ret_stream = config != NULL ? config->stream : launch->stream;
  return device_kernel_site(CUDA_TRACER, call->symbol, &shape);
}

static void begin_launch(enum what what, const struct cupti_call *call)
{
  size_t kernels = 1;
  bool is_alone = what != GRAPH_LAUNCH && waits_for_others(call->symbol);
  if (what == GRAPH_LAUNCH)
    cuda_batches_end(call->context);
  pthread_mutex_lock(&lock);
  if (what == GRAPH_LAUNCH) {
    const struct captured_graph *graph =
        cuda_captured_find(((const struct cuda_graph_launch *)call->parameters)->executable);
    kernels = graph == NULL ? 0 : graph->kernel_count;
    cuda_launch_counts.unknown_graphs += graph == NULL;
  }
  cuda_launch_counts.cooperating += is_alone;
  bool is_free = captures == 0;
  pthread_mutex_unlock(&lock);
  is_alone |= kernels == 0; // they may wait for others, too
  current.is_measured = is_free && !is_alone && cuda_batches_begin(call->context, call->context_id, kernels);
  current.is_begun = current.is_measured || (is_alone && cuda_batches_exclude(call->context, call->context_id));
}

// Under the lock. False: nothing ran, as the launch was captured.
static bool look_at_launch(enum what what, const struct cupti_call *call, struct batch_launch *launch,
                           void **ret_stream)
{
  if (what == GRAPH_LAUNCH) {
    const struct cuda_graph_launch *parameters = call->parameters;
    const struct captured_graph *graph = cuda_captured_find(parameters->executable);
    *ret_stream = parameters->stream;
    launch->kernel_count = graph == NULL ? 0 : graph->kernel_count;
    launch->kernels = graph == NULL ? NULL : graph->kernels;
  } else {
    launch->kernel_count = 1;
    launch->kernel = kernel_of(what, call, ret_stream);
  }
  if (current.node_id != 0 && what != GRAPH_LAUNCH) {
    cuda_captured_note(current.node_id, launch->kernel, *ret_stream);
    return false;
  }
  if (launch->result != 0)
    launch->kernel_count = 0;
  cuda_launch_counts.in_capture += captures > 0 ? launch->kernel_count : 0;
  return true;
}

static void end_launch(enum what what, bool is_per_thread, uint32_t cbid, const struct cupti_call *call)
{
  struct batch_launch launch = {.start = current.start,
                                .end = clock_now_ns(CLOCK_REALTIME),
                                .thread_id = (uint32_t)gettid(),
                                .result = call->result == NULL ? 0 : *call->result,
                                .is_measured = current.is_measured,
                                .is_begun = current.is_begun};
  void *stream = NULL;
  pthread_mutex_lock(&lock);
  const struct cuda_call *known = cuda_call_of(cupti, CUPTI_DOMAIN_DRIVER, cbid);
  launch.call = known == NULL ? NULL : known->site;
  bool has_run = look_at_launch(what, call, &launch, &stream);
  pthread_mutex_unlock(&lock);
  if (!has_run && !launch.is_measured) {
    if (launch.is_begun)
      cuda_batches_release(call->context, call->context_id);
    return;
  }
  if (!has_run)
    launch.kernel_count = 0;
  if (cupti->get_stream_id == NULL ||
      cupti->get_stream_id(call->context, stream, is_per_thread, &launch.stream) != CUPTI_OK)
    launch.stream = 0;
  cuda_batches_add(call->context, call->context_id, &launch);
}

// ---- callbacks
static void begin_call(enum what what, const struct cupti_call *call)
{
  current.node_id = 0;
  current.instantiates = what == INSTANTIATE;
  if (what == CAPTURE_BEGIN) // what CUPTI does between batches may end a capture
    cuda_batches_end(call->context);
  if (what == LAUNCH || what == LAUNCH_EX || what == GRAPH_LAUNCH)
    begin_launch(what, call);
  current.start = clock_now_ns(CLOCK_REALTIME);
}

// Of calls that are not launches; under the lock.
static void note_call(enum what what, const struct cupti_call *call)
{
  bool has_worked = call->result != NULL && *call->result == 0;
  current.instantiates = false;
  if (what == CAPTURE_BEGIN)
    captures += has_worked;
  else if (what == CAPTURE_END)
    captures -= captures > 0;
  else if (what == CHANGE)
    cuda_captured_forget(*(void *const *)call->parameters);
  else
    cuda_captured_end(&current.nodes,
                      has_worked ? *((const struct cuda_instantiate *)call->parameters)->ret_executable : NULL);
}

static void end_call(enum what what, bool is_per_thread, uint32_t cbid, const struct cupti_call *call)
{
  if (what == LAUNCH || what == LAUNCH_EX || what == GRAPH_LAUNCH) {
    end_launch(what, is_per_thread, cbid, call);
    return;
  }
  SCOPED_LOCK(&lock);
  note_call(what, call);
}

static void note_node(uint32_t cbid, const struct cupti_graph *graph)
{
  uint64_t id = 0, original_id = 0;
  if (graph == NULL || graph->node_type != 0 || cupti->get_graph_node_id == NULL ||
      cupti->get_graph_node_id(graph->node, &id) != CUPTI_OK)
    return;
  if (cbid == CUPTI_NODE_CREATED)
    current.node_id = current.depth > 0 ? id : 0;
  else if (cupti->get_graph_node_id(graph->original_node, &original_id) == CUPTI_OK) {
    SCOPED_LOCK(&lock);
    cuda_captured_copy(id, original_id);
    if (current.instantiates)
      cuda_captured_add(&current.nodes, id);
  }
}

void cuda_launches_callback(uint32_t domain, uint32_t cbid, const void *details)
{
  if (details == NULL || __atomic_load_n(&owner, __ATOMIC_ACQUIRE) != getpid())
    return;
  if (domain == CUPTI_DOMAIN_RESOURCE && cbid == CUPTI_CONTEXT_ENDS) {
    cuda_batches_forget(((const struct cupti_resource *)details)->context);
  } else if (domain == CUPTI_DOMAIN_RESOURCE && (cbid == CUPTI_NODE_CREATED || cbid == CUPTI_NODE_CLONED)) {
    note_node(cbid, ((const struct cupti_resource *)details)->descriptor);
  } else if (domain == CUPTI_DOMAIN_DRIVER && cbid < CALLS_MOST && kinds[cbid].what != OTHER) {
    const struct cupti_call *call = details;
    if (call->parameters == NULL)
      return;
    if (call->is_exit == 0 && current.depth++ == 0)
      begin_call((enum what)kinds[cbid].what, call);
    else if (call->is_exit != 0 && current.depth > 0 && --current.depth == 0)
      end_call((enum what)kinds[cbid].what, kinds[cbid].is_per_thread, cbid, call);
  }
}

void cuda_launches_finish(void)
{
  if (__atomic_load_n(&owner, __ATOMIC_ACQUIRE) == getpid())
    cuda_batches_finish();
}
