// SPDX-License-Identifier: Apache-2.0
// Which kernels a CUDA graph runs, as far as its nodes were captured in one stream: then they run in the order of their capture.
// All calls under one lock of the caller's.
#ifndef XSP_TRACERS_CUDA_CAPTURED_H
#define XSP_TRACERS_CUDA_CAPTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

struct captured_graph {
  size_t kernel_count;
  struct xsp_site *kernels[];
};

void cuda_captured_note(uint64_t node_id, struct xsp_site *kernel,
                        const void *stream); // a captured launch made the node
void cuda_captured_copy(uint64_t node_id, uint64_t original_id);

// An executable is made of copies of nodes, on one thread: begin, add for each node of a kernel, end with its handle.
struct captured_nodes {
  uint64_t *ids;
  size_t count, capacity;
  bool is_cut; // no memory
};
void cuda_captured_add(struct captured_nodes *nodes, uint64_t node_id);
void cuda_captured_end(struct captured_nodes *nodes, const void *executable); // frees; NULL: there is no executable
void cuda_captured_forget(const void *executable);                            // its kernels are others now
// NULL: its kernels, or their order, are not known.
const struct captured_graph *cuda_captured_find(const void *executable);

#endif
