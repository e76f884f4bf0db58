// SPDX-License-Identifier: Apache-2.0
// XSP_SERIALIZE=1: a command is waited for before its call returns and before any thread enqueues the next, so that no two
// executions overlap, no kernel has two possible parents, and no layer ends before its kernels.
#ifndef XSP_TRACERS_OPENCL_SERIAL_H
#define XSP_TRACERS_OPENCL_SERIAL_H

#include "tracers/opencl/pending.h"

void opencl_serial_start(void); // once
// Around one command of a thread.
void opencl_serial_enter(void);
void opencl_serial_leave(void);
// Waits for the command and gives its record back. Not for ever: one that waits for a user event, or that was enqueued by
// a callback, may need this very thread to go on.
void opencl_serial_wait(struct opencl_pending *pending, cl_command_queue queue);
// On the driver's thread. True: the waiting thread gives the record back.
bool opencl_serial_report(struct opencl_pending *pending);

#endif
