// SPDX-License-Identifier: Apache-2.0
// A14, layer roofline: A11's points with the roofs they lie under and, apart from what was measured, the analytic work of
// each layer. Where no kernels were recorded, the analytic points of the layers alone.
#include "analyze/a_list.h"
#include "analyze/flops/layers.h"
#include "analyze/kernels/a11_kernel_layers.h"
#include "analyze/kernels/a8_kernels.h"

#include <math.h>

enum {
  ROOFS = KERNEL_LAYER_COLUMN_COUNT,
  ANALYTIC_FLOPS = ROOFS + ROOF_COLUMN_COUNT,
  ANALYTIC_BYTES,
  ANALYTIC_INTENSITY,
  ANALYTIC_THROUGHPUT,
  ANALYTIC_BOUND,
  ANALYTIC_PRECISION,
  ANALYTIC_ABOVE_ROOF,
  MULTIPLY_ADDS,
  ADDS,
  COMPARES,
  SPECIALS,
  COLUMN_COUNT
};

static const struct table_column columns[COLUMN_COUNT] = {
    KERNEL_LAYER_COLUMNS,
    ROOF_COLUMNS,
    COLUMN("analytic_flops", "flops", "an. flops"),
    COLUMN("analytic_bytes", "bytes", "an. bytes"),
    COLUMN("analytic_intensity", "flops/byte", "an. intensity"),
    COLUMN("analytic_throughput_flops_per_s", "flops/s", "an. throughput"),
    COLUMN("analytic_bound", "", "an. bound"),
    COLUMN("analytic_precision", "", "an. precision"),
    COLUMN("analytic_above_roof", "", "an. above roof"),
    COLUMN("multiply_adds", "ops", "mul-adds"),
    COLUMN("adds", "ops", "adds"),
    COLUMN("compares", "ops", "compares"),
    COLUMN("specials", "ops", "specials"),
};

static struct table_cell *row_at(struct question *question, size_t row)
{
  return question->table.rows + row * COLUMN_COUNT;
}

// ---- measured --------------------------------------------------------------------------------------------------------
// The precision that a row names decides which roofs it has.
static const struct roof *roof_named(const struct roofs *roofs, const struct table_cell *precision)
{
  for (int p = 0; p < PRECISION_COUNT; p++)
    if (precision->type == CELL_TEXT && roofs->of[p].precision != NULL &&
        roofs->of[p].precision == precision->value.text)
      return &roofs->of[p];
  return &roofs->of[PRECISION_SINGLE];
}

// ---- analytic --------------------------------------------------------------------------------------------------------
// Products of half-precision matrices go to the matrix units where the machine has such.
static const struct roof *analytic_roof(const struct roofs *roofs, const struct flop_counts *counts)
{
  double flops[PRECISION_COUNT] = {NAN, NAN, NAN, NAN};
  if (counts->element.bytes == 8 && counts->element.is_float)
    flops[PRECISION_DOUBLE] = 1;
  else if (counts->element.bytes == 2 && counts->element.is_float)
    flops[roofs->of[PRECISION_TENSOR].precision != NULL ? PRECISION_TENSOR : PRECISION_HALF] = 1;
  return roofs_choose(roofs, flops);
}

struct analytic { // over all layers
  double flops, bytes, multiply_adds, latency_ms, unknown_ms;
  size_t known, above_roof;
};

static void fill_analytic(struct table_cell *row, const struct roofs *roofs, const struct flop_counts *counts,
                          double latency_ms, struct analytic *sum)
{
  double flops = flop_counts_flops(counts);
  const struct roof *roof = analytic_roof(roofs, counts);
  double intensity = roof_intensity(flops, counts->bytes);
  double throughput = roof_throughput_flops_per_s(flops, latency_ms);
  struct table_cell above = roof_is_exceeded(roof, intensity, throughput);
  row[ANALYTIC_FLOPS] = cell_number(flops);
  row[ANALYTIC_BYTES] = cell_number(counts->bytes);
  row[ANALYTIC_INTENSITY] = cell_real(intensity);
  row[ANALYTIC_THROUGHPUT] = cell_real(throughput);
  row[ANALYTIC_BOUND] = cell_text(roof_bound(roof, intensity));
  row[ANALYTIC_PRECISION] = isnan(flops) ? (struct table_cell){0} : cell_text(roof->precision);
  row[ANALYTIC_ABOVE_ROOF] = above;
  row[MULTIPLY_ADDS] = cell_number(counts->multiply_adds);
  row[ADDS] = cell_number(counts->adds);
  row[COMPARES] = cell_number(counts->compares);
  row[SPECIALS] = cell_number(counts->specials);
  sum->latency_ms += isnan(latency_ms) ? 0 : latency_ms;
  if (isnan(flops)) {
    sum->unknown_ms += isnan(latency_ms) ? 0 : latency_ms;
    return;
  }
  sum->known++;
  sum->flops += flops;
  sum->multiply_adds += counts->multiply_adds;
  sum->above_roof += above.type == CELL_BOOL && above.value.truth;
}

static void summarize(struct question *question, const struct analytic *sum, size_t layers)
{
  struct table_builder *table = &question->table;
  bool is_any = sum->known > 0;
  table_summary(table, "analytic_flops", is_any ? cell_number(sum->flops) : (struct table_cell){0});
  table_summary(table, "analytic_multiply_adds", is_any ? cell_number(sum->multiply_adds) : (struct table_cell){0});
  table_summary(table, "analytic_unknown_layers", cell_int((int64_t)(layers - sum->known)));
  table_summary(table, "analytic_unknown_pct",
                cell_real(sum->latency_ms > 0 ? sum->unknown_ms / sum->latency_ms * 100 : NAN));
  table_summary(table, "analytic_above_roof", cell_int((int64_t)sum->above_roof));
  if (!is_any)
    return;
  table_note(table,
             "analytic figures follow from shapes, not from counters: flops = 2 * multiply_adds + adds + compares + "
             "specials; bytes: inputs, weights and outputs, each moved once");
  if (sum->known < layers)
    table_note(table, "the analytic work of %zu of %zu layers (%.3g %% of their time) is not known: sums lack it",
               layers - sum->known, layers, sum->latency_ms > 0 ? sum->unknown_ms / sum->latency_ms * 100 : 0.0);
  if (sum->above_roof > 0)
    table_note(table,
               "%zu layers lie above their analytic roof: algorithms that compute less (Winograd, Fourier), data that "
               "stayed in "
               "caches, arithmetic in another precision than the tensors' (TF32), or suspect counting",
               sum->above_roof);
}

static void drop_unknown(struct question *question)
{
  for (size_t i = ANALYTIC_FLOPS; i < COLUMN_COUNT; i++)
    table_drop_empty(&question->table, columns[i].key);
}

// ---- with and without kernels ----------------------------------------------------------------------------------------
static enum status answer_kernels(struct question *question, struct error *err)
{
  struct kernels kernels;
  struct roofs roofs;
  struct layers_work work;
  struct analytic sum = {0};
  XSP_TRY(kernel_layers_told(question, columns, COLUMN_COUNT, &kernels, &roofs, err));
  const struct view_set *set = kernels.layer_set != NULL ? kernels.layer_set : kernels.set;
  XSP_TRY(flops_layers_load(question, &kernels.layers, set, &work, err));
  for (size_t i = 0; i < question->table.row_count; i++) {
    struct table_cell *row = row_at(question, i);
    double kernels_ms = cell_double(&row[KERNEL_LAYER_KERNELS]);
    roof_cells(roof_named(&roofs, &row[KERNEL_LAYER_METRICS + METRIC_PRECISION]), &row[ROOFS]);
    // By kernel latency, as what is measured; a layer whose work is done on the CPU has none.
    fill_analytic(row, &roofs, &work.items[i], kernels_ms > 0 ? kernels_ms : cell_double(&row[KERNEL_LAYER_LATENCY]),
                  &sum);
  }
  summarize(question, &sum, question->table.row_count);
  roofs_note(question, &roofs);
  kernels_note_lacking(question, &kernels);
  return STATUS_OK;
}

static enum status answer_layers(struct question *question, struct error *err)
{
  struct layers layers;
  struct roofs roofs;
  struct layers_work work;
  struct analytic sum = {0};
  XSP_TRY(layers_answer(question, &layers, err));
  XSP_TRY(flops_layers_load(question, &layers, layers.set, &work, err));
  if (work.known == 0)
    return question_lacks(question, err,
                          "there is no run with the layer and kernel levels, and the shapes of its layers "
                          "are not recorded");
  XSP_TRY(roofs_load(question, &roofs, err));
  double *values = arena_alloc_array(question->scratch, layers.observation_count + 1, sizeof *values);
  if (values == NULL)
    return question_no_memory(err);
  table_columns(&question->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < layers.count; i++) {
    const struct layer *layer = &layers.items[i];
    struct table_cell *row = table_row(&question->table);
    size_t count = layer_values(&layers, layer, LAYER_LATENCY, values);
    double latency_ms = question_statistic(question, values, count);
    row[KERNEL_LAYER_INDEX] = cell_int(layer->index);
    row[KERNEL_LAYER_NAME] = cell_text(layer->name_text);
    row[KERNEL_LAYER_TYPE] = cell_text(layer->type);
    row[KERNEL_LAYER_LATENCY] = cell_real(latency_ms);
    cell_spread(&row[KERNEL_LAYER_SPREAD], values, count);
    row[KERNEL_LAYER_PARTIAL] = layer->present < layers.observation_count ? cell_bool(true) : (struct table_cell){0};
    row[KERNEL_LAYER_LAYER_FROM] = cell_text(layers.from);
    roof_cells(&roofs.of[PRECISION_SINGLE], &row[ROOFS]);
    fill_analytic(row, &roofs, &work.items[i], latency_ms, &sum);
  }
  summarize(question, &sum, layers.count);
  roofs_note(question, &roofs);
  table_note(&question->table, "no kernels were recorded: points are analytic, over the layers' own latency");
  return STATUS_OK;
}

static bool has_kernels(const struct question *question)
{
  const struct view *view = question->view;
  for (size_t i = 0; i < view->set_count; i++)
    if ((question->request->batch == 0 || view->sets[i].batch_size == question->request->batch) &&
        kernels_exist_by_layer(view, view->sets[i].batch_size))
      return true;
  return false;
}

static enum status answer(struct question *question, struct error *err)
{
  if (has_kernels(question))
    XSP_TRY(answer_kernels(question, err));
  else
    XSP_TRY(answer_layers(question, err));
  kernel_layers_drop_empty(question);
  drop_unknown(question);
  return STATUS_OK;
}

const struct analysis analysis_a14 = {.id = "A14", .title = "layer roofline", .needs = "L/K", .answer = answer};
