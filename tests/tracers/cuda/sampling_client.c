// SPDX-License-Identifier: Apache-2.0
// sampling_client LIBCUPTI run|order|overflow SAMPLES METRIC…: a minimal client of CUPTI's PM sampling, for the check of the
// simulator in test_cuda_simulator_metrics.py. It calls in the order of NVIDIA's samples and prints JSON objects: each sample of
// 50 µs, while 6 kernels run. The counters hold as many samples as are given. `overflow`: the hardware's buffer is full.
#include "profiler_client.h"

#define INTERVAL_NS 50000

static CUpti_PmSampling_Object *sampler;

static uint8_t *counter_availability(void)
{
  PARAMS(CUpti_PmSampling_GetCounterAvailability_Params, asked, .deviceIndex = 0);
  MUST(CALL_WITH(cuptiPmSamplingGetCounterAvailability, asked), "cuptiPmSamplingGetCounterAvailability");
  asked.pCounterAvailabilityImage = malloc(asked.counterAvailabilityImageSize);
  MUST(CALL_WITH(cuptiPmSamplingGetCounterAvailability, asked), "cuptiPmSamplingGetCounterAvailability");
  return asked.pCounterAvailabilityImage;
}

static void enable(void)
{
  PARAMS(CUpti_PmSampling_Enable_Params, made, .deviceIndex = 0);
  MUST(CALL_WITH(cuptiPmSamplingEnable, made), "cuptiPmSamplingEnable");
  sampler = made.pPmSamplingObject;
}

static CUptiResult set_config(size_t buffer_bytes)
{
  return CALL(cuptiPmSamplingSetConfig, CUpti_PmSampling_SetConfig_Params, .pPmSamplingObject = sampler,
              .configSize = config_bytes, .pConfig = config, .hardwareBufferSize = buffer_bytes,
              .samplingInterval = INTERVAL_NS, .triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
              .hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST);
}

static CUptiResult initialize_counters(void)
{
  return CALL(cuptiPmSamplingCounterDataImageInitialize, CUpti_PmSampling_CounterDataImage_Initialize_Params,
              .pPmSamplingObject = sampler, .counterDataSize = counters_bytes, .pCounterData = counters);
}

static void make_counters(void)
{
  PARAMS(CUpti_PmSampling_GetCounterDataSize_Params, size, .pPmSamplingObject = sampler, .pMetricNames = metrics,
         .numMetrics = metrics_count, .maxSamples = (uint32_t)entries_most);
  MUST(CALL_WITH(cuptiPmSamplingGetCounterDataSize, size), "cuptiPmSamplingGetCounterDataSize");
  counters_bytes = size.counterDataSize;
  counters = malloc(counters_bytes);
  MUST(initialize_counters(), "cuptiPmSamplingCounterDataImageInitialize");
}

static CUptiResult start(void)
{
  return CALL(cuptiPmSamplingStart, CUpti_PmSampling_Start_Params, .pPmSamplingObject = sampler);
}

static CUptiResult stop(void)
{
  return CALL(cuptiPmSamplingStop, CUpti_PmSampling_Stop_Params, .pPmSamplingObject = sampler);
}

static void print_sample(size_t index)
{
  PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params, info, .pPmSamplingObject = sampler,
         .pCounterDataImage = counters, .counterDataImageSize = counters_bytes, .sampleIndex = index);
  MUST(CALL_WITH(cuptiPmSamplingCounterDataGetSampleInfo, info), "cuptiPmSamplingCounterDataGetSampleInfo");
  printf("{\"start\": %lu, \"end\": %lu", info.startTimestamp, info.endTimestamp);
  print_values(index);
}

// Into counters again and again, until there are no more.
static void print_samples(void)
{
  PARAMS(CUpti_PmSampling_DecodeData_Params, decoded, .pPmSamplingObject = sampler, .pCounterDataImage = counters,
         .counterDataImageSize = counters_bytes);
  unsigned decodes = 0, overflows = 0;
  do {
    MUST(CALL_WITH(cuptiPmSamplingDecodeData, decoded), "cuptiPmSamplingDecodeData");
    PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params, info, .pCounterDataImage = counters,
           .counterDataImageSize = counters_bytes);
    MUST(CALL_WITH(cuptiPmSamplingGetCounterDataInfo, info), "cuptiPmSamplingGetCounterDataInfo");
    for (size_t i = 0; i < info.numCompletedSamples; i++)
      print_sample(i);
    MUST(initialize_counters(), "cuptiPmSamplingCounterDataImageInitialize");
    decodes++;
    overflows += decoded.overflow;
  } while (decoded.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
  printf("{\"decodes\": %u, \"overflows\": %u}\n", decodes, overflows);
}

static void collect(size_t buffer_bytes)
{
  CUstream streams[2];
  for (int i = 0; i < 2; i++)
    MUST(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  MUST(set_config(buffer_bytes), "cuptiPmSamplingSetConfig");
  make_counters();
  MUST(start(), "cuptiPmSamplingStart");
  for (unsigned i = 0; i < 6; i++) // side by side in two streams
    launch(i % 2 ? "second" : "first", 3, 32, streams[i % 2], NULL);
  MUST(cuCtxSynchronize(), "cuCtxSynchronize");
  nanosleep(&(struct timespec){.tv_nsec = 2 * INTERVAL_NS}, NULL); // the last sample has ended, too
  MUST(stop(), "cuptiPmSamplingStop");
  print_samples();
}

static void call_out_of_order(void)
{
  SAY("enable twice", CALL(cuptiPmSamplingEnable, CUpti_PmSampling_Enable_Params, .deviceIndex = 0));
  SAY("start before config", start());
  SAY("buffer too small", set_config(1));
  SAY("config", set_config(1 << 20));
  SAY("stop before start", stop());
  SAY("start", start());
  SAY("start twice", start());
  SAY("config while started", set_config(1 << 20));
  SAY("stop", stop());
  free(config);
  configure_host();
  SAY("two passes", set_config(1 << 20));
}

int main(int count, char **arguments)
{
  const char *mode = begin(count, arguments);
  MUST(CALL(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params, .pPriv = NULL), "cuptiProfilerInitialize");
  open_host(CUPTI_PROFILER_TYPE_PM_SAMPLING, counter_availability());
  configure_host();
  enable();
  if (strcmp(mode, "order") == 0)
    call_out_of_order();
  else
    collect(strcmp(mode, "run") == 0 ? 256 << 20 : 8 << 10);
  MUST(CALL(cuptiPmSamplingDisable, CUpti_PmSampling_Disable_Params, .pPmSamplingObject = sampler),
       "cuptiPmSamplingDisable");
  MUST(CALL(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params, .pHostObject = host),
       "cuptiProfilerHostDeinitialize");
  return 0;
}
