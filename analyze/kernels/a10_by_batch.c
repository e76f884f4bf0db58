// SPDX-License-Identifier: Apache-2.0
// A10 in long form: counts and times of kernels by batch size, to be compared with other batch sizes, systems and
// frameworks. Called by a10_kernel_names.c.
#include "analyze/kernels/a10_kernel_names.h"

static void put_row(struct question *question, const struct roofs *roofs, const struct names *names,
                    const struct names_row *row)
{
  struct table_builder *table = &question->table;
  table_row(table);
  put_batch(table, names->kernels.batch_size);
  table_put(table, "system", "", "system", cell_text(roofs->device));
  table_put(table, "framework", "", "framework", cell_text(question->view->experiment->framework));
  put_name(table, names, row);
  put_spread(table, row->figures.values_ms, row->figures.value_count);
  put_from(table, "latency_from", "from", names->from);
  put_from(table, "model_latency_from", "model from", names->kernels.model_from);
}

static enum status add_batch(struct question *question, int64_t batch_size, void *roofs, struct error *err)
{
  struct names names = {0};
  XSP_TRY(kernels_load(question, batch_size, KERNELS_ALONE, &names.kernels, err));
  names_find(question, &names);
  for (size_t i = 0; i < names.count; i++) {
    struct names_row row = names_row(&names, i);
    put_row(question, roofs, &names, &row);
  }
  question_uses(question, names.kernels.set);
  kernels_note(question, &names.kernels);
  question_note_from(question, "model", names.kernels.model_from);
  return STATUS_OK;
}

enum status names_by_batch(struct question *question, struct error *err)
{
  struct roofs roofs;
  size_t batches;
  XSP_TRY(roofs_load(question, &roofs, err));
  put_row(question, &roofs, &(struct names){0}, &(struct names_row){0});
  table_declared(&question->table, 0);
  XSP_TRY(kernels_each_batch(question, add_batch, &roofs, &batches, err));
  table_summary(&question->table, "batch_sizes", cell_int((int64_t)batches));
  return STATUS_OK;
}
