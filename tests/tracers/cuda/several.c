// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti of 13.3 and later with drivers from r610 on (fault "several"): a process may have several subscribers. The
// functions of one subscriber end in _v2; the others then refuse, as the vendor's do. Declared here, since the headers at hand are
// older.
#include "profiler.h"

#include <string.h>

#define THREAD_ID_TYPE 21 // CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE

struct info {
  size_t size;
};
typedef void request_function(uint8_t **buffer, size_t *size, size_t *most_records, struct info *info);
typedef void complete_function(uint8_t *buffer, size_t size, size_t valid, struct info *info);

static bool are_allowed; // atomic
static CUpti_SubscriberHandle known;
static _Thread_local bool is_inside; // of a function of this file
static request_function *request;
static complete_function *complete;

bool several_allow(const CUpti_SubscriberParams *parameters)
{
  uint8_t wish = 0; // after the last field of these headers
  if (parameters && parameters->structSize > sizeof *parameters)
    memcpy(&wish, (const char *)parameters + sizeof *parameters, 1);
  bool is_possible = layouts_version() >= 130300 && simulator_has_fault("several");
  __atomic_store_n(&are_allowed, wish != 0 && is_possible, __ATOMIC_RELEASE);
  return (wish != 0) == is_possible; // another tool shares the process then, so none can have it alone
}

void several_subscribed(CUpti_SubscriberHandle subscriber)
{
  known = subscriber;
}

bool several_refuse(void)
{
  return __atomic_load_n(&are_allowed, __ATOMIC_ACQUIRE) && !is_inside;
}

static CUptiResult check(CUpti_SubscriberHandle subscriber)
{
  if (!__atomic_load_n(&are_allowed, __ATOMIC_ACQUIRE))
    return CUPTI_ERROR_NOT_COMPATIBLE;
  return subscriber == known ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

// A function of several subscribers by that of one.
#define SAME(function, ...)                                                                                            \
  CUptiResult result = check(subscriber);                                                                              \
  if (result != CUPTI_SUCCESS)                                                                                         \
    return result;                                                                                                     \
  is_inside = true;                                                                                                    \
  result = function(__VA_ARGS__);                                                                                      \
  is_inside = false;                                                                                                   \
  return result

EXPORTED CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                            void *configuration)
{
  (void)configuration;
  SAME(cuptiActivityEnable, kind);
}

EXPORTED CUptiResult cuptiActivityEnableDriverApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId cbid,
                                                     uint8_t on)
{
  SAME(cuptiActivityEnableDriverApi, cbid, on);
}

EXPORTED CUptiResult cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId cbid,
                                                      uint8_t on)
{
  SAME(cuptiActivityEnableRuntimeApi, cbid, on);
}

EXPORTED CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t *buffer,
                                                   size_t valid_bytes, CUpti_Activity **record)
{
  SAME(cuptiActivityGetNextRecord, buffer, valid_bytes, record);
}

EXPORTED CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber, CUcontext context,
                                                          uint32_t stream_id, size_t *dropped)
{
  SAME(cuptiActivityGetNumDroppedRecords, context, stream_id, dropped);
}

EXPORTED CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber, uint32_t attribute, size_t *size,
                                                  void *value)
{
  if (attribute != THREAD_ID_TYPE || *size != sizeof(CUpti_ActivityThreadIdType))
    return CUPTI_ERROR_INVALID_PARAMETER;
  SAME(cuptiSetThreadIdType, *(const CUpti_ActivityThreadIdType *)value);
}

static void request_one(uint8_t **buffer, size_t *size, size_t *most_records)
{
  request(buffer, size, most_records, &(struct info){sizeof(struct info)});
}

static void complete_one(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid)
{
  (void)context, (void)stream_id;
  complete(buffer, size, valid, &(struct info){sizeof(struct info)});
}

EXPORTED CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber, request_function *requested,
                                                       complete_function *completed)
{
  request = requested;
  complete = completed;
  SAME(cuptiActivityRegisterCallbacks, request_one, complete_one);
}
