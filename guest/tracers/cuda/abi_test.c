// SPDX-License-Identifier: Apache-2.0
// abi.h and profiler_abi.h against the vendor's headers: compiled, never run.
#include "tracers/cuda/abi.h"
#include "tracers/cuda/profiler_abi.h"

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#define SAME(ours, our_field, theirs, their_field)                                                                     \
  _Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field) &&                                  \
                     sizeof(((struct ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),                      \
                 #theirs "." #their_field)
#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)

EQUAL(CUPTI_OK, CUPTI_SUCCESS);
EQUAL(CUPTI_NO_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
EQUAL(CUPTI_NO_MORE, CUPTI_ERROR_MAX_LIMIT_REACHED);
EQUAL(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
EQUAL(CUPTI_OTHER_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
EQUAL(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
EQUAL(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
EQUAL(CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
EQUAL(CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
EQUAL(CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
EQUAL(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
EQUAL(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
EQUAL(CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
EQUAL(CUPTI_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
EQUAL(CUPTI_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
EQUAL(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
EQUAL(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
EQUAL(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
EQUAL(CUDA_MPS_ENABLED, CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
EQUAL(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

EQUAL(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
EQUAL(CUPTI_CONTEXT_ENDS, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
EQUAL(CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
EQUAL(CUPTI_MODULE_UNLOADS, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
EQUAL(CUPTI_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
EQUAL(CUPTI_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME(cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(cupti_call, is_exit, CUpti_CallbackData, callbackSite);
SAME(cupti_call, context, CUpti_CallbackData, context);
SAME(cupti_call, correlation_id, CUpti_CallbackData, correlationId);
SAME(cupti_module, cubin_bytes, CUpti_ModuleResourceData, cubinSize);
SAME(cupti_module, cubin, CUpti_ModuleResourceData, pCubin);
SAME(cupti_graph, node, CUpti_GraphData, node);
SAME(cupti_graph, node_type, CUpti_GraphData, nodeType);
EQUAL(CUPTI_CONTEXT_ENDS, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
EQUAL(0, CU_GRAPH_NODE_TYPE_KERNEL);
EQUAL(0, CUPTI_API_ENTER);
SAME(cupti_resource, context, CUpti_ResourceData, context);
SAME(cupti_call, is_exit, CUpti_CallbackData, callbackSite);
SAME(cupti_call, parameters, CUpti_CallbackData, functionParams);
SAME(cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME(cupti_call, symbol, CUpti_CallbackData, symbolName);
SAME(cupti_call, context, CUpti_CallbackData, context);
SAME(cupti_call, context_id, CUpti_CallbackData, contextUid);
SAME(cuda_launch, grid[0], cuLaunchKernel_params, gridDimX);
SAME(cuda_launch, block[0], cuLaunchKernel_params, blockDimX);
SAME(cuda_launch, shared_bytes, cuLaunchKernel_params, sharedMemBytes);
SAME(cuda_launch, stream, cuLaunchKernel_params, hStream);
SAME(cuda_launch, grid[0], cuLaunchCooperativeKernel_params, gridDimX);
SAME(cuda_launch, stream, cuLaunchCooperativeKernel_params, hStream);
SAME(cuda_launch_ex, config, cuLaunchKernelEx_params, config);
SAME(cuda_launch_config, grid[0], CUlaunchConfig, gridDimX);
SAME(cuda_launch_config, block[0], CUlaunchConfig, blockDimX);
SAME(cuda_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME(cuda_launch_config, stream, CUlaunchConfig, hStream);
SAME(cuda_graph_launch, executable, cuGraphLaunch_params, hGraph);
SAME(cuda_graph_launch, stream, cuGraphLaunch_params, hStream);
SAME(cuda_instantiate, ret_executable, cuGraphInstantiate_v2_params, phGraphExec);
SAME(cuda_instantiate, ret_executable, cuGraphInstantiateWithFlags_params, phGraphExec);
SAME(cuda_instantiate, ret_executable, cuGraphInstantiateWithParams_params, phGraphExec);
SAME(cupti_graph, original_node, CUpti_GraphData, originalNode);

SAME(cupti_api, cbid, CUpti_ActivityAPI, cbid);
SAME(cupti_api, start, CUpti_ActivityAPI, start);
SAME(cupti_api, end, CUpti_ActivityAPI, end);
SAME(cupti_api, process_id, CUpti_ActivityAPI, processId);
SAME(cupti_api, thread_id, CUpti_ActivityAPI, threadId);
SAME(cupti_api, correlation_id, CUpti_ActivityAPI, correlationId);
SAME(cupti_api, return_value, CUpti_ActivityAPI, returnValue);

SAME(cupti_kernel, registers, CUpti_ActivityKernel8, registersPerThread);
SAME(cupti_kernel, start, CUpti_ActivityKernel8, start);
SAME(cupti_kernel, end, CUpti_ActivityKernel8, end);
SAME(cupti_kernel, device_id, CUpti_ActivityKernel8, deviceId);
SAME(cupti_kernel, context_id, CUpti_ActivityKernel8, contextId);
SAME(cupti_kernel, stream_id, CUpti_ActivityKernel8, streamId);
SAME(cupti_kernel, grid[0], CUpti_ActivityKernel8, gridX);
SAME(cupti_kernel, block[0], CUpti_ActivityKernel8, blockX);
SAME(cupti_kernel, static_shared, CUpti_ActivityKernel8, staticSharedMemory);
SAME(cupti_kernel, dynamic_shared, CUpti_ActivityKernel8, dynamicSharedMemory);
SAME(cupti_kernel, local_per_thread, CUpti_ActivityKernel8, localMemoryPerThread);
SAME(cupti_kernel, correlation_id, CUpti_ActivityKernel8, correlationId);
SAME(cupti_kernel, name, CUpti_ActivityKernel8, name);
SAME(cupti_kernel, launch_type, CUpti_ActivityKernel8, launchType);
SAME(cupti_kernel, graph_node_id, CUpti_ActivityKernel8, graphNodeId);
SAME(cupti_kernel, graph_id, CUpti_ActivityKernel8, graphId);
SAME(cupti_kernel, cluster[0], CUpti_ActivityKernel8, clusterX);

SAME(cupti_memcpy, direction, CUpti_ActivityMemcpy5, copyKind);
SAME(cupti_memcpy, source_kind, CUpti_ActivityMemcpy5, srcKind);
SAME(cupti_memcpy, destination_kind, CUpti_ActivityMemcpy5, dstKind);
SAME(cupti_memcpy, bytes, CUpti_ActivityMemcpy5, bytes);
SAME(cupti_memcpy, start, CUpti_ActivityMemcpy5, start);
SAME(cupti_memcpy, end, CUpti_ActivityMemcpy5, end);
SAME(cupti_memcpy, device_id, CUpti_ActivityMemcpy5, deviceId);
SAME(cupti_memcpy, context_id, CUpti_ActivityMemcpy5, contextId);
SAME(cupti_memcpy, stream_id, CUpti_ActivityMemcpy5, streamId);
SAME(cupti_memcpy, correlation_id, CUpti_ActivityMemcpy5, correlationId);
SAME(cupti_memcpy, graph_node_id, CUpti_ActivityMemcpy5, graphNodeId);
SAME(cupti_memcpy, graph_id, CUpti_ActivityMemcpy5, graphId);

SAME(cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_memcpy_peer, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(cupti_memcpy_peer, stream_id, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_memcpy_peer, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(cupti_memcpy_peer, destination_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(cupti_memcpy_peer, correlation_id, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_memcpy_peer, graph_node_id, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(cupti_memcpy_peer, graph_id, CUpti_ActivityMemcpyPtoP4, graphId);

SAME(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(cupti_memset, stream_id, CUpti_ActivityMemset4, streamId);
SAME(cupti_memset, correlation_id, CUpti_ActivityMemset4, correlationId);
SAME(cupti_memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME(cupti_memset, graph_node_id, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_memset, graph_id, CUpti_ActivityMemset4, graphId);

SAME(cupti_synchronization, type, CUpti_ActivitySynchronization, type);
SAME(cupti_synchronization, start, CUpti_ActivitySynchronization, start);
SAME(cupti_synchronization, end, CUpti_ActivitySynchronization, end);
SAME(cupti_synchronization, correlation_id, CUpti_ActivitySynchronization, correlationId);
SAME(cupti_synchronization, context_id, CUpti_ActivitySynchronization, contextId);
SAME(cupti_synchronization, stream_id, CUpti_ActivitySynchronization, streamId);

SAME(cupti_memory, operation, CUpti_ActivityMemory3, memoryOperationType);
SAME(cupti_memory, memory_kind, CUpti_ActivityMemory3, memoryKind);
SAME(cupti_memory, correlation_id, CUpti_ActivityMemory3, correlationId);
SAME(cupti_memory, address, CUpti_ActivityMemory3, address);
SAME(cupti_memory, bytes, CUpti_ActivityMemory3, bytes);
SAME(cupti_memory, timestamp, CUpti_ActivityMemory3, timestamp);
SAME(cupti_memory, device_id, CUpti_ActivityMemory3, deviceId);
SAME(cupti_memory, stream_id, CUpti_ActivityMemory3, streamId);

SAME(cupti_memory, is_async, CUpti_ActivityMemory3, isAsync);
SAME(cupti_memory, pool_kind, CUpti_ActivityMemory3, memoryPoolConfig.memoryPoolType);
SAME(cupti_memory, pool, CUpti_ActivityMemory3, memoryPoolConfig.address);
SAME(cupti_memory, pool_bytes, CUpti_ActivityMemory3, memoryPoolConfig.pool.size);
SAME(cupti_memory, pool_used_bytes, CUpti_ActivityMemory3, memoryPoolConfig.utilizedSize);

SAME(cupti_memory_pool, operation, CUpti_ActivityMemoryPool2, memoryPoolOperationType);
SAME(cupti_memory_pool, device_id, CUpti_ActivityMemoryPool2, deviceId);
SAME(cupti_memory_pool, kept_bytes, CUpti_ActivityMemoryPool2, minBytesToKeep);
SAME(cupti_memory_pool, pool, CUpti_ActivityMemoryPool2, address);
SAME(cupti_memory_pool, bytes, CUpti_ActivityMemoryPool2, size);
SAME(cupti_memory_pool, timestamp, CUpti_ActivityMemoryPool2, timestamp);
SAME(cupti_memory_pool, used_bytes, CUpti_ActivityMemoryPool2, utilizedSize);

SAME(cupti_device, warp_threads, CUpti_ActivityDevice5, numThreadsPerWarp);
SAME(cupti_device, multiprocessors, CUpti_ActivityDevice5, numMultiprocessors);
SAME(cupti_device, warps, CUpti_ActivityDevice5, maxWarpsPerMultiprocessor);
SAME(cupti_device, id, CUpti_ActivityDevice5, id);

SAME(cupti_overhead, overhead, CUpti_ActivityOverhead, overheadKind);
SAME(cupti_overhead, start, CUpti_ActivityOverhead, start);
SAME(cupti_overhead, end, CUpti_ActivityOverhead, end);

SAME(cupti_subscriber_params, size, CUpti_SubscriberParams, structSize);
SAME(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME(cupti_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(cupti_subscriber_params, old_name_size, CUpti_SubscriberParams, oldSubscriberSize);

EQUAL(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
EQUAL(CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
EQUAL(CUPTI_VIRTUAL_NOT_SUPPORTED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
EQUAL(CUPTI_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
EQUAL(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
EQUAL(CUPTI_MIG_NOT_SUPPORTED, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
EQUAL(CUPTI_RANGES, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
EQUAL(CUPTI_PM_SAMPLES, CUPTI_PROFILER_TYPE_PM_SAMPLING);
EQUAL(CUPTI_AUTO_RANGE, CUPTI_AutoRange);
EQUAL(CUPTI_KERNEL_REPLAY, CUPTI_KernelReplay);

SAME(cupti_host_initialize, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME(cupti_host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME(cupti_host_initialize, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
SAME(cupti_host_initialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME(cupti_host_object, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
SAME(cupti_host_chips, names, CUpti_Profiler_Host_GetSupportedChips_Params, ppChipNames);
SAME(cupti_host_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME(cupti_host_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME(cupti_host_image_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
SAME(cupti_host_image, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
SAME(cupti_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME(cupti_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
SAME(cupti_host_evaluate, counters, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME(cupti_host_evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME(cupti_host_evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME(cupti_host_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
SAME(cupti_chip_name, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME(cupti_chip_name, name, CUpti_Device_GetChipName_Params, pChipName);
SAME(cupti_availability, context, CUpti_Profiler_GetCounterAvailability_Params, ctx);
SAME(cupti_availability, image_size, CUpti_Profiler_GetCounterAvailability_Params, counterAvailabilityImageSize);
SAME(cupti_availability, image, CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage);
SAME(cupti_range_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
SAME(cupti_range_enable, ranges, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
SAME(cupti_range_object, ranges, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
SAME(cupti_range_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME(cupti_range_config, counters, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
SAME(cupti_range_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME(cupti_range_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME(cupti_range_config, most_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
SAME(cupti_range_config, nesting_levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
SAME(cupti_range_config, least_nesting_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
SAME(cupti_range_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SAME(cupti_range_config, target_nesting_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
SAME(cupti_range_stop, is_complete, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
SAME(cupti_range_decode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
SAME(cupti_range_counters_size, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
SAME(cupti_range_counters_size, most_ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
SAME(cupti_range_counters_size, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
SAME(cupti_range_counters_size, counters_size, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);
SAME(cupti_range_counters, counters, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData);
SAME(cupti_range_info, counters, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
SAME(cupti_range_info, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);
_Static_assert(CUPTI_SIZE_TO(cupti_range_config, target_nesting_level) ==
                   CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE,
               "the size without padding");
_Static_assert(CUPTI_SIZE_TO(cupti_range_stop, is_complete) == CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE,
               "the size without padding");

EQUAL(CUPTI_CONTEXT_BEGINS, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
EQUAL(CUPTI_SAMPLES_BY_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
EQUAL(CUPTI_SAMPLES_COUNTERS_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
SAME(cupti_sampling_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SAME(cupti_sampling_availability, image, CUpti_PmSampling_GetCounterAvailability_Params, pCounterAvailabilityImage);
SAME(cupti_sampling_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
SAME(cupti_sampling_enable, sampling, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
SAME(cupti_sampling_object, sampling, CUpti_PmSampling_Start_Params, pPmSamplingObject);
SAME(cupti_sampling_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME(cupti_sampling_config, buffer_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME(cupti_sampling_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME(cupti_sampling_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SAME(cupti_sampling_counters_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
SAME(cupti_sampling_counters_size, most_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME(cupti_sampling_counters_size, counters_size, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
SAME(cupti_sampling_counters, counters, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
SAME(cupti_sampling_decode, counters, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME(cupti_sampling_decode, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME(cupti_sampling_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SAME(cupti_sampling_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
SAME(cupti_sample, place, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME(cupti_sample, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
SAME(cupti_sample, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
_Static_assert(CUPTI_SIZE_TO(cupti_sampling_decode, overflow) == CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
               "the size without padding");

#define LONG(ours, theirs) _Static_assert(sizeof(struct ours) == theirs##Size, #theirs)
EQUAL(PC_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
EQUAL(PC_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
EQUAL(PC_FORMAT, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT);
EQUAL(PC_DATA, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
EQUAL(PC_SERIALIZED, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
EQUAL(PC_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
EQUAL(PC_PARSED, CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED);
SAME(pc_stall, reason, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
SAME(pc_stall, samples, CUpti_PCSamplingStallReason, samples);
SAME(pc_record, cubin_crc, CUpti_PCSamplingPCData, cubinCrc);
SAME(pc_record, offset, CUpti_PCSamplingPCData, pcOffset);
SAME(pc_record, function_index, CUpti_PCSamplingPCData, functionIndex);
SAME(pc_record, function, CUpti_PCSamplingPCData, functionName);
SAME(pc_record, stall_count, CUpti_PCSamplingPCData, stallReasonCount);
SAME(pc_record, stalls, CUpti_PCSamplingPCData, stallReason);
SAME(pc_data, wanted, CUpti_PCSamplingData, collectNumPcs);
SAME(pc_data, total_samples, CUpti_PCSamplingData, totalSamples);
SAME(pc_data, dropped, CUpti_PCSamplingData, droppedSamples);
SAME(pc_data, count, CUpti_PCSamplingData, totalNumPcs);
SAME(pc_data, remaining, CUpti_PCSamplingData, remainingNumPcs);
SAME(pc_data, records, CUpti_PCSamplingData, pPcData);
SAME(pc_data, foreign_samples, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME(pc_settings, settings, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
SAME(pc_setting, value, CUpti_PCSamplingConfigurationInfo, attributeData);
SAME(pc_reason_count, ret_count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
SAME(pc_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(pc_get, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME(pc_cubin_crc, ret_crc, CUpti_GetCubinCrcParams, cubinCrc);
SAME(pc_line, ret_line, CUpti_GetSassToSourceCorrelationParams, lineNumber);
SAME(pc_line, offset, CUpti_GetSassToSourceCorrelationParams, pcOffset);
SAME(pc_line, ret_folder, CUpti_GetSassToSourceCorrelationParams, dirName);
LONG(pc_context, CUpti_PCSamplingEnableParams);
LONG(pc_settings, CUpti_PCSamplingConfigurationInfoParams);
LONG(pc_reason_count, CUpti_PCSamplingGetNumStallReasonsParams);
LONG(pc_reasons, CUpti_PCSamplingGetStallReasonsParams);
LONG(pc_get, CUpti_PCSamplingGetDataParams);
LONG(pc_cubin_crc, CUpti_GetCubinCrcParams);
LONG(pc_line, CUpti_GetSassToSourceCorrelationParams);
// Of 12.4 and later; those of 11.8 end before the newest field.
_Static_assert(sizeof(CUpti_PCSamplingPCData) == sizeof(struct pc_record) ||
                   sizeof(CUpti_PCSamplingPCData) == PC_RECORD_BYTES_BEFORE,
               "CUpti_PCSamplingPCData");
_Static_assert(sizeof(CUpti_PCSamplingData) == sizeof(struct pc_data) || CUPTI_API_VERSION < PC_LONG_SINCE,
               "CUpti_PCSamplingData");
