// SPDX-License-Identifier: Apache-2.0
// What the device's clock is measured with: markers before the first command, the program's own commands, the device's
// timer where it has one, and a clock of the host where the device uses one.
#ifndef XSP_TRACERS_OPENCL_CALIBRATE_H
#define XSP_TRACERS_OPENCL_CALIBRATE_H

#include "tracers/opencl/objects.h"

void opencl_calibrate_device(struct opencl_device *device, cl_context context);
// Reads it again, where that is due and there is a way. `now_ticks`: about now.
void opencl_calibrate_by_timer(struct opencl_device *device,
                               uint64_t now_ticks); // asks the device: not from a callback
void opencl_calibrate_by_host_clock(struct opencl_device *device, uint64_t now_ticks); // from any thread

#endif
