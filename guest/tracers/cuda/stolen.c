// SPDX-License-Identifier: Apache-2.0
// While nothing comes from CUPTI for a second, the next launch and wait of the program are watched for. What was waited for has
// its records, so the next flush brings some, unless they go to another. A program that launches is never watched.
#include "tracers/cuda/stolen.h"

#include "tracers/cuda/calls.h"
#include "tracers/cuda/events.h"

#include <string.h>

#define QUIET_LOOKS 4 // of 250 ms

enum watched { NOTHING, LAUNCH, WAIT };

static const struct cupti *cupti;         // atomic
static uint8_t watched[CALLS_MOST];       // enum watched, by number of the call
static uint32_t has_launched, has_waited; // atomic: since the watch began; waited: after a launch
static bool is_watching;                  // atomic; else callbacks of these calls are for clients' events
static bool is_stolen;                    // atomic

void cuda_stolen_start(const struct cupti *used)
{
  if (used->enable_callback == NULL)
    return;
  for (uint32_t cbid = 1; cbid < CALLS_MOST; cbid++) {
    const char *name = cuda_call_name(used, CUPTI_DOMAIN_DRIVER, cbid);
    if (name != NULL && (strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cuGraphLaunch", 13) == 0))
      watched[cbid] = LAUNCH;
    else if (name != NULL && strstr(name, "Synchronize") != NULL)
      watched[cbid] = WAIT;
  }
  __atomic_store_n(&cupti, used, __ATOMIC_RELEASE);
}

void cuda_stolen_callback(uint32_t domain, uint32_t cbid, const void *details)
{
  const struct cupti_call *call = details;
  if (!__atomic_load_n(&is_watching, __ATOMIC_ACQUIRE) || domain != CUPTI_DOMAIN_DRIVER || cbid >= CALLS_MOST ||
      call == NULL || !call->is_exit || *call->result != 0)
    return;
  if (watched[cbid] == LAUNCH)
    __atomic_store_n(&has_launched, 1, __ATOMIC_RELEASE);
  else if (watched[cbid] == WAIT && __atomic_load_n(&has_launched, __ATOMIC_ACQUIRE) != 0)
    __atomic_store_n(&has_waited, 1, __ATOMIC_RELEASE);
}

static void watch(const struct cupti *used, bool is_on)
{
  __atomic_store_n(&has_launched, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&has_waited, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&is_watching, is_on, __ATOMIC_RELEASE);
  for (uint32_t cbid = 1; cbid < CALLS_MOST; cbid++)
    if (watched[cbid] != NOTHING && !cuda_events_has(cbid))
      used->enable_callback(is_on, used->subscriber, CUPTI_DOMAIN_DRIVER, cbid);
}

void cuda_stolen_look(uint64_t buffer_uses, bool is_ending)
{
  static uint64_t known_uses;
  static uint32_t quiet;
  static bool had_waited; // before this flush
  const struct cupti *used = __atomic_load_n(&cupti, __ATOMIC_ACQUIRE);
  if (used == NULL || is_stolen)
    return;
  bool has_come = buffer_uses != known_uses, was_watching = quiet >= QUIET_LOOKS;
  known_uses = buffer_uses;
  quiet = has_come ? 0 : quiet + 1;
  bool is_to_watch = quiet >= QUIET_LOOKS && !is_ending;
  uint32_t waited = __atomic_load_n(&has_waited, __ATOMIC_ACQUIRE);
  if (was_watching && !has_come && (had_waited || (is_ending && waited != 0)))
    __atomic_store_n(&is_stolen, true, __ATOMIC_RELEASE);
  had_waited = waited != 0;
  if (is_to_watch != was_watching || is_stolen)
    watch(used, is_to_watch && !is_stolen);
}

bool cuda_records_are_stolen(void)
{
  return __atomic_load_n(&is_stolen, __ATOMIC_ACQUIRE);
}
