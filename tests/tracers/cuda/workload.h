// SPDX-License-Identifier: Apache-2.0
// cuda_workload: what it launches, and the truth about it: one JSON object a line.
#ifndef XSP_TESTS_WORKLOAD_H
#define XSP_TESTS_WORKLOAD_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

struct shape {
  unsigned grid[3], block[3], shared_bytes;
};

// Each ends the program with status 3 if CUDA refuses. `stream` NULL: the current context's default.
void must(CUresult result, const char *what);
CUfunction find_kernel(const char *name);
CUdeviceptr allocate(size_t bytes);
void launch(CUfunction kernel, struct shape shape, CUstream stream);
void copy_in(CUdeviceptr to, const void *from, size_t bytes, CUstream stream); // asynchronous, as those that follow
void copy_out(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
void copy_inside(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
void copy_to_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes);
void set_bytes(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream);
// What a call does, for those above and for calls that are made otherwise. `copy`: "HtoD", "" for others.
void tell(const char *api, const char *operation, const char *name, struct shape shape, const char *copy, size_t bytes,
          CUstream stream, unsigned times);
// Until it ends, what is told is kept instead. Then each launch of the graph tells it.
void recording_begin(void);
void recording_end(void);
void tell_recorded(CUstream stream, unsigned launches);
void checksum(const char *what, const unsigned char *bytes, size_t count);

extern const struct shape small, wide;
CUstream new_stream(void);
void launch_graph(CUgraph graph, CUstream stream, unsigned count); // and waits; graph and executable are destroyed

// workload_layers.c
int captured_layers(unsigned count);
int replayed_layers(unsigned count);

// workload_memory.c
int pools(unsigned count);

// workload_thief.c
int thief(unsigned count);

// workload_modes.c, workload_metrics.c. The program's status, or -1: no such mode.
int run_metrics_mode(const char *mode, unsigned count);
int run_mode(const char *mode, unsigned count);

#endif
