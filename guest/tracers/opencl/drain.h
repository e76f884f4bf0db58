// SPDX-License-Identifier: Apache-2.0
// How many commands are in flight, and waiting for them at exit: a program that exits without waiting still has its
// executions recorded, if they end in time.
#ifndef XSP_TRACERS_OPENCL_DRAIN_H
#define XSP_TRACERS_OPENCL_DRAIN_H

#include <stdint.h>

void opencl_drain_start(uint64_t longest_ns); // once: how long exit may wait
void opencl_drain_started(void);              // one more command in flight
void opencl_drain_finished(void);             // one less; on the driver's threads
// From then on exit of the main thread waits, where this is the main thread. Exit of another thread does not: there is no
// moment at which that would be safe.
void opencl_drain_at_exit(void);
uint64_t opencl_drain_in_flight(void);
uint64_t opencl_drain_waited_ns(void);

#endif
