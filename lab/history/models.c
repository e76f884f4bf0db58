// SPDX-License-Identifier: Apache-2.0
// Models side by side, as the XSP paper's Table VIII has them, from records alone: accuracy next to latency and throughput. Called by
// tables.c and by the site.
#include "history/tables.h"

#include "base/interner.h"

#include <math.h>

static void put_key(const struct history_record *record, struct buf *key)
{
  static const char *const facts[] = {"model", "model_version", "framework", "host"};
  buf_clear(key);
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    const char *text = history_fact(record, facts[i]);
    buf_format(key, "%s\n", text != NULL ? text : "");
  }
}

struct history_model *history_models(const struct history *history, struct arena *arena, size_t *ret_count)
{
  size_t count = history->records.count;
  uint32_t *numbers = arena_alloc_array(arena, count + 1, sizeof *numbers);
  struct interner keys SCOPED(interner_done) = {0};
  struct buf key SCOPED(buf_done) = {0};
  for (size_t i = 0; i < count; i++) {
    put_key(&history->records.items[i], &key);
    numbers[i] = interner_at(&keys, key.data, key.length);
  }
  *ret_count = interner_count(&keys);
  struct history_model *models = arena_alloc_array(arena, *ret_count + 1, sizeof *models);
  for (size_t i = 0; i < count; i++)
    models[numbers[i]].count++;
  for (size_t i = 0; i < *ret_count; i++) {
    models[i].records = arena_alloc_array(arena, models[i].count, sizeof *models[i].records);
    models[i].count = 0;
  }
  for (size_t i = count; i-- > 0;)
    models[numbers[i]].records[models[numbers[i]].count++] = &history->records.items[i];
  return models;
}

// ---- figures of a model ----------------------------------------------------------------------------------------------
static const struct history_record *latest_with(const struct history_model *model, const char *key)
{
  for (size_t i = 0; i < model->count; i++)
    if (figures_find(model->records[i]->figures, model->records[i]->figure_count, key) != NULL)
      return model->records[i];
  return model->records[0];
}

double history_model_number(const struct history_model *model, const char *key)
{
  return history_number(latest_with(model, key), key);
}

unsigned history_level_count(const struct history_record *record)
{
  struct level_set set;
  if (record->levels == NULL || !level_set_parse(record->levels, strlen(record->levels), &set))
    return 1;
  return level_set_count(set) + (level_set_is_twin(set) ? XSP_LEVEL_COUNT : 0);
}

const struct history_record *history_model_online(const struct history_model *model)
{
  const struct history_record *online = NULL;
  for (size_t i = 0; i < model->count; i++) {
    const struct history_record *record = model->records[i];
    if (record->batch == 1 && !isnan(history_number(record, "latency_ms")) &&
        (online == NULL || history_level_count(record) < history_level_count(online)))
      online = record;
  }
  return online;
}

// Another record of the batch size says more of the throughput: with fewer levels, or later with as many.
static bool has_better(const struct history_model *model, size_t number)
{
  unsigned levels = history_level_count(model->records[number]);
  for (size_t i = 0; i < model->count; i++) {
    const struct history_record *other = model->records[i];
    if (other->batch == model->records[number]->batch && !isnan(history_number(other, "throughput_per_s")) &&
        history_level_count(other) < levels + (i < number))
      return true;
  }
  return false;
}

const struct history_record *history_model_fastest(const struct history_model *model)
{
  const struct history_record *fastest = NULL;
  double most = 0;
  for (size_t i = 0; i < model->count; i++) {
    double throughput = history_number(model->records[i], "throughput_per_s");
    bool is_smaller = fastest != NULL && throughput == most && model->records[i]->batch < fastest->batch;
    if ((throughput > most || is_smaller) && !has_better(model, i)) {
      most = throughput;
      fastest = model->records[i];
    }
  }
  return fastest;
}

const char *history_model_accuracy(const struct history_model *model, double *ret_reported_pct,
                                   double *ret_evaluated_pct)
{
  static const char *const keys[] = {"reported.top1_pct", "reported.map_pct", "reported.miou_pct",
                                     "reported.exact_pct"};
  const char *metric = NULL;
  *ret_reported_pct = *ret_evaluated_pct = NAN;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0] && isnan(*ret_evaluated_pct); i++) {
    const char *key = strchr(keys[i], '.') + 1;
    double reported_pct = history_model_number(model, keys[i]), evaluated_pct = history_model_number(model, key);
    if (isnan(evaluated_pct) && (metric != NULL || isnan(reported_pct)))
      continue;
    metric = key;
    *ret_reported_pct = reported_pct;
    *ret_evaluated_pct = evaluated_pct;
  }
  return metric;
}

// ---- the table -------------------------------------------------------------------------------------------------------
static void put_row(const struct history_model *model, struct table_builder *table)
{
  const struct history_record *latest = model->records[0], *online = history_model_online(model),
                              *fastest = history_model_fastest(model);
  double reported_pct, evaluated_pct;
  const char *metric = history_model_accuracy(model, &reported_pct, &evaluated_pct);
  table_row(table);
  table_put(table, "model", cell_text(latest->model));
  table_put_optional(table, "model_version", cell_text(latest->model_version));
  table_put(table, "framework", cell_text(latest->framework));
  table_put(table, "framework_version", cell_text(latest->framework_version));
  table_put(table, "host", cell_text(latest->host));
  table_put_optional(table, "task", figure_cell(latest_with(model, "task"), "task"));
  table_put_optional(table, "graph_bytes", cell_number(history_model_number(model, "graph_bytes")));
  table_put_optional(table, "accuracy_metric", cell_text(metric));
  table_put_optional(table, "reported_accuracy_pct", cell_real(reported_pct));
  table_put_optional(table, "accuracy_pct", cell_real(evaluated_pct));
  table_put_optional(table, "data_set", cell_text(isnan(evaluated_pct) ? NULL : latest_with(model, metric)->data_set));
  table_put(table, "online_latency_ms", cell_real(online != NULL ? history_number(online, "latency_ms") : NAN));
  table_put(table, "maximum_throughput_per_s",
            cell_real(fastest != NULL ? history_number(fastest, "throughput_per_s") : NAN));
  table_put(table, "maximum_throughput_batch",
            cell_int_if(fastest != NULL && fastest->batch > 0, fastest != NULL ? fastest->batch : 0));
}

void history_models_put(const struct history *history, struct table_builder *table)
{
  size_t count;
  const struct history_model *models = history_models(history, table->arena, &count);
  for (size_t i = 0; i < count; i++)
    put_row(&models[i], table);
  table_note(table, "a figure is the latest one of its model; latency at batch size 1, throughput at its best one, of "
                    "measurements with the fewest levels");
}
