// SPDX-License-Identifier: Apache-2.0
// A10 --by batch, and the order that both forms of A10 have. Private to analyze.
#ifndef XSP_ANALYZE_KERNELS_A10_KERNEL_NAMES_H
#define XSP_ANALYZE_KERNELS_A10_KERNEL_NAMES_H

#include "analyze/kernels/kernels.h"

struct names_in_order { // groups of kernels_group_by_name, by latency falling, then by name; those without one left out
  size_t *order;
  double *latency_ms; // by group
  size_t count;
};
enum status names_order(struct question *question, struct kernel_groups *groups, struct names_in_order *ret_names,
                        struct error *err) MUST_CHECK;
double share_pct(double part_ms, double whole_ms);                           // NaN: unknown
double share_of_model_pct(const struct kernels *kernels, double latency_ms); // NaN: unknown
// Figures of all kernels, in layers or not.
enum status kernels_all(struct question *question, const struct kernels *kernels, struct kernel_figures *ret_all,
                        struct error *err) MUST_CHECK;
// kernels_from, and where the set stands in for the model's runs in the shares.
const char *names_from(const struct kernels *kernels);
enum status names_by_batch(struct question *question, struct error *err) MUST_CHECK;

#endif
