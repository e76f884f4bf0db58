// SPDX-License-Identifier: Apache-2.0
// A10 in long form: counts and times of kernels by batch size, to be compared with other batch sizes, systems and
// frameworks. Called by a10_kernel_names.c.
#include "analyze/kernels/a10_kernel_names.h"

enum {
  BATCH,
  SYSTEM,
  FRAMEWORK,
  NAME,
  COUNT,
  LATENCY,
  LATENCY_PCT,
  KERNELS_PCT,
  SPREAD,
  FROM = SPREAD + 4,
  MODEL_FROM,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("batch_size", "", "batch"),
    COLUMN("system", "", "system"),
    COLUMN("framework", "", "framework"),
    COLUMN("kernel_name", "", "kernel"),
    COLUMN("count", "", "count"),
    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("latency_pct", "%", "of model"),
    COLUMN("kernels_pct", "%", "of kernels"),
    SPREAD_COLUMNS,
    COLUMN("latency_from", "", "from"),
    COLUMN("model_latency_from", "", "model from"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

static enum status add_batch(struct question *question, int64_t batch_size, const char *system, struct error *err)
{
  struct kernels kernels;
  struct kernel_groups groups;
  struct names_in_order names;
  struct kernel_figures all;
  XSP_TRY(kernels_load(question, batch_size, KERNELS_ALONE, &kernels, err));
  XSP_TRY(kernels_group_by_name(question, &kernels, &groups, err));
  XSP_TRY(names_order(question, &groups, &names, err));
  XSP_TRY(kernels_all(question, &kernels, &all, err));
  for (size_t i = 0; i < names.count; i++) {
    struct kernel_figures figures;
    struct table_cell *row = table_row(&question->table);
    kernel_groups_figures(&groups, names.order[i], &figures);
    row[BATCH] = batch_size == 0 ? (struct table_cell){0} : cell_int(batch_size);
    row[SYSTEM] = cell_text(system);
    row[FRAMEWORK] = cell_text(question->view->experiment->framework);
    row[NAME] = cell_text(kernels.names[names.order[i]]);
    row[COUNT] = cell_number(figures.count);
    row[LATENCY] = cell_real(figures.latency_ms);
    row[LATENCY_PCT] = cell_real(share_of_model_pct(&kernels, figures.latency_ms));
    row[KERNELS_PCT] = cell_real(share_pct(figures.latency_ms, all.latency_ms));
    cell_spread(&row[SPREAD], figures.values_ms, figures.value_count);
    row[FROM] = cell_text(names_from(&kernels));
    row[MODEL_FROM] = cell_text(kernels.model_from);
  }
  question_uses(question, kernels.set);
  kernels_note(question, &kernels);
  question_note_from(question, "model", kernels.model_from);
  return STATUS_OK;
}

enum status names_by_batch(struct question *question, struct error *err)
{
  const struct view *view = question->view;
  int64_t only = question->request->batch;
  struct roofs roofs;
  XSP_TRY(roofs_load(question, &roofs, err));
  table_columns(&question->table, columns, COLUMN_COUNT);
  size_t batches = 0;
  for (size_t i = 0; i < view->set_count; i++) { // sets stand by batch size
    int64_t batch_size = view->sets[i].batch_size;
    if ((i > 0 && view->sets[i - 1].batch_size == batch_size) || (only != 0 && batch_size != only) ||
        !kernels_exist(view, batch_size))
      continue;
    struct arena *answers_scratch = question->scratch;
    struct arena scratch = {0}; // of one batch size at a time
    question->scratch = &scratch;
    enum status status = add_batch(question, batch_size, roofs.device, err);
    arena_done(&scratch);
    question->scratch = answers_scratch;
    XSP_TRY(status);
    question->batch_size = batch_size;
    batches++;
  }
  if (batches == 0 && only != 0)
    return question_lacks(question, err, "there is no run with the kernel level at batch size %lld", (long long)only);
  if (batches == 0)
    return question_lacks(question, err, "there is no run with the kernel level");
  question->has_several_batches = batches > 1;
  table_summary(&question->table, "batch_sizes", cell_int((int64_t)batches));
  table_drop_empty(&question->table, "latency_from");
  table_drop_empty(&question->table, "model_latency_from");
  return STATUS_OK;
}
