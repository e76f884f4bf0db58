// SPDX-License-Identifier: Apache-2.0
// Kernels by name in the order of the table, for both forms of A10.
#ifndef XSP_ANALYZE_KERNELS_A10_KERNEL_NAMES_H
#define XSP_ANALYZE_KERNELS_A10_KERNEL_NAMES_H

#include "analyze/kernels/kernels.h"

struct names {
  struct kernels kernels;
  struct kernel_groups groups; // by name
  struct kernel_figures all;   // of all kernels, in layers or not
  size_t *order;               // groups by latency falling, then by name; those without a latency are left out
  size_t count;
  const char *from; // kernels_from, or the set if it also serves for the model in the shares
};
struct names_row {
  const char *name;
  struct kernel_figures figures;
};

void names_find(struct question *question, struct names *names); // after kernels_load or kernels_answer
struct names_row names_row(struct names *names, size_t place);   // valid until the next call
// The columns name, count, latency and the shares of the model and of all kernels.
void put_name(struct table_builder *table, const struct names *names, const struct names_row *row);
enum status names_by_batch(struct question *question, struct error *err) MUST_CHECK; // A10 --by batch

#endif
