// SPDX-License-Identifier: Apache-2.0
// Which calls were made while their level was on: what they started is kept or left with them, whenever it ran and whenever its
// record is read. On the tracer's thread.
#ifndef XSP_TRACERS_DEVICE_SWITCHED_H
#define XSP_TRACERS_DEVICE_SWITCHED_H

#include <stdbool.h>
#include <stdint.h>

void device_switched_note(uint64_t correlation_id, bool is_on);
// False: the call was not noted, or 65,536 others were since.
bool device_switched_find(uint64_t correlation_id, bool *ret_is_on);

#endif
