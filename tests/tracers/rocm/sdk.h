// SPDX-License-Identifier: Apache-2.0
// The parts of the simulated librocprofiler-sdk.
#ifndef XSP_TESTS_ROCM_SDK_H
#define XSP_TESTS_ROCM_SDK_H

#include "simulator.h"

#include "tracers/rocm/abi.h"

extern uint32_t sdk_version;      // XSP_SIM_VERSION: "1.0.0" is 10000
bool fault(const char *name);     // one of XSP_SIM_FAULTS
bool fault_now(const char *name); // the same, and this time it happens: one time of three, by XSP_SIM_SEED
void count(enum simulator_count which);
uint64_t sdk_now(void); // as rocprofiler_get_timestamp

// sdk_records.c: kinds by the numbers of the version.
enum sdk_kind { SDK_HIP, SDK_COPY, SDK_KERNEL, SDK_SCRATCH, SDK_ALLOCATION, SDK_OTHER, SDK_KINDS };
uint32_t sdk_kind_number(enum sdk_kind kind); // 0: the version does not have it
const char *sdk_kind_name(uint32_t number);   // NULL: no such kind
bool sdk_is_traced(enum sdk_kind kind, uint32_t operation);
void sdk_trace(uint32_t number, const uint32_t *operations, size_t count);
void sdk_record_call(enum simulated_call call, uint64_t correlation_id, uint64_t start, uint64_t end);
void sdk_record_work(const struct simulated_work *work);
void sdk_record_scratch(uint32_t gpu, uint64_t start);
void sdk_record_allocation(uint32_t agent, const void *address, size_t bytes, bool is_release, uint64_t correlation_id,
                           uint64_t start);

// sdk_counters.c: counters of a kernel that is launched, and that has ended.
void sdk_begin_dispatch(struct simulated_work *work);
void sdk_end_dispatch(const struct simulated_work *work);

// sdk_samples.c: of a kernel that has ended; where kernels begin in the one code object.
#define SDK_CODE 7u
#define SDK_CODE_BASE UINT64_C(0x700000)
extern bool sdk_wants_code;
bool sdk_loads_now(void); // once: its event comes before those of kernels
uint64_t sdk_kernel_offset(uint64_t kernel_id);
void sdk_sample(const struct simulated_work *work);

// sdk_buffer.c: the one buffer.
int sdk_make_buffer(size_t bytes, size_t watermark, int policy, rocm_buffer_callback *callback, void *data);
void sdk_put(uint32_t category, uint32_t kind, const void *record, size_t size); // may wait
int sdk_flush(void);
void sdk_wait_for_hang(void); // until a flush hangs, where that is a fault

#endif
