// SPDX-License-Identifier: Apache-2.0
// cupti_client LIBCUPTI DUMP: a minimal client of CUPTI, for the check of the simulator in test_cuda_simulator.py. It does a
// little work on the GPU, prints each record that it got as a JSON object, and dumps the buffers: size, then bytes.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES 8192 // a few records each

static void *cupti;
static FILE *dump;
static unsigned buffers, enters, exits, created, cloned, executables, contexts, blocks, devices, streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define CUPTI(function) ((__typeof__(&function))dlsym(cupti, #function))
#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    int result = (int)(call);                                                                                          \
    if (result != 0) {                                                                                                 \
      printf("{\"failed\": \"%s\", \"result\": %d}\n", #call, result);                                                 \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static void requested(uint8_t **buffer, size_t *size, size_t *records_maximum)
{
  *buffer = aligned_alloc(8, BUFFER_BYTES);
  *size = BUFFER_BYTES;
  *records_maximum = 0;
}

static void print_details(const CUpti_Activity *record)
{
  switch (record->kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
    const CUpti_ActivityKernel11 *k = (const void *)record;
    printf(", \"name\": \"%s\", \"grid\": [%d, %d, %d], \"block\": [%d, %d, %d], \"shared\": %d, \"stream\": %u, "
           "\"context\": %u, \"correlation\": %u, \"start\": %lu, \"end\": %lu, \"graph\": %u, \"node\": %lu",
           k->name ? k->name : "", k->gridX, k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ,
           k->dynamicSharedMemory, k->streamId, k->contextId, k->correlationId, k->start, k->end, k->graphId,
           k->graphNodeId);
    return;
  }
  case CUPTI_ACTIVITY_KIND_MEMCPY: {
    const CUpti_ActivityMemcpy6 *m = (const void *)record;
    printf(", \"bytes\": %lu, \"copy\": %d, \"stream\": %u, \"correlation\": %u, \"start\": %lu, \"end\": %lu",
           m->bytes, m->copyKind, m->streamId, m->correlationId, m->start, m->end);
    return;
  }
  case CUPTI_ACTIVITY_KIND_MEMSET: {
    const CUpti_ActivityMemset4 *m = (const void *)record;
    printf(", \"bytes\": %lu, \"value\": %u, \"stream\": %u, \"correlation\": %u, \"start\": %lu, \"end\": %lu",
           m->bytes, m->value, m->streamId, m->correlationId, m->start, m->end);
    return;
  }
  case CUPTI_ACTIVITY_KIND_DRIVER:
  case CUPTI_ACTIVITY_KIND_RUNTIME: {
    const CUpti_ActivityAPI *a = (const void *)record;
    const char *name = "";
    CUPTI(cuptiGetCallbackName)
    (a->kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, a->cbid, &name);
    printf(", \"name\": \"%s\", \"thread\": %u, \"correlation\": %u, \"start\": %lu, \"end\": %lu, \"result\": %u",
           name, a->threadId, a->correlationId, a->start, a->end, a->returnValue);
    return;
  }
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
    const CUpti_ActivitySynchronization2 *s = (const void *)record;
    printf(", \"type\": %d, \"correlation\": %u, \"start\": %lu, \"end\": %lu", s->type, s->correlationId, s->start,
           s->end);
    return;
  }
  case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
    const CUpti_ActivityExternalCorrelation *e = (const void *)record;
    printf(", \"external\": %lu, \"correlation\": %u", e->externalId, e->correlationId);
    return;
  }
  default:
    return;
  }
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
  (void)context, (void)stream, (void)size;
  pthread_mutex_lock(&lock);
  buffers++;
  CUpti_Activity *record = NULL;
  while (CUPTI(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS) {
    printf("{\"buffer\": %u, \"offset\": %td, \"kind\": %d", buffers, (uint8_t *)record - buffer, record->kind);
    print_details(record);
    printf("}\n");
  }
  fwrite(&valid, sizeof valid, 1, dump);
  fwrite(buffer, 1, valid, dump);
  pthread_mutex_unlock(&lock);
  free(buffer);
}

static void called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *about)
{
  (void)data;
  const CUpti_CallbackData *call = about;
  uint32_t device = 0, stream = 0;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    contexts++;
    MUST(CUPTI(cuptiGetDeviceId)(((const CUpti_ResourceData *)about)->context, &device));
    devices |= 1u << device;
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const CUpti_GraphData *graph = ((const CUpti_ResourceData *)about)->resourceDescriptor;
    uint64_t node = 0;
    created += cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED && graph->nodeType == CU_GRAPH_NODE_TYPE_KERNEL &&
               CUPTI(cuptiGetGraphNodeId)(graph->node, &node) == CUPTI_SUCCESS && node > 0;
    cloned += cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && graph->originalNode != NULL;
    executables += cbid == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED;
  } else if (call->callbackSite == CUPTI_API_ENTER) {
    const cuLaunchKernel_params *launch = call->functionParams;
    enters++;
    blocks += launch->gridDimX;
    MUST(CUPTI(cuptiGetStreamIdEx)(call->context, launch->hStream, 0, &stream));
    streams |= 1u << (stream & 31);
  } else {
    exits++;
  }
}

static void enable(void)
{
  CUpti_SubscriberHandle subscriber = NULL;
  MUST(CUPTI(cuptiSubscribe)(&subscriber, called, NULL));
  MUST(CUPTI(cuptiSetThreadIdType)(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
  MUST(CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
  MUST(CUPTI(cuptiEnableCallback)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  MUST(CUPTI(cuptiActivityRegisterCallbacks)(requested, completed));
  static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_MEMCPY,
                                             CUPTI_ACTIVITY_KIND_MEMCPY2,
                                             CUPTI_ACTIVITY_KIND_MEMSET,
                                             CUPTI_ACTIVITY_KIND_OVERHEAD,
                                             CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                             CUPTI_ACTIVITY_KIND_MEMORY2,
                                             CUPTI_ACTIVITY_KIND_DRIVER,
                                             CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    MUST(CUPTI(cuptiActivityEnable)(kinds[i]));
}

// 6 kernels of which 2 are of a graph, a copy, a peer copy, a set.
static void work(void)
{
  CUcontext context = NULL, other = NULL;
  CUfunction kernel = NULL;
  CUstream stream = NULL;
  CUdeviceptr memory = 0, there = 0;
  CUgraph graph = NULL;
  CUgraphExec executable = NULL;
  MUST(cuDevicePrimaryCtxRetain(&other, 1));
  MUST(cuCtxSetCurrent(other));
  MUST(cuMemAlloc(&there, 64));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxSetCurrent(context));
  MUST(cuModuleGetFunction(&kernel, NULL, "_Z3addPf"));
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuMemAlloc(&memory, 64));
  MUST(cuMemsetD8Async(memory, 7, 64, stream));
  MUST(CUPTI(cuptiActivityPushExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 77));
  for (unsigned i = 0; i < 3; i++)
    MUST(cuLaunchKernel(kernel, i + 1, 2, 3, 32, 4, 1, 256, stream, NULL, NULL));
  MUST(CUPTI(cuptiActivityPopExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, NULL));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyPeerAsync(there, other, memory, context, 64, NULL));
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (unsigned i = 0; i < 2; i++)
    MUST(cuLaunchKernel(kernel, 9, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiate(&executable, graph, 0));
  MUST(cuGraphLaunch(executable, stream));
  unsigned char back[64] = {0};
  MUST(cuMemcpyDtoH(back, there, 64));
  MUST(cuLaunchKernel(kernel, 5, 5, 5, 8, 8, 8, 0, stream, NULL, NULL));
  MUST(cuCtxSynchronize());
  MUST(cuMemFree(memory));
  printf("{\"thread\": %d, \"back\": %d}\n", gettid(), back[63]);
}

int main(int count, char **arguments)
{
  cupti = count == 3 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  dump = cupti ? fopen(arguments[2], "w") : NULL;
  if (!dump)
    return 2;
  enable();
  MUST(cuInit(0));
  work();
  MUST(CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  size_t dropped = 99;
  uint32_t version = 0;
  MUST(CUPTI(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped));
  MUST(CUPTI(cuptiGetVersion)(&version));
  printf("{\"dropped\": %zu, \"version\": %u, \"enters\": %u, \"exits\": %u, \"created\": %u, \"cloned\": %u, "
         "\"executables\": %u, \"contexts\": %u, \"blocks\": %u, \"devices\": %u, \"streams\": %u}\n",
         dropped, version, enters, exits, created, cloned, executables, contexts, blocks, devices, streams);
  return fclose(dump);
}
