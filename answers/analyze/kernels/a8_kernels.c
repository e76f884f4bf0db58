// SPDX-License-Identifier: Apache-2.0
// A8, kernel information: every kernel call in execution order, its latency, metrics and bound. A9, kernel roofline: the same
// points with the roofs they lie under.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"

static void put_row(struct question *question, const struct kernels *kernels, const struct roofs *roofs,
                    const struct kernel *kernel, const struct kernel_figures *figures, bool with_roofs)
{
  struct table_builder *table = &question->table;
  const struct layer *layer = kernel->layer == KERNEL_NO_LAYER ? NULL : &kernels->layers.items[kernel->layer];
  bool is_launched = kernel->launched != KERNEL_NO_LAYER;
  struct kernel_point point;
  kernel_point(question, roofs, figures, &point);
  table_row(table);
  table_put(table, "kernel_name", cell_text(kernel->name));
  table_put(table, "layer_index", layer == NULL ? (struct table_cell){0} : cell_int(layer->index));
  table_put(table, "layer_name", cell_text(layer == NULL ? NULL : layer->name_text));
  table_put_optional(table, "launched_by",
                     cell_text(is_launched ? kernels->layers.items[kernel->launched].name_text : NULL));
  table_put(table, "latency_ms", cell_real(figures->latency.value));
  kernel_put_metrics(table, figures, &point);
  kernel_put_further(table, question->request, figures);
  analyze_put_spread(table, &figures->latency);
  analyze_put_partial(table, kernel->present < kernels->observation_count);
  analyze_put_from(table, "latency_from", kernels_from(kernels));
  if (with_roofs)
    roof_put(table, point.roof);
}

static size_t count_names(const struct question *question, const struct kernels *kernels)
{
  bool *is_counted = arena_alloc_array(question->scratch, kernels->name_count + 1, sizeof *is_counted);
  size_t count = 0;
  for (size_t i = 0; i < kernels->measured; i++) {
    count += !is_counted[kernels->items[i].name_group];
    is_counted[kernels->items[i].name_group] = true;
  }
  return count;
}

static enum status answer(struct question *question, bool with_roofs, struct error *err)
{
  struct table_builder *table = &question->table;
  struct kernels kernels;
  struct roofs roofs;
  XSP_TRY(kernels_answer(question, KERNELS_ALONE, with_roofs, &kernels, err));
  if (with_roofs)
    XSP_TRY(kernels_need_metrics(question, &kernels, err));
  XSP_TRY(roofs_load(question, &roofs, err));
  struct kernel_groups groups = kernels_group_each(question, &kernels);
  int64_t under_1ms = 0;
  double rows_sum_ms = 0;
  put_row(question, &kernels, &roofs, &(struct kernel){.layer = KERNEL_NO_LAYER, .launched = KERNEL_NO_LAYER},
          &kernel_figures_none, with_roofs);
  table_declared(table, groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(&groups, i, &figures);
    under_1ms += figures.latency.value < 1;
    rows_sum_ms += figures.latency.value;
    put_row(question, &kernels, &roofs, &kernels.items[i], &figures, with_roofs);
  }
  table_summary(table, "kernels", cell_int((int64_t)groups.count));
  table_summary(table, "kernels_under_1ms", cell_int(under_1ms));
  if (question_is_by_value(question))
    analyze_summarize_sums(question, kernels_figures_of_all(question, &kernels).latency.value, rows_sum_ms);
  table_summary(table, "distinct_names", cell_int((int64_t)count_names(question, &kernels)));
  if (with_roofs || kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  if (with_roofs)
    kernels_note_lacking(question, &kernels);
  return STATUS_OK;
}

static enum status answer_a8(struct question *question, struct error *err)
{
  return answer(question, false, err);
}

static enum status answer_a9(struct question *question, struct error *err)
{
  return answer(question, true, err);
}

const struct analysis analysis_a8 = {.id = "A8",
                                     .title = "kernel information",
                                     .summary = "kernels in execution order",
                                     .needs = "K",
                                     .main_figure = "latency_ms",
                                     .answer = answer_a8};
const struct analysis analysis_a9 = {.id = "A9",
                                     .title = "kernel roofline",
                                     .summary = "the same under the machine's roofs",
                                     .needs = "K",
                                     .main_figure = "latency_ms",
                                     .answer = answer_a9};
