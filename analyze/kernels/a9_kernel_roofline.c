// SPDX-License-Identifier: Apache-2.0
// A9, kernel roofline: A8's points with the roofs they lie under.
#include "analyze/a_list.h"
#include "analyze/kernels/a8_kernels.h"

void kernels_note_lacking(struct question *question, const struct kernels *kernels)
{
  bool has_flops = kernels->has_metric[KERNEL_FLOPS];
  bool has_bytes = kernels->has_metric[KERNEL_DRAM_READ] && kernels->has_metric[KERNEL_DRAM_WRITE];
  if (!has_flops || !has_bytes)
    table_note(&question->table, "no kernel has %s%s%s: points under the roofs are not given", has_flops ? "" : "flops",
               !has_flops && !has_bytes ? " or " : "", has_bytes ? "" : "dram_read_bytes and dram_write_bytes");
}

static enum status answer(struct question *question, struct error *err)
{
  return kernels_table(question, true, err);
}

const struct analysis analysis_a9 = {.id = "A9", .title = "kernel roofline", .needs = "K", .answer = answer};
