// SPDX-License-Identifier: Apache-2.0
// abi.h against the vendor's headers, of the version that is installed: compiled, never run.
#include "tracers/rocm/abi.h"

#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#ifdef ROCPROFILER_SDK_VERSION
#define VERSION ROCPROFILER_SDK_VERSION
#else
#define VERSION ROCPROFILER_VERSION
#endif

#define SIZE(type, field) sizeof(((type *)0)->field)
#define SAME(ours, our_field, theirs, their_field)                                                                     \
  _Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field) &&                                  \
                     SIZE(struct ours, our_field) == SIZE(theirs, their_field),                                        \
                 #theirs "." #their_field)
// What follows `before` bytes: the ids of struct rocm_record, and in later versions one more.
#define AFTER(before, ours, our_field, theirs, their_field)                                                            \
  _Static_assert((before) + offsetof(struct ours, our_field) == offsetof(theirs, their_field) &&                       \
                     SIZE(struct ours, our_field) == SIZE(theirs, their_field),                                        \
                 #theirs "." #their_field)
#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define IDS (sizeof(struct rocm_record) + (VERSION >= ROCM_VERSION_LONG_IDS ? sizeof(uint64_t) : 0))

EQUAL(ROCM_OK, ROCPROFILER_STATUS_SUCCESS);
EQUAL(ROCM_CATEGORY_TRACING, ROCPROFILER_BUFFER_CATEGORY_TRACING);
EQUAL(ROCM_POLICY_LOSSLESS, ROCPROFILER_BUFFER_POLICY_LOSSLESS);
EQUAL(ROCM_AGENT_VERSION, ROCPROFILER_AGENT_INFO_VERSION_0);
EQUAL(ROCM_AGENT_GPU, ROCPROFILER_AGENT_TYPE_GPU);
EQUAL(ROCM_PHASE_LOAD, ROCPROFILER_CALLBACK_PHASE_LOAD);
EQUAL(ROCM_PHASE_ENTER, ROCPROFILER_CALLBACK_PHASE_ENTER);
EQUAL(ROCM_PHASE_EXIT, ROCPROFILER_CALLBACK_PHASE_EXIT);
EQUAL(1, ROCPROFILER_MEMORY_COPY_HOST_TO_HOST);
EQUAL(2, ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE);
EQUAL(3, ROCPROFILER_MEMORY_COPY_DEVICE_TO_HOST);
EQUAL(4, ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE);
EQUAL(ROCM_SCRATCH_ALLOCATE, ROCPROFILER_SCRATCH_MEMORY_ALLOC);
EQUAL(ROCM_SCRATCH_FREE, ROCPROFILER_SCRATCH_MEMORY_FREE);
EQUAL(ROCM_SCRATCH_RECLAIM, ROCPROFILER_SCRATCH_MEMORY_ASYNC_RECLAIM);

SAME(rocm_header, category, rocprofiler_record_header_t, category);
SAME(rocm_header, kind, rocprofiler_record_header_t, kind);
SAME(rocm_header, payload, rocprofiler_record_header_t, payload);

#define CALL rocprofiler_buffer_tracing_hip_api_record_t
SAME(rocm_record, size, CALL, size);
SAME(rocm_record, kind, CALL, kind);
SAME(rocm_record, operation, CALL, operation);
SAME(rocm_record, correlation_id, CALL, correlation_id.internal);
SAME(rocm_record, external_id, CALL, correlation_id.external);
AFTER(IDS, rocm_call, start, CALL, start_timestamp);
AFTER(IDS, rocm_call, end, CALL, end_timestamp);
AFTER(IDS, rocm_call, thread_id, CALL, thread_id);
AFTER(IDS, rocm_call, start, rocprofiler_buffer_tracing_hsa_api_record_t, start_timestamp);
AFTER(IDS, rocm_call, thread_id, rocprofiler_buffer_tracing_hsa_api_record_t, thread_id);

#define KERNEL rocprofiler_buffer_tracing_kernel_dispatch_record_t
SAME(rocm_kernel, record.correlation_id, KERNEL, correlation_id.internal);
SAME(rocm_kernel, thread_id, KERNEL, thread_id);
SAME(rocm_kernel, start, KERNEL, start_timestamp);
SAME(rocm_kernel, end, KERNEL, end_timestamp);
SAME(rocm_kernel, info.agent, KERNEL, dispatch_info.agent_id);
SAME(rocm_kernel, info.queue, KERNEL, dispatch_info.queue_id);
SAME(rocm_kernel, info.kernel_id, KERNEL, dispatch_info.kernel_id);
SAME(rocm_kernel, info.private_bytes, KERNEL, dispatch_info.private_segment_size);
SAME(rocm_kernel, info.group_bytes, KERNEL, dispatch_info.group_segment_size);
SAME(rocm_kernel, info.workgroup, KERNEL, dispatch_info.workgroup_size);
SAME(rocm_kernel, info.grid, KERNEL, dispatch_info.grid_size);

#define COPY rocprofiler_buffer_tracing_memory_copy_record_t
SAME(rocm_copy, record.correlation_id, COPY, correlation_id.internal);
SAME(rocm_copy, start, COPY, start_timestamp);
SAME(rocm_copy, end, COPY, end_timestamp);
SAME(rocm_copy, to_agent, COPY, dst_agent_id);
SAME(rocm_copy, from_agent, COPY, src_agent_id);
SAME(rocm_copy, bytes, COPY, bytes);

#if VERSION >= 600 // ROCm 6.4
EQUAL(ROCM_ALLOCATE, ROCPROFILER_MEMORY_ALLOCATION_ALLOCATE);
EQUAL(ROCM_VMEM_ALLOCATE, ROCPROFILER_MEMORY_ALLOCATION_VMEM_ALLOCATE);
EQUAL(ROCM_FREE, ROCPROFILER_MEMORY_ALLOCATION_FREE);
EQUAL(ROCM_VMEM_FREE, ROCPROFILER_MEMORY_ALLOCATION_VMEM_FREE);
#define ALLOCATION rocprofiler_buffer_tracing_memory_allocation_record_t
AFTER(IDS, rocm_allocation, thread_id, ALLOCATION, thread_id);
AFTER(IDS, rocm_allocation, end, ALLOCATION, end_timestamp);
AFTER(IDS, rocm_allocation, agent, ALLOCATION, agent_id);
AFTER(IDS, rocm_allocation, address, ALLOCATION, address);
AFTER(IDS, rocm_allocation, bytes, ALLOCATION, allocation_size);
EQUAL(ROCM_CODE_KERNEL, ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER);
#endif

#define SCRATCH rocprofiler_buffer_tracing_scratch_memory_record_t
#define BEFORE_SCRATCH (VERSION >= ROCM_VERSION_SCRATCH_IDS ? IDS : offsetof(struct rocm_record, correlation_id))
AFTER(BEFORE_SCRATCH, rocm_scratch, agent, SCRATCH, agent_id);
AFTER(BEFORE_SCRATCH, rocm_scratch, start, SCRATCH, start_timestamp);
AFTER(BEFORE_SCRATCH, rocm_scratch, end, SCRATCH, end_timestamp);

#define CODE rocprofiler_callback_tracing_record_t
#define CODE_IDS (IDS - sizeof(struct rocm_record) + sizeof(struct rocm_event))
SAME(rocm_event, correlation_id, CODE, correlation_id.internal);
AFTER(CODE_IDS, rocm_event_end, kind, CODE, kind);
AFTER(CODE_IDS, rocm_event_end, operation, CODE, operation);
AFTER(CODE_IDS, rocm_event_end, phase, CODE, phase);
AFTER(CODE_IDS, rocm_event_end, payload, CODE, payload);

#define SYMBOL rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t
SAME(rocm_symbol, kernel_id, SYMBOL, kernel_id);
SAME(rocm_symbol, name, SYMBOL, kernel_name);
SAME(rocm_symbol, scalar_registers, SYMBOL, sgpr_count);
SAME(rocm_symbol, vector_registers, SYMBOL, arch_vgpr_count);
SAME(rocm_symbol, accumulation_registers, SYMBOL, accum_vgpr_count);

EQUAL(ROCM_MARK, ROCPROFILER_MARKER_CORE_API_ID_roctxMarkA);
EQUAL(ROCM_PUSH, ROCPROFILER_MARKER_CORE_API_ID_roctxRangePushA);
EQUAL(ROCM_POP, ROCPROFILER_MARKER_CORE_API_ID_roctxRangePop);
EQUAL(ROCM_START, ROCPROFILER_MARKER_CORE_API_ID_roctxRangeStartA);
EQUAL(ROCM_STOP, ROCPROFILER_MARKER_CORE_API_ID_roctxRangeStop);
#define MARKER rocprofiler_callback_tracing_marker_api_data_t
SAME(rocm_marker, message, MARKER, args.roctxMarkA.message);
SAME(rocm_marker, message, MARKER, args.roctxRangePushA.message);
SAME(rocm_marker, message, MARKER, args.roctxRangeStartA.message);
SAME(rocm_marker, range, MARKER, args.roctxRangeStop.id);
SAME(rocm_marker, started_range, MARKER, retval.roctx_range_id_t_retval);

#define HIP rocprofiler_callback_tracing_hip_api_data_t
_Static_assert(sizeof(HIP) - offsetof(HIP, retval.hipError_t_retval) == ROCM_HIP_RESULT_BYTES, "result");
_Static_assert(sizeof(HIP) >= sizeof(struct rocm_hip_call) + ROCM_HIP_RESULT_BYTES, "arguments");
SAME(rocm_hip_call, arguments.begin.stream, HIP, args.hipStreamBeginCapture.stream);
SAME(rocm_hip_call, arguments.end.ret_graph, HIP, args.hipStreamEndCapture.pGraph);
SAME(rocm_hip_call, arguments.instantiate.ret_executable, HIP, args.hipGraphInstantiate.pGraphExec);
SAME(rocm_hip_call, arguments.instantiate.graph, HIP, args.hipGraphInstantiate.graph);
SAME(rocm_hip_call, arguments.instantiate.graph, HIP, args.hipGraphInstantiateWithFlags.graph);
SAME(rocm_hip_call, arguments.instantiate.graph, HIP, args.hipGraphInstantiateWithParams.graph);
SAME(rocm_hip_call, arguments.launch_graph.executable, HIP, args.hipGraphLaunch.graphExec);
SAME(rocm_hip_call, arguments.record.stream, HIP, args.hipEventRecord.stream);
SAME(rocm_hip_call, arguments.launch.function, HIP, args.hipLaunchKernel.function_address);
SAME(rocm_hip_call, arguments.launch.stream, HIP, args.hipLaunchKernel.stream);
SAME(rocm_hip_call, arguments.launch.stream, HIP, args.hipExtLaunchKernel.stream);
SAME(rocm_hip_call, arguments.launch_module.stream, HIP, args.hipModuleLaunchKernel.stream);
SAME(rocm_hip_call, arguments.launch_extended.stream, HIP, args.hipExtModuleLaunchKernel.stream);

#if VERSION >= ROCM_VERSION_LONG_IDS
#define DISPATCH rocprofiler_dispatch_counting_service_data_t
_Static_assert(sizeof(struct rocm_dispatch) == sizeof(DISPATCH), "passed by value");
SAME(rocm_dispatch, correlation_id, DISPATCH, correlation_id.internal);
SAME(rocm_dispatch, start, DISPATCH, start_timestamp);
SAME(rocm_dispatch, end, DISPATCH, end_timestamp);
SAME(rocm_dispatch, info.agent, DISPATCH, dispatch_info.agent_id);
SAME(rocm_dispatch, info.grid, DISPATCH, dispatch_info.grid_size);
_Static_assert(sizeof(struct rocm_counter_value) == sizeof(rocprofiler_counter_record_t), "an array of them");
SAME(rocm_counter_value, id, rocprofiler_counter_record_t, id);
SAME(rocm_counter_value, value, rocprofiler_counter_record_t, counter_value);
_Static_assert(sizeof(struct rocm_counter_info) == sizeof(rocprofiler_counter_info_v0_t), "written by theirs");
SAME(rocm_counter_info, name, rocprofiler_counter_info_v0_t, name);
EQUAL(ROCM_COUNTER_INFO_VERSION, ROCPROFILER_COUNTER_INFO_VERSION_0);
#endif

#if VERSION >= ROCM_VERSION_LONG_IDS
EQUAL(ROCM_CATEGORY_SAMPLES, ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING);
EQUAL(ROCM_CODE_LOADED, ROCPROFILER_CODE_OBJECT_LOAD);
SAME(rocm_symbol_long, entry, SYMBOL, kernel_address);
#define LOADED rocprofiler_callback_tracing_code_object_load_data_t
SAME(rocm_code, code_object_id, LOADED, code_object_id);
SAME(rocm_code, agent, LOADED, agent_id);
SAME(rocm_code, base, LOADED, load_base);
EQUAL(ROCM_STOCHASTIC, ROCPROFILER_PC_SAMPLING_METHOD_STOCHASTIC);
EQUAL(ROCM_HOST_TRAP, ROCPROFILER_PC_SAMPLING_METHOD_HOST_TRAP);
EQUAL(ROCM_SAMPLES_POWER_OF_2, ROCPROFILER_PC_SAMPLING_CONFIGURATION_FLAGS_INTERVAL_POW2);
#define CONFIG rocprofiler_pc_sampling_configuration_t
_Static_assert(sizeof(struct rocm_sample_config) == sizeof(CONFIG), "an array of them");
SAME(rocm_sample_config, method, CONFIG, method);
SAME(rocm_sample_config, unit, CONFIG, unit);
SAME(rocm_sample_config, least, CONFIG, min_interval);
SAME(rocm_sample_config, most, CONFIG, max_interval);
SAME(rocm_sample_config, flags, CONFIG, flags);
EQUAL(ROCM_SAMPLE_BY_HOST, ROCPROFILER_PC_SAMPLING_RECORD_HOST_TRAP_V0_SAMPLE);
EQUAL(ROCM_SAMPLE_STOCHASTIC, ROCPROFILER_PC_SAMPLING_RECORD_STOCHASTIC_V0_SAMPLE);
#define BY_HOST rocprofiler_pc_sampling_record_host_trap_v0_t
SAME(rocm_sample_by_host, place.code_object_id, BY_HOST, pc.code_object_id);
SAME(rocm_sample_by_host, place.offset, BY_HOST, pc.code_object_offset);
#define STOCHASTIC rocprofiler_pc_sampling_record_stochastic_v0_t
SAME(rocm_sample_stochastic, wave, STOCHASTIC, wave_in_group); // a byte later: bits of `issue`
SAME(rocm_sample_stochastic, place.code_object_id, STOCHASTIC, pc.code_object_id);
SAME(rocm_sample_stochastic, place.offset, STOCHASTIC, pc.code_object_offset);
SAME(rocm_sample_stochastic, time, STOCHASTIC, timestamp);
SAME(rocm_sample_stochastic, correlation_id, STOCHASTIC, correlation_id.internal);
SAME(rocm_sample_stochastic, snapshot, STOCHASTIC, snapshot);
EQUAL(ROCM_SAMPLE_REASONS, ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_LAST);
EQUAL(3, ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT); // in the order of samples.c
EQUAL(9, ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_SLEEP_WAIT);
#endif

SAME(rocm_agent, id, rocprofiler_agent_v0_t, id);
SAME(rocm_agent, type, rocprofiler_agent_v0_t, type);
SAME(rocm_tool, initialize, rocprofiler_tool_configure_result_t, initialize);
SAME(rocm_tool, finalize, rocprofiler_tool_configure_result_t, finalize);
SAME(rocm_tool, data, rocprofiler_tool_configure_result_t, tool_data);
