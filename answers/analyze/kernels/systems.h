// SPDX-License-Identifier: Apache-2.0
// The table of known GPUs: what their makers say they can do at best.
#ifndef XSP_ANALYZE_KERNELS_SYSTEMS_H
#define XSP_ANALYZE_KERNELS_SYSTEMS_H

// Figures of one device as a driver shows it (one die of a card that holds two), without sparsity. 0: its maker does not
// say. Tera-flops per second, gigabytes (10^9) per second.
struct system_peaks {
  double half, single, double_precision;
  double tensor; // half precision with accumulation in single on the matrix units; their other formats differ
  double bandwidth;
  const char *source; // "NVIDIA V100 data sheet"
};

// By the name that a driver gives ("Tesla V100-DGXS-32GB"). The whole name has to be known, makers' words, case and
// punctuation aside: "GeForce", a MIG slice, or a name that several models share match nothing. NULL: unknown.
const struct system_peaks *analyze_systems_find(const char *gpu_name);

#endif
