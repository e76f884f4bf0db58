// SPDX-License-Identifier: Apache-2.0
// Inside the simulated libcupti: records in a client's buffers. The layouts are the vendor's, of a chosen version.
#ifndef XSP_TESTS_PROFILER_H
#define XSP_TESTS_PROFILER_H

#include "simulator.h"

#include <cupti.h>
#include <stddef.h>

#define RECORD_MAXIMUM 256

// Kinds that no version has: one that this version steps over, and one that it does not.
#define KIND_UNKNOWN ((CUpti_ActivityKind)200)
#define KIND_INVALID ((CUpti_ActivityKind)201)

// faults.c
bool faults_hits(const char *fault, unsigned one_in); // at random; false without the fault
void count(enum simulator_count what);
void count_most(enum simulator_count what, uint64_t value);
uint64_t now_ns(void); // CLOCK_REALTIME

// layouts.c
uint32_t layouts_version(void);               // what cuptiGetVersion returns
size_t layouts_size(CUpti_ActivityKind kind); // 0: this version has no such kind
size_t layouts_operation(const struct simulator_operation *operation, void *ret_record); // returns the record's size
size_t layouts_call(const struct simulator_call *call, uint32_t thread_id, void *ret_record);
size_t layouts_memory(const struct simulator_memory *memory, void *ret_record);
size_t layouts_pool(const struct simulator_memory *memory, void *ret_record);
size_t layouts_synchronization(const struct simulator_call *call, int type, uint32_t stream_id, uint32_t event_id,
                               uint64_t end_ns, void *ret_record);
size_t layouts_device(uint32_t device, void *ret_record);
size_t layouts_overhead(uint64_t start_ns, uint64_t end_ns, void *ret_record); // of asking for a buffer

// buffers.c
void buffers_use(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
void buffers_put(const void *record, size_t size); // drops and counts where there is no buffer
void buffers_flush(void);
size_t buffers_take_dropped(void);
extern bool buffers_are_per_thread;

// disorder.c
void disorder_put(const void *record, size_t size); // of the device; with the fault out-of-order, later and shuffled
void disorder_flush(void);

// callbacks.c
void callbacks_call(CUpti_ApiCallbackSite site, struct simulator_call *call);
void callbacks_graph(int cbid, CUgraph graph, CUgraphNode node, CUgraphNode original, CUgraphExec executable);
void callbacks_context(int cbid, CUcontext context);
void callbacks_module(int cbid, CUcontext context, const char *image, size_t size);
const char *callbacks_name(CUpti_CallbackDomain domain, uint32_t cbid); // NULL: none

// pc_sampling.c
void pc_sampling_load(void); // the vendor's library, early: it ends after what is registered with atexit later
void pc_sampling_kernel(const struct simulator_operation *operation); // one has ended
bool pc_sampling_is_serialized(CUcontext context);                    // each launch waits for its kernel
void pc_sampling_module(int cbid, const char *image, size_t size);    // after the callback

// several.c
bool several_allow(const CUpti_SubscriberParams *parameters); // false: the wish for several subscribers cannot be had
void several_subscribed(CUpti_SubscriberHandle subscriber);
bool several_refuse(void); // a function of one subscriber was called where there may be several

// activity.c
void *activity_connect(void); // to libcuda, of which it returns the handle; NULL: it is not loaded
bool activity_is_enabled(CUpti_ActivityKind kind);

// profiler_ranges.c
unsigned ranges_replays(CUcontext context, const char *kernel); // as in struct simulator_profiler
void ranges_kernel_ended(const struct simulator_operation *operation);
// profiler_sampling.c
void sampling_kernel_ended(const struct simulator_operation *operation);

// made of the vendor's headers
extern const char *const driver_names[], *const runtime_names[];
extern const unsigned driver_names_count, runtime_names_count;
#endif
