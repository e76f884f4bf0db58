// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: its one subscriber and the callbacks; names of calls and of results.
#include "profiler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CBIDS 1024

static CUpti_CallbackFunc callback; // atomic; NULL: no subscriber
static void *callback_data;
static char subscriber_name[64];
static uint8_t wanted[CUPTI_CB_DOMAIN_STATE + 1][CBIDS], is_asked[CUPTI_CB_DOMAIN_STATE + 1][CBIDS];
static int handle; // its address is the only subscriber's handle

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function, void *data,
                             CUpti_SubscriberParams *parameters)
{
  count(COUNT_ENTRIES);
  if (simulator_has_fault("subscribe-fails") || !activity_connect())
    return CUPTI_ERROR_UNKNOWN;
  if (!several_allow(parameters))
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const char *holder = simulator_has_fault("subscriber") ? "Nsight Systems" : subscriber_name;
  if (simulator_has_fault("subscriber") || __atomic_load_n(&callback, __ATOMIC_ACQUIRE)) {
    if (parameters && parameters->oldSubscriberName)
      snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "%s", holder);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  snprintf(subscriber_name, sizeof subscriber_name, "%s",
           parameters && parameters->subscriberName ? parameters->subscriberName : "");
  pc_sampling_load();
  callback_data = data;
  __atomic_store_n(&callback, function, __ATOMIC_RELEASE);
  *subscriber = (CUpti_SubscriberHandle)&handle;
  several_subscribed(*subscriber);
  count(COUNT_SUBSCRIPTIONS);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function, void *data)
{
  return subscribe(subscriber, function, data, NULL);
}

EXPORTED CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function, void *data,
                                       CUpti_SubscriberParams *parameters)
{
  return subscribe(subscriber, function, data, parameters);
}

EXPORTED CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
  count(COUNT_ENTRIES);
  if (subscriber != (CUpti_SubscriberHandle)&handle)
    return CUPTI_ERROR_INVALID_PARAMETER;
  __atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
  memset(wanted, 0, sizeof wanted);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
  count(COUNT_ENTRIES);
  if (subscriber != (CUpti_SubscriberHandle)&handle || domain > CUPTI_CB_DOMAIN_STATE || cbid >= CBIDS)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (simulator_has_fault("callbacks-late") &&
      __atomic_exchange_n(&is_asked[domain][cbid], true, __ATOMIC_RELAXED) == 0)
    return CUPTI_ERROR_NOT_READY;
  __atomic_store_n(&wanted[domain][cbid], enable != 0, __ATOMIC_RELAXED);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
  count(COUNT_ENTRIES);
  if (subscriber != (CUpti_SubscriberHandle)&handle || domain > CUPTI_CB_DOMAIN_STATE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  for (unsigned cbid = 0; cbid < CBIDS; cbid++)
    __atomic_store_n(&wanted[domain][cbid], enable != 0, __ATOMIC_RELAXED);
  return CUPTI_SUCCESS;
}

const char *callbacks_name(CUpti_CallbackDomain domain, uint32_t cbid)
{
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < driver_names_count)
    return driver_names[cbid];
  return domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < runtime_names_count ? runtime_names[cbid] : NULL;
}

EXPORTED CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
  count(COUNT_ENTRIES);
  *name = callbacks_name(domain, cbid);
  return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

// Of the simulator's own: whether the client wants callbacks of this call.
EXPORTED int cuptiSimulatorWants(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
  return __atomic_load_n(&wanted[domain][cbid], __ATOMIC_RELAXED);
}

static void call_back(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
  CUpti_CallbackFunc function = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
  if (function && cbid < CBIDS && __atomic_load_n(&wanted[domain][cbid], __ATOMIC_RELAXED))
    function(callback_data, domain, cbid, data);
}

void callbacks_call(CUpti_ApiCallbackSite site, struct simulator_call *call)
{
  CUpti_CallbackDomain domain =
      call->api == SIMULATOR_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  CUpti_CallbackData data = {.callbackSite = site,
                             .functionName = callbacks_name(domain, call->cbid),
                             .functionParams = call->parameters,
                             .functionReturnValue = &call->result,
                             .symbolName = call->symbol,
                             .context = call->context,
                             .contextUid = call->context_id,
                             .correlationData = &call->data,
                             .correlationId = call->correlation_id};
  call_back(domain, call->cbid, &data);
  if (site == CUPTI_API_ENTER && call->symbol && strncmp(call->symbol, "nccl", 4) == 0 &&
      simulator_has_fault("slow-launch"))
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); // what other threads do meanwhile
}

void callbacks_graph(int cbid, CUgraph graph, CUgraphNode node, CUgraphNode original, CUgraphExec executable)
{
  void *driver = activity_connect();
  __typeof__(&simulator_node_is_kernel) is_kernel =
      (__typeof__(&simulator_node_is_kernel))dlsym(driver, "simulator_node_is_kernel");
  CUpti_GraphData descriptor = {.graph = graph,
                                .node = node,
                                .originalNode = original,
                                .nodeType =
                                    !node || is_kernel(node) ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_MEMCPY,
                                .graphExec = executable};
  CUpti_ResourceData data = {.resourceDescriptor = &descriptor};
  call_back(CUPTI_CB_DOMAIN_RESOURCE, (uint32_t)cbid, &data);
}

// NULL: the last again.
void callbacks_context(int cbid, CUcontext context)
{
  static CUcontext last; // atomic
  if (context)
    __atomic_store_n(&last, context, __ATOMIC_RELAXED);
  CUpti_ResourceData data = {.context = __atomic_load_n(&last, __ATOMIC_RELAXED)};
  call_back(CUPTI_CB_DOMAIN_RESOURCE, (uint32_t)cbid, &data);
}

void callbacks_module(int cbid, CUcontext context, const char *image, size_t size)
{
  CUpti_ModuleResourceData module = {.moduleId = 1, .cubinSize = size, .pCubin = image};
  CUpti_ResourceData data = {.context = context, .resourceDescriptor = &module};
  call_back(CUPTI_CB_DOMAIN_RESOURCE, (uint32_t)cbid, &data);
  pc_sampling_module(cbid, image, size);
}

#define NAME(result)                                                                                                   \
  case result:                                                                                                         \
    *text = #result;                                                                                                   \
    return CUPTI_SUCCESS

EXPORTED CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
  count(COUNT_ENTRIES);
  switch (result) {
    NAME(CUPTI_SUCCESS);
    NAME(CUPTI_ERROR_INVALID_PARAMETER);
    NAME(CUPTI_ERROR_MAX_LIMIT_REACHED);
    NAME(CUPTI_ERROR_NOT_COMPATIBLE);
    NAME(CUPTI_ERROR_NOT_INITIALIZED);
    NAME(CUPTI_ERROR_INVALID_KIND);
    NAME(CUPTI_ERROR_NOT_SUPPORTED);
    NAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    NAME(CUPTI_ERROR_UNKNOWN);
  default:
    *text = "<unknown>";
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

EXPORTED CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
  return cuptiGetResultString(result, text);
}

#define FROM_DRIVER(function, argument, ret_value)                                                                     \
  count(COUNT_ENTRIES);                                                                                                \
  void *driver = activity_connect();                                                                                   \
  __typeof__(&function) asked = driver ? (__typeof__(&function))dlsym(driver, #function) : NULL;                       \
  if (!asked)                                                                                                          \
    return CUPTI_ERROR_NOT_INITIALIZED;                                                                                \
  *(ret_value) = asked(argument);                                                                                      \
  return CUPTI_SUCCESS

EXPORTED CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
  FROM_DRIVER(simulator_graph_id, graph, id);
}

EXPORTED CUptiResult cuptiGetGraphExecId(CUgraphExec executable, uint32_t *id)
{
  FROM_DRIVER(simulator_executable_id, executable, id);
}

EXPORTED CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
  FROM_DRIVER(simulator_node_id, node, id);
}

EXPORTED CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
  FROM_DRIVER(simulator_context_device, context, id);
}

EXPORTED CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t is_per_thread, uint32_t *id)
{
  (void)is_per_thread;
  count(COUNT_ENTRIES);
  void *driver = activity_connect();
  if (!driver || !context)
    return CUPTI_ERROR_INVALID_CONTEXT;
  *id = ((__typeof__(&simulator_stream_id))dlsym(driver, "simulator_stream_id"))(context, stream);
  return CUPTI_SUCCESS;
}
