// SPDX-License-Identifier: Apache-2.0
// range_client LIBCUPTI auto|user|order RANGES METRIC…: a minimal client of CUPTI's range profiler, for the check of the simulator
// in test_cuda_simulator_metrics.py. It calls in the order of NVIDIA's samples and prints JSON objects. `auto`: each kernel is a
// range, replayed by CUPTI. `user`: two ranges, repeated by this program. `order`: calls out of order and their results.
#include "profiler_client.h"

static CUpti_RangeProfiler_Object *profiler;

static uint8_t *counter_availability(void)
{
  PARAMS(CUpti_Profiler_GetCounterAvailability_Params, asked, .ctx = context);
  MUST(CALL_WITH(cuptiProfilerGetCounterAvailability, asked), "cuptiProfilerGetCounterAvailability");
  asked.pCounterAvailabilityImage = malloc(asked.counterAvailabilityImageSize);
  MUST(CALL_WITH(cuptiProfilerGetCounterAvailability, asked), "cuptiProfilerGetCounterAvailability");
  return asked.pCounterAvailabilityImage;
}

static void enable(void)
{
  PARAMS(CUpti_RangeProfiler_Enable_Params, made, .ctx = context);
  MUST(CALL_WITH(cuptiRangeProfilerEnable, made), "cuptiRangeProfilerEnable");
  profiler = made.pRangeProfilerObject;
  PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size, .pRangeProfilerObject = profiler, .pMetricNames = metrics,
         .numMetrics = metrics_count, .maxNumOfRanges = entries_most, .maxNumRangeTreeNodes = (uint32_t)entries_most);
  MUST(CALL_WITH(cuptiRangeProfilerGetCounterDataSize, size), "cuptiRangeProfilerGetCounterDataSize");
  counters_bytes = size.counterDataSize;
  counters = malloc(counters_bytes);
}

static CUptiResult initialize_counters(size_t bytes)
{
  return CALL(cuptiRangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
              .pRangeProfilerObject = profiler, .counterDataSize = bytes, .pCounterData = counters);
}

static CUptiResult set_config(CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay)
{
  return CALL(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params, .pRangeProfilerObject = profiler,
              .configSize = config_bytes, .pConfig = config, .counterDataImageSize = counters_bytes,
              .pCounterDataImage = counters, .range = range, .replayMode = replay, .maxRangesPerPass = entries_most,
              .numNestingLevels = 1, .minNestingLevel = 1, .targetNestingLevel = 1);
}

static CUptiResult start(void)
{
  return CALL(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params, .pRangeProfilerObject = profiler);
}

static CUptiResult stop(uint8_t *ret_is_complete)
{
  PARAMS(CUpti_RangeProfiler_Stop_Params, stopped, .pRangeProfilerObject = profiler);
  CUptiResult result = CALL_WITH(cuptiRangeProfilerStop, stopped);
  *ret_is_complete = stopped.isAllPassSubmitted;
  return result;
}

static CUptiResult push(const char *name)
{
  return CALL(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params, .pRangeProfilerObject = profiler,
              .pRangeName = name);
}

static CUptiResult pop(void)
{
  return CALL(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange_Params, .pRangeProfilerObject = profiler);
}

static CUptiResult decode(size_t *ret_dropped)
{
  PARAMS(CUpti_RangeProfiler_DecodeData_Params, decoded, .pRangeProfilerObject = profiler);
  CUptiResult result = CALL_WITH(cuptiRangeProfilerDecodeData, decoded);
  *ret_dropped = decoded.numOfRangeDropped;
  return result;
}

static void print_range(size_t index)
{
  PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, info, .pCounterDataImage = counters,
         .counterDataImageSize = counters_bytes, .rangeIndex = index, .rangeDelimiter = "/");
  MUST(CALL_WITH(cuptiRangeProfilerCounterDataGetRangeInfo, info), "cuptiRangeProfilerCounterDataGetRangeInfo");
  printf("{\"range\": \"%s\"", info.rangeName);
  print_values(index);
}

static void print_ranges(void)
{
  size_t dropped = 0;
  MUST(decode(&dropped), "cuptiRangeProfilerDecodeData");
  PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info, .pCounterDataImage = counters,
         .counterDataImageSize = counters_bytes);
  MUST(CALL_WITH(cuptiRangeProfilerGetCounterDataInfo, info), "cuptiRangeProfilerGetCounterDataInfo");
  for (size_t i = 0; i < info.numTotalRanges; i++)
    print_range(i);
  printf("{\"ranges\": %zu, \"dropped\": %zu}\n", info.numTotalRanges, dropped);
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// 3 kernels in 2 streams, 2 in a graph, and one whose result shows that replays are not seen: y = 1 + 2 × 3.
static void collect_automatic(void)
{
  CUstream streams[2];
  CUgraph graph = NULL;
  CUgraphExec executable = NULL;
  float *y = NULL, *x = NULL, a = 2;
  unsigned count = 1;
  must((int)cuMemHostAlloc((void **)&x, sizeof *x, 0) | (int)cuMemHostAlloc((void **)&y, sizeof *y, 0),
       "cuMemHostAlloc");
  *x = 3, *y = 1;
  for (int i = 0; i < 2; i++)
    MUST(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  MUST(initialize_counters(counters_bytes), "cuptiRangeProfilerCounterDataImageInitialize");
  MUST(set_config(CUPTI_AutoRange, CUPTI_KernelReplay), "cuptiRangeProfilerSetConfig");
  MUST(start(), "cuptiRangeProfilerStart");
  uint64_t begin_ns = now_ns();
  launch("first", 3, 32, streams[0], NULL);
  launch("second", 4, 64, streams[1], NULL);
  launch("first", 5, 32, streams[0], NULL);
  uint64_t end_ns = now_ns();
  MUST(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  launch("node", 1, 32, streams[0], NULL);
  launch("node", 2, 32, streams[0], NULL);
  MUST(cuStreamEndCapture(streams[0], &graph), "cuStreamEndCapture");
  MUST(cuGraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  MUST(cuGraphLaunch(executable, streams[1]), "cuGraphLaunch");
  launch("saxpy", 1, 1, NULL, (void *[]){&y, &x, &a, &count});
  uint8_t is_complete = 0;
  MUST(stop(&is_complete), "cuptiRangeProfilerStop");
  printf("{\"sessions\": 1, \"complete\": %d, \"y\": %g, \"launches_ns\": %lu}\n", is_complete, (double)*y,
         end_ns - begin_ns);
  print_ranges();
}

static void collect_users(void)
{
  unsigned sessions = 0;
  uint8_t is_complete = 0;
  MUST(initialize_counters(counters_bytes), "cuptiRangeProfilerCounterDataImageInitialize");
  MUST(set_config(CUPTI_UserRange, CUPTI_UserReplay), "cuptiRangeProfilerSetConfig");
  while (!is_complete) {
    MUST(start(), "cuptiRangeProfilerStart");
    launch("outside", 9, 32, NULL, NULL);
    MUST(push("both"), "cuptiRangeProfilerPushRange");
    launch("first", 3, 32, NULL, NULL);
    launch("second", 4, 64, NULL, NULL);
    MUST(pop(), "cuptiRangeProfilerPopRange");
    MUST(push("one"), "cuptiRangeProfilerPushRange");
    launch("first", 5, 32, NULL, NULL);
    MUST(pop(), "cuptiRangeProfilerPopRange");
    MUST(stop(&is_complete), "cuptiRangeProfilerStop");
    sessions++;
  }
  printf("{\"sessions\": %u, \"complete\": %d}\n", sessions, is_complete);
  print_ranges();
}

static void call_out_of_order(void)
{
  uint8_t is_complete = 0;
  size_t dropped = 0;
  SAY("enable twice", CALL(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params, .ctx = context));
  SAY("decode before config", decode(&dropped));
  SAY("start before config", start());
  SAY("config before image", set_config(CUPTI_AutoRange, CUPTI_KernelReplay));
  SAY("image too small", initialize_counters(counters_bytes - 1));
  MUST(initialize_counters(counters_bytes), "cuptiRangeProfilerCounterDataImageInitialize");
  SAY("auto range, user replay", set_config(CUPTI_AutoRange, CUPTI_UserReplay));
  SAY("config", set_config(CUPTI_AutoRange, CUPTI_KernelReplay));
  SAY("stop before start", stop(&is_complete));
  SAY("start", start());
  SAY("start twice", start());
  SAY("config while started", set_config(CUPTI_AutoRange, CUPTI_KernelReplay));
  SAY("user's range in auto range", push("range"));
  SAY("decode while started", decode(&dropped));
  SAY("stop", stop(&is_complete));
  SAY("start again", start());
  SAY("decode", decode(&dropped));
  MUST(set_config(CUPTI_UserRange, CUPTI_UserReplay), "cuptiRangeProfilerSetConfig");
  MUST(start(), "cuptiRangeProfilerStart");
  SAY("pop before push", pop());
  MUST(push("range"), "cuptiRangeProfilerPushRange");
  SAY("push twice", push("range"));
  SAY("stop in a range", stop(&is_complete));
  SAY("size of the structure",
      ((__typeof__(&cuptiRangeProfilerStop))dlsym(cupti, "cuptiRangeProfilerStop"))(&(CUpti_RangeProfiler_Stop_Params){
          .structSize = sizeof(CUpti_RangeProfiler_Stop_Params), .pRangeProfilerObject = profiler}));
}

int main(int count, char **arguments)
{
  const char *mode = begin(count, arguments);
  if (strcmp(mode, "order") == 0)
    SAY("before initialization", CALL(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params, .ctx = context));
  MUST(CALL(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params, .pPriv = NULL), "cuptiProfilerInitialize");
  open_host(CUPTI_PROFILER_TYPE_RANGE_PROFILER, counter_availability());
  configure_host();
  enable();
  if (strcmp(mode, "auto") == 0)
    collect_automatic();
  else if (strcmp(mode, "user") == 0)
    collect_users();
  else
    call_out_of_order();
  MUST(CALL(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params, .pRangeProfilerObject = profiler),
       "cuptiRangeProfilerDisable");
  MUST(CALL(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params, .pHostObject = host),
       "cuptiProfilerHostDeinitialize");
  MUST(CALL(cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize_Params, .pPriv = NULL), "cuptiProfilerDeInitialize");
  return 0;
}
