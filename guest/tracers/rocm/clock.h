// SPDX-License-Identifier: Apache-2.0
// Times of rocprofiler-sdk as those of Linux' clocks. Conversion: any thread.
#ifndef XSP_TRACERS_ROCM_CLOCK_H
#define XSP_TRACERS_ROCM_CLOCK_H

#include "tracers/rocm/abi.h"

// Compares the two clocks: at the start, and from time to time, on one thread.
void rocm_clock_compare(const struct rocm *rocm);
uint64_t rocm_clock_monotonic_ns(uint64_t rocm_ns); // 0 stays 0
uint64_t
rocm_clock_realtime_ns(uint64_t rocm_ns); // to compare with when levels were switched; a step of that clock moves it

#endif
