// SPDX-License-Identifier: Apache-2.0
// Subscribes, and registers the functions for buffers, in the family that the subscription decides. Called by tracer.c and worker.c.
#include "tracers/cuda/subscriber.h"

#include <stdio.h>

static bool can_share(const struct cupti *cupti)
{
  bool has_all = cupti->subscribe_v2 != NULL;
#define HAS(field, name, parameters) has_all = has_all && cupti->field != NULL;
  CUPTI_FUNCTIONS_OF_ONE(HAS)
#undef HAS
  return has_all;
}

// To subscribe is also what keeps two tools from taking each other's buffers: so it comes first.
bool cuda_subscriber_start(struct cupti *cupti, cupti_callback *callback, bool may_share, char *why, size_t why_size)
{
  char holder[128] = "another tool";
  may_share = may_share && can_share(cupti);
  struct cupti_subscriber_params params = {
      .size = sizeof params, .name = "xsp", .old_name = holder, .old_name_size = sizeof holder, .may_share = may_share};
  cupti->is_one_of_several = may_share && cupti->subscribe_v2(&cupti->subscriber, callback, cupti, &params) == CUPTI_OK;
  if (cupti->is_one_of_several)
    return true;
  params.may_share = 0;                                              // an older driver, or a tool that does not share
  params.size = offsetof(struct cupti_subscriber_params, may_share); // as in all versions
  uint32_t error = cupti->subscribe_v2 != NULL ? cupti->subscribe_v2(&cupti->subscriber, callback, cupti, &params)
                                               : cupti->subscribe(&cupti->subscriber, callback, cupti);
  if (error == CUPTI_OTHER_SUBSCRIBER)
    snprintf(why, why_size, "%.100s records this process already (torch.profiler, nsys, ncu ...), and CUPTI serves one",
             holder);
  else if (error != CUPTI_OK)
    snprintf(why, why_size, "cuptiSubscribe: error %u", error);
  return error == CUPTI_OK;
}

static cupti_request_buffer *request_function;
static cupti_complete_buffer *complete_function;

static void request_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records, void *info)
{
  request_function(ret_buffer, ret_size, ret_most_records);
}

static void complete_buffer(uint8_t *buffer, size_t size, size_t valid, void *info)
{
  complete_function(NULL, 0, buffer, size, valid);
}

uint32_t cuda_subscriber_record(const struct cupti *cupti, cupti_request_buffer *request,
                                cupti_complete_buffer *complete)
{
  uint32_t type = CUPTI_THREAD_ID_SYSTEM;
  size_t size = sizeof type;
  if (!cupti->is_one_of_several) {
    if (cupti->set_thread_id_type != NULL)
      cupti->set_thread_id_type(type);
    return cupti->register_callbacks(request, complete);
  }
  request_function = request;
  complete_function = complete;
  uint32_t error = cupti->set_attribute_of_one(cupti->subscriber, CUPTI_THREAD_ID_TYPE, &size, &type);
  return error != CUPTI_OK ? error
                           : cupti->register_callbacks_of_one(cupti->subscriber, request_buffer, complete_buffer);
}
