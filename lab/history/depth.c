// SPDX-License-Identifier: Apache-2.0
// Models in depth and frameworks against each other, as the XSP paper's Tables IX and X have them, from records alone. The figures are
// those of T9, which record.c keeps with a record as "depth.KEY". Called by record.c, tables.c and the site.
#include "history/tables.h"

#include "base/slice.h"

#include <math.h>
#include <strings.h>

#define DEPTH HISTORY_DEPTH_PREFIX

// In the order of columns.
static const char *const depth_keys[DEPTH_KEYS] = {"optimal_batch",
                                                   "kernel_latency_ms",
                                                   "gpu_pct",
                                                   "flops",
                                                   "flops_from",
                                                   "layers_without_flops",
                                                   "dram_read_bytes",
                                                   "dram_write_bytes",
                                                   "achieved_occupancy_pct",
                                                   "arithmetic_intensity",
                                                   "arithmetic_throughput_flops_per_s",
                                                   "bound",
                                                   "analytic_bytes",
                                                   "analytic_intensity",
                                                   "analytic_throughput_flops_per_s",
                                                   "analytic_bound",
                                                   "latency_stage",
                                                   "memory_stage",
                                                   "flops_stage",
                                                   "traffic_stage",
                                                   "analytic_traffic_stage",
                                                   "precision",
                                                   "peak_flops_per_s",
                                                   "memory_bandwidth_bytes_per_s",
                                                   "ideal_arithmetic_intensity"};

static const char *key_of(const char *name, struct arena *arena)
{
  return arena_format(arena, DEPTH "%s", name);
}

// ---- into records ----------------------------------------------------------------------------------------------------
enum status history_depth_read(struct store *store, struct arena *arena, struct table *ret_table, struct error *err)
{
  struct analyze_request request;
  struct table *tables;
  size_t count = 0;
  *ret_table = (struct table){0};
  analyze_request_init(&request);
  enum status status = analyze_run("T9", &store, 1, &request, arena, &tables, &count, err);
  if (status == STATUS_OK && count == 1)
    *ret_table = tables[0];
  return status == STATUS_NO ? STATUS_OK : status;
}

size_t history_depth_figures(const struct table *depth, size_t experiment, int64_t batch, struct arena *arena,
                             struct store_system_value *ret_figures)
{
  size_t count = 0;
  double size = experiment < depth->row_count ? table_double_at(depth, experiment, "batch_size") : -1;
  if ((isnan(size) ? 0 : size) != (double)batch)
    return 0;
  for (size_t i = 0; i < DEPTH_KEYS; i++) {
    const struct table_cell *cell = table_cell_at(depth, experiment, depth_keys[i]);
    double number = cell_double(cell);
    if (cell->type == CELL_TEXT || !isnan(number))
      ret_figures[count++] = (struct store_system_value){.key = key_of(depth_keys[i], arena),
                                                         .is_number = cell->type != CELL_TEXT,
                                                         .number = number,
                                                         .text = cell->type == CELL_TEXT ? cell->value.text : NULL};
  }
  return count;
}

// ---- of a model ------------------------------------------------------------------------------------------------------
const struct history_record *history_model_deep(const struct history_model *model)
{
  for (size_t i = 0; i < model->count; i++)
    for (size_t k = 0; k < model->records[i]->figure_count; k++)
      if (text_begins_with(model->records[i]->figures[k].key, DEPTH))
        return model->records[i];
  return NULL;
}

double history_depth_number(const struct history_record *record, const char *name, struct arena *arena)
{
  return record != NULL ? history_number(record, key_of(name, arena)) : NAN;
}

static void put(struct table_builder *table, const char *name, const char *prefix, const struct history_record *record)
{
  table_put_optional(table, arena_format(table->arena, "%s%s", prefix, name),
                     record != NULL ? figure_cell(record, key_of(name, table->arena)) : cell_text(NULL));
}

// ---- Table IX --------------------------------------------------------------------------------------------------------
void history_depth_put(const struct history *history, struct table_builder *table)
{
  size_t count;
  const struct history_model *models = history_models(history, table->arena, &count);
  for (size_t i = 0; i < count; i++) {
    const struct history_record *record = history_model_deep(&models[i]);
    if (record == NULL)
      continue;
    table_row(table);
    table_put(table, "model", cell_text(record->model));
    table_put_optional(table, "model_version", cell_text(record->model_version));
    table_put(table, "framework", cell_text(record->framework));
    table_put(table, "framework_version", cell_text(record->framework_version));
    table_put(table, "host", cell_text(record->host));
    table_put(table, "batch", cell_int_if(record->batch > 0, record->batch));
    table_put(table, "latency_ms", cell_real(history_number(record, "latency_ms")));
    for (size_t k = 0; k < DEPTH_KEYS; k++)
      put(table, depth_keys[k], "", record);
  }
  if (table->row_count > 0)
    table_note(table, "of the latest file of each model, at the optimal batch size, as xsp analyze T9 has it");
}

// ---- Table X ---------------------------------------------------------------------------------------------------------
struct framework_models {
  const struct history_model *models;
  size_t count;
  const char *base; // the framework that others are normalised to
};

static bool is_of(const struct history_model *model, const char *framework)
{
  return model->records[0]->framework != NULL && strcasecmp(model->records[0]->framework, framework) == 0;
}

// The request's, else the framework with most models, of equals the first.
static enum status choose_base(struct framework_models *all, const char *base, struct error *err)
{
  size_t most = 0;
  for (size_t i = 0; i < all->count; i++) {
    const char *framework = base != NULL ? base : all->models[i].records[0]->framework;
    size_t models = 0;
    for (size_t k = 0; k < all->count && framework != NULL; k++)
      models += is_of(&all->models[k], framework);
    if (models > most) {
      most = models;
      all->base = framework;
    }
  }
  return base == NULL || most > 0
             ? STATUS_OK
             : error_set(err, STATUS_USE, "wrong use", "--base", "the framework's name, as xsp history prints it",
                         "no evaluation is of the framework '%s'", base);
}

// The same model in the base framework on the same host, of the same version where there is one; NULL: none.
static const struct history_model *pair_of(const struct framework_models *all, const struct history_model *model)
{
  const struct history_record *own = model->records[0];
  const struct history_model *pair = NULL;
  for (size_t i = 0; i < all->count; i++) {
    const struct history_record *other = all->models[i].records[0];
    if (!is_of(&all->models[i], all->base) || own->model == NULL || other->model == NULL ||
        !analyze_is_same_model(other->model, own->model) || !texts_equal(other->host, own->host))
      continue;
    if (texts_equal(other->model_version, own->model_version))
      return &all->models[i];
    pair = pair != NULL ? pair : &all->models[i];
  }
  return pair;
}

static double of_record(const struct history_record *record, const char *key)
{
  return record != NULL ? history_number(record, key) : NAN;
}

static void put_pair(const struct history_model *own, const struct history_model *base, struct table_builder *table)
{
  static const char *const both[] = {"optimal_batch", "gpu_pct", "flops", "flops_from", "bound", "analytic_bound"};
  static const char *const others[] = {"dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct",
                                       "arithmetic_intensity", "arithmetic_throughput_flops_per_s"};
  const struct history_record *latest = own->records[0], *deep = history_model_deep(own),
                              *base_deep = history_model_deep(base);
  double online = of_record(history_model_online(own), "latency_ms"),
         base_online = of_record(history_model_online(base), "latency_ms"),
         most = of_record(history_model_fastest(own), "throughput_per_s"),
         base_most = of_record(history_model_fastest(base), "throughput_per_s");
  table_row(table);
  table_put(table, "model", cell_text(latest->model));
  table_put_optional(table, "model_version", cell_text(latest->model_version));
  table_put(table, "host", cell_text(latest->host));
  table_put(table, "framework", cell_text(latest->framework));
  table_put(table, "framework_version", cell_text(latest->framework_version));
  table_put(table, "base_framework", cell_text(base->records[0]->framework));
  table_put(table, "base_framework_version", cell_text(base->records[0]->framework_version));
  table_put(table, "normalized_online_latency", cell_real(online / base_online));
  table_put(table, "normalized_maximum_throughput", cell_real(most / base_most));
  table_put(table, "online_latency_ms", cell_real(online));
  table_put(table, "base_online_latency_ms", cell_real(base_online));
  table_put(table, "maximum_throughput_per_s", cell_real(most));
  table_put(table, "base_maximum_throughput_per_s", cell_real(base_most));
  for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
    put(table, both[i], "", deep);
    put(table, both[i], "base_", base_deep);
  }
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    put(table, others[i], "", deep);
}

enum status history_frameworks_put(const struct history *history, const char *base, struct table_builder *table,
                                   struct error *err)
{
  struct framework_models all = {0};
  all.models = history_models(history, table->arena, &all.count);
  XSP_TRY(choose_base(&all, base, err));
  for (size_t i = 0; i < all.count && all.base != NULL; i++) {
    const struct history_model *pair = is_of(&all.models[i], all.base) ? NULL : pair_of(&all, &all.models[i]);
    if (pair != NULL)
      put_pair(&all.models[i], pair, table);
  }
  if (table->row_count > 0)
    table_note(table,
               "normalised to %.100s: above 1 is slower for the online latency, faster for the maximum throughput",
               all.base);
  return STATUS_OK;
}
