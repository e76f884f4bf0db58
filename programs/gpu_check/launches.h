// SPDX-License-Identifier: Apache-2.0
// What the workload of gpu-check gives the device to do; each is printed as a line of JSON, which is what a trace has to have.
// Used by one thread. Where the driver returns an error, the program ends with status 1 and a line on stderr.
#ifndef XSP_GPU_CHECK_LAUNCHES_H
#define XSP_GPU_CHECK_LAUNCHES_H

#include "driver.h"

#include <stdbool.h>
#include <xsp/span.h>

#define STREAMS 3

extern driver_handle streams[STREAMS], saxpy, block_sum, spin, counted_add;
extern size_t l2_bytes; // of the GPU's last cache

void must(int result, const char *call);
// 3 and a line on stderr where there is no GPU, else 0. Prints a line about the device.
int start(void);

// A layer: `body` inside a span. Its name is that of what it launches, and of the span.
void layer(struct xsp_site *site, void (*body)(void));

// Streams are indices. Lines are printed at once, except between graph_begin and graph_end: what was launched there is
// captured, and printed by each graph_replay.
void launch(driver_handle kernel, unsigned blocks, unsigned threads, unsigned stream, void **arguments);
void copy_in(driver_address to, const void *from, size_t bytes, unsigned stream);
void copy_out(void *to, driver_address from, size_t bytes, unsigned stream);
void copy_inside(driver_address to, driver_address from, size_t bytes, unsigned stream);
void set_zero(driver_address to, size_t bytes, unsigned stream);
void graph_begin(unsigned stream);
driver_handle graph_end(unsigned stream);
void graph_replay(driver_handle graph, unsigned stream);

// A kernel between two events; call wait_timed when all are launched. Returns false where one of them was launched too
// late to follow its predecessor at once, so that times of events mean nothing; lines then have none.
#define TIMED 4
void launch_timed(unsigned number, unsigned blocks, uint64_t cycles, unsigned stream); // number < TIMED, in order
bool wait_timed(unsigned stream);
#endif
