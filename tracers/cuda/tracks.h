// SPDX-License-Identifier: Apache-2.0
// Tracks of spans: the program's threads, and of each device the streams, the waits for them and its memory. One thread.
#ifndef XSP_TRACERS_CUDA_TRACKS_H
#define XSP_TRACERS_CUDA_TRACKS_H

#include <stdint.h>

#define NO_STREAM UINT32_MAX // as CUPTI writes it

uint16_t thread_track(uint32_t thread_id);
// Where the stream has nothing else at that time: what runs in a graph, or in two streams of one number, may overlap.
uint16_t stream_track(uint32_t device, uint32_t context, uint32_t stream, uint64_t start, uint64_t end);
uint16_t wait_track(uint32_t device, uint32_t context, uint32_t stream, uint64_t start, uint64_t end);
uint16_t allocation_track(uint32_t device);

#endif
