// SPDX-License-Identifier: Apache-2.0
// Correlation ids count up, so the latest calls have places of their own. Called for each record.
#include "tracers/device/switched.h"

#define CALLS_KEPT 65536u

static uint64_t calls[CALLS_KEPT]; // correlation id, then one bit; 0: none. Touched as it fills

void device_switched_note(uint64_t correlation_id, bool is_on)
{
  calls[correlation_id % CALLS_KEPT] = correlation_id << 1 | is_on;
}

bool device_switched_find(uint64_t correlation_id, bool *ret_is_on)
{
  uint64_t call = calls[correlation_id % CALLS_KEPT];
  *ret_is_on = call & 1;
  return correlation_id != 0 && call >> 1 == correlation_id;
}
