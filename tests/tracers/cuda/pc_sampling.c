// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: PC sampling. Each launch of a kernel has the same samples. Checksums and lines of code are the
// vendor's: its own libcupti answers without a driver.
#include "device.h"
#include "profiler.h"

#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SAMPLED_MOST 8
#define PCS 8
#define CODES_MOST 16

enum reason {
  LONG_SCOREBOARD,
  LONG_SCOREBOARD_NOT_ISSUED,
  WAIT,
  WAIT_NOT_ISSUED,
  BARRIER,
  BARRIER_NOT_ISSUED,
  REASONS
};
#define FIRST_REASON 5 // of the numbers that reasons have here
static const char *const reasons[REASONS] = {"long_scoreboard", "long_scoreboard_not_issued", "wait", "wait_not_issued",
                                             "barrier",         "barrier_not_issued"};

static const struct pc {
  const char *function; // NULL: any other
  uint64_t offset;
  uint32_t samples[REASONS];
} pcs[PCS] = {{"saxpy", 0x80, {5, 2}}, // line 8 of sampled.cu
              {"saxpy", 0x100, {3, 0, 1}},
              {"saxpy", 0x70, {0, 0, 1, 1}},                      // line 7
              {"_Z10sum_blocksPfPKf", 0x110, {0, 0, 0, 0, 4, 3}}, // line 15
              {NULL, 0x10, {0, 0, 1}}};

static struct sampled {
  CUcontext context; // NULL: not sampled
  CUpti_PCSamplingData *rest;
  bool is_serialized;
  uint32_t correlation_id; // serialized: of the kernel whose samples these are
  uint64_t launches[PCS];  // that nobody was told about
} sampled[SAMPLED_MOST];
static struct code {
  uint64_t crc;
  const char *bytes;
  size_t size;
} codes[CODES_MOST];
static unsigned code_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *library;

void pc_sampling_load(void)
{
  if (!library && getenv("XSP_SIM_CODE"))
    library = dlopen(VENDOR_CUPTI, RTLD_NOW | RTLD_LOCAL);
}

static void *vendor(const char *name)
{
  return library ? dlsym(library, name) : NULL;
}

EXPORTED CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *params)
{
  __typeof__(&cuptiGetCubinCrc) theirs = vendor("cuptiGetCubinCrc");
  return theirs ? theirs(params) : CUPTI_ERROR_NOT_SUPPORTED;
}

EXPORTED CUptiResult cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams *params)
{
  __typeof__(&cuptiGetSassToSourceCorrelation) theirs = vendor("cuptiGetSassToSourceCorrelation");
  return theirs ? theirs(params) : CUPTI_ERROR_NOT_SUPPORTED;
}

static bool is_late(unsigned pc) // its samples are decoded when the sampling ends
{
  return pcs[pc].offset == 0x70;
}

static struct sampled *find(CUcontext context)
{
  for (unsigned i = 0; i < SAMPLED_MOST; i++)
    if (sampled[i].context == context)
      return &sampled[i];
  return NULL;
}

// ---- what happens
void pc_sampling_kernel(const struct simulator_operation *operation)
{
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < SAMPLED_MOST; i++) {
    bool is_known = false;
    if (!sampled[i].context || sampled[i].context->id != operation->context_id)
      continue;
    if (sampled[i].is_serialized) { // what was not taken of the kernel before is lost
      memset(sampled[i].launches, 0, sizeof sampled[i].launches);
      sampled[i].correlation_id = operation->correlation_id;
    }
    for (unsigned pc = 0; pc < PCS; pc++)
      if (pcs[pc].offset != 0 && (pcs[pc].function ? strcmp(pcs[pc].function, operation->name) == 0 : !is_known)) {
        sampled[i].launches[pc]++;
        is_known = true;
      }
  }
  pthread_mutex_unlock(&lock);
}

bool pc_sampling_is_serialized(CUcontext context)
{
  pthread_mutex_lock(&lock);
  struct sampled *of = find(context);
  bool is_serialized = of && of->is_serialized;
  pthread_mutex_unlock(&lock);
  return is_serialized;
}

void pc_sampling_module(int cbid, const char *image, size_t size)
{
  CUpti_GetCubinCrcParams crc = {CUpti_GetCubinCrcParamsSize, size, image, 0};
  pthread_mutex_lock(&lock);
  for (unsigned pc = 0; cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING && pc < PCS; pc++)
    if (!is_late(pc)) // what could have been taken is lost
      sampled[0].launches[pc] = 0;
  if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED && size > 0 && code_count < CODES_MOST &&
      cuptiGetCubinCrc(&crc) == CUPTI_SUCCESS)
    codes[code_count++] = (struct code){crc.cubinCrc, image, size};
  pthread_mutex_unlock(&lock);
}

// ---- configuration
EXPORTED CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *params)
{
  count(COUNT_ENTRIES);
  if (simulator_has_fault("pc-refused"))
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (params->size != CUpti_PCSamplingEnableParamsSize || !params->ctx)
    return CUPTI_ERROR_INVALID_PARAMETER;
  pthread_mutex_lock(&lock);
  struct sampled *fresh = find(NULL);
  bool is_second = false; // of its device
  for (unsigned i = 0; i < SAMPLED_MOST; i++)
    is_second |= sampled[i].context && sampled[i].context->device == params->ctx->device;
  if (fresh && !is_second)
    *fresh = (struct sampled){.context = params->ctx};
  pthread_mutex_unlock(&lock);
  return fresh && !is_second ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

EXPORTED CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *params)
{
  count(COUNT_ENTRIES);
  if (params->size != CUpti_PCSamplingGetNumStallReasonsParamsSize || !find(params->ctx))
    return CUPTI_ERROR_INVALID_PARAMETER;
  *params->numStallReasons = REASONS;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *params)
{
  count(COUNT_ENTRIES);
  if (params->size != CUpti_PCSamplingGetStallReasonsParamsSize || params->numStallReasons != REASONS)
    return CUPTI_ERROR_INVALID_PARAMETER;
  for (unsigned i = 0; i < REASONS; i++) {
    params->stallReasonIndex[i] = FIRST_REASON + i;
    snprintf(params->stallReasons[i], 128, "smsp__pcsamp_warps_issue_stalled_%s", reasons[i]);
  }
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *params)
{
  count(COUNT_ENTRIES);
  struct sampled *of = find(params->ctx);
  if (params->size != CUpti_PCSamplingConfigurationInfoParamsSize || !of)
    return CUPTI_ERROR_INVALID_PARAMETER;
  for (size_t i = 0; i < params->numAttributes; i++) {
    CUpti_PCSamplingConfigurationInfo *info = &params->pPCSamplingConfigurationInfo[i];
    if (info->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      of->rest = info->attributeData.samplingDataBufferData.samplingDataBuffer;
    if (info->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
      of->is_serialized =
          info->attributeData.collectionModeData.collectionMode == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
  }
  return CUPTI_SUCCESS;
}

// ---- data
static size_t record_size(void) // since 12.4 with a correlation id
{
  if (simulator_has_fault("pc-longer")) // as a later version's may be
    return sizeof(CUpti_PCSamplingPCData) + 8;
  return layouts_version() >= 22 ? sizeof(CUpti_PCSamplingPCData) : offsetof(CUpti_PCSamplingPCData, correlationId);
}

static uint64_t crc_of(const char *function)
{
  char section[256];
  int length = snprintf(section, sizeof section, ".text.%s", function);
  for (unsigned i = code_count; i-- > 0;)
    if (memmem(codes[i].bytes, codes[i].size, section, (size_t)length + 1))
      return codes[i].crc;
  return 0;
}

static void put(struct sampled *of, unsigned pc, CUpti_PCSamplingPCData *record)
{
  static char *names[PCS]; // shared by records, as the vendor's are
  if (!names[pc])
    names[pc] = strdup(pcs[pc].function ? pcs[pc].function : "other");
  record->cubinCrc = crc_of(names[pc]);
  record->pcOffset = pcs[pc].offset;
  record->functionIndex = pc;
  record->functionName = names[pc];
  record->stallReasonCount = 0;
  if (record_size() == sizeof *record)
    record->correlationId = of->is_serialized ? of->correlation_id : 0;
  for (unsigned i = 0; i < REASONS; i++)
    if (pcs[pc].samples[i] > 0)
      record->stallReason[record->stallReasonCount++] =
          (CUpti_PCSamplingStallReason){FIRST_REASON + i, (uint32_t)(pcs[pc].samples[i] * of->launches[pc])};
  of->launches[pc] = 0;
}

// Two records at once.
static CUptiResult fill(struct sampled *of, CUpti_PCSamplingData *data, bool is_end)
{
  data->totalNumPcs = data->remainingNumPcs = 0;
  data->droppedSamples = 0;
  for (unsigned pc = 0; pc < PCS; pc++) {
    if (of->launches[pc] == 0 || (is_late(pc) && !of->is_serialized && !is_end))
      continue;
    if (data->totalNumPcs == data->collectNumPcs || (data->totalNumPcs == 2 && !is_end)) {
      data->remainingNumPcs++;
      continue;
    }
    CUpti_PCSamplingPCData *record = (void *)((char *)data->pPcData + data->totalNumPcs++ * record_size());
    if (record->size != record_size() && simulator_has_fault("pc-longer")) {
      memset(record, 0, record_size());
      record->size = record_size();
      continue;
    }
    if (record->size != record_size() || !record->stallReason)
      return CUPTI_ERROR_INVALID_PARAMETER;
    put(of, pc, record);
  }
  if (is_end && simulator_has_fault("pc-dropped"))
    data->droppedSamples = 70;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *params)
{
  count(COUNT_ENTRIES);
  if (params->size != CUpti_PCSamplingGetDataParamsSize)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (simulator_has_fault("pc-fails"))
    return CUPTI_ERROR_UNKNOWN;
  if (simulator_has_fault("pc-full"))
    return CUPTI_ERROR_OUT_OF_MEMORY;
  pthread_mutex_lock(&lock);
  struct sampled *of = find(params->ctx);
  CUptiResult result = of ? fill(of, params->pcSamplingData, false) : CUPTI_ERROR_INVALID_OPERATION;
  pthread_mutex_unlock(&lock);
  return result;
}

EXPORTED CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *params)
{
  count(COUNT_ENTRIES);
  if (simulator_has_fault("pc-hangs"))
    for (;;)
      sleep(1);
  pthread_mutex_lock(&lock);
  struct sampled *of = find(params->ctx);
  CUptiResult result = of && of->rest ? fill(of, of->rest, true) : CUPTI_ERROR_INVALID_OPERATION;
  if (of)
    of->context = NULL;
  pthread_mutex_unlock(&lock);
  return result;
}
