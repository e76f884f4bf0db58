// SPDX-License-Identifier: Apache-2.0
// The figures of an evaluated model, for the table that is printed and for table `evaluation` of the file. Called by evaluation.c and
// by what prints evaluations.
#include "experiment/evaluation/evaluation.h"

#include "analyze/analyze.h"
#include "base/slice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static double percent(size_t part, size_t whole)
{
  return whole > 0 ? 100.0 * (double)part / (double)whole : NAN;
}

static double statistic_of(const double *latencies_ms, size_t count, const char *name, struct arena *arena)
{
  double *values = arena_alloc_array(arena, count + 1, sizeof *values);
  memcpy(values, latencies_ms, count * sizeof *values);
  return statistic_named(name, values, count);
}

// How many items both models call the same, of those that both evaluated.
static double agreement_pct(const struct evaluation_result *first, const struct evaluation_result *other)
{
  size_t both = first->item_count < other->item_count ? first->item_count : other->item_count, same = 0;
  for (size_t i = 0; i < both; i++)
    same += first->items[i].count > 0 && other->items[i].count > 0 &&
            first->items[i].best[0].place == other->items[i].best[0].place;
  return percent(same, both);
}

static bool has_kind(const struct evaluation_options *options, enum output_kind kind)
{
  bool found = false;
  for (size_t i = 0; i < options->model_count; i++)
    found |= options->models[i].kind == kind;
  return found;
}

bool evaluation_compares(const struct evaluation_options *options)
{
  return options->model_count > 1 && !has_kind(options, OUTPUT_BOXES) && !has_kind(options, OUTPUT_INSTANCES);
}

static void put_part(struct table_builder *table, const char *key, double part)
{
  table_put(table, key, cell_real(100 * part));
}

// Columns of the kinds of outputs that there are.
static void put_accuracy(struct table_builder *table, const struct evaluation_options *options,
                         const struct evaluation *evaluation, size_t number)
{
  const struct evaluation_result *result = &evaluation->results[number], *first = &evaluation->results[0];
  struct accuracy accuracy = result->accuracy;
  enum output_kind kind = options->models[number].kind;
  bool are_both_scores = number > 0 && kind == OUTPUT_SCORES && options->models[0].kind == OUTPUT_SCORES;
  if (kind == OUTPUT_SCORES || result->item_count == 0)
    accuracy = accuracy_unknown;
  if (has_kind(options, OUTPUT_SCORES)) {
    size_t labelled = kind == OUTPUT_SCORES ? result->labelled : 0;
    table_put(table, "top1_pct", cell_real(percent(result->first_right, labelled)));
    table_put(table, "top5_pct", cell_real(percent(result->among_right, labelled)));
    table_put_optional(table, "agreement_pct", cell_real(are_both_scores ? agreement_pct(first, result) : NAN));
  }
  if (has_kind(options, OUTPUT_BOXES) || has_kind(options, OUTPUT_INSTANCES)) {
    put_part(table, "map_pct", accuracy.ap);
    put_part(table, "ap50_pct", accuracy.ap_at_50);
    put_part(table, "ap75_pct", accuracy.ap_at_75);
  }
  if (has_kind(options, OUTPUT_INSTANCES)) {
    put_part(table, "mask_map_pct", accuracy.mask_ap);
    put_part(table, "mask_ap50_pct", accuracy.mask_ap_at_50);
    put_part(table, "mask_ap75_pct", accuracy.mask_ap_at_75);
  }
  if (has_kind(options, OUTPUT_MASK)) {
    put_part(table, "miou_pct", accuracy.iou);
    put_part(table, "pixel_pct", accuracy.pixels);
  }
  if (has_kind(options, OUTPUT_TEXT)) {
    put_part(table, "exact_pct", accuracy.exact);
    put_part(table, "cer_pct", accuracy.character_errors);
  }
}

void evaluation_put_figures(struct table_builder *table, const struct evaluation_options *options,
                            const struct evaluation *evaluation, size_t number)
{
  const struct evaluation_result *result = &evaluation->results[number];
  const double *latencies_ms = result->latencies_ms;
  size_t count = result->latency_count;
  double latency_ms = statistic_of(latencies_ms, count, "trimmed:0.2", table->arena); // as A1 has it
  table_put(table, "inputs", cell_int((int64_t)result->item_count));
  table_put(table, "labelled", cell_int((int64_t)result->labelled));
  put_accuracy(table, options, evaluation, number);
  table_put(table, "latency_ms", cell_real(latency_ms));
  table_put_optional(table, "latency_within_pct", cell_real(result->reach_pct));
  table_put(table, "p90_ms", cell_real(statistic_of(latencies_ms, count, "p90", table->arena)));
  table_put(table, "p99_ms", cell_real(statistic_of(latencies_ms, count, "p99", table->arena)));
  table_put(table, "throughput_per_s", cell_real(latency_ms > 0 ? 1000 * (double)options->batch / latency_ms : NAN));
  table_put(table, "preprocess_ms", cell_real(result->preprocess_ms));
  table_put(table, "postprocess_ms", cell_real(result->postprocess_ms));
}

void evaluation_put_scenario(struct table_builder *table, const struct scenario *scenario,
                             const struct scenario_result *result)
{
  static const struct {
    const char *statistic, *key;
  } percentiles[] = {{"p50", "p50_ms"}, {"p90", "p90_ms"}, {"p95", "p95_ms"},
                     {"p97", "p97_ms"}, {"p99", "p99_ms"}, {"p99.9", "p999_ms"}};
  size_t count = result->query_count;
  double values[sizeof percentiles / sizeof percentiles[0]];
  double samples_per_s = (double)count * (double)scenario->batch / result->seconds;
  for (size_t i = 0; i < sizeof percentiles / sizeof percentiles[0]; i++)
    values[i] = statistic_of(result->latencies_ms, count, percentiles[i].statistic, table->arena);
  size_t late = scenario_late(result->latencies_ms, count, scenario->bound_ms);
  bool is_valid = !result->was_interrupted && count >= scenario->queries &&
                  (scenario->kind != SCENARIO_SERVER || scenario_keeps_bound(count, late));
  const double metrics[SCENARIO_KINDS] = {[SCENARIO_SINGLE_STREAM] = values[1],
                                          [SCENARIO_MULTI_STREAM] = values[4],
                                          [SCENARIO_SERVER] = result->qps,
                                          [SCENARIO_OFFLINE] = samples_per_s};
  table_put(table, "batch", cell_int(scenario->batch));
  table_put(table, "queries", cell_int((int64_t)count));
  table_put(table, "duration_s", cell_real(result->seconds));
  table_put_optional(table, "qps", cell_real(result->qps));
  table_put_optional(table, "qps_upper", cell_real(result->qps_upper));
  table_put(table, "latency_ms", cell_real(statistic_of(result->latencies_ms, count, "mean", table->arena)));
  for (size_t i = 0; i < sizeof percentiles / sizeof percentiles[0]; i++)
    table_put(table, percentiles[i].key, cell_real(values[i]));
  table_put_optional(table, "wait_ms", cell_real(result->wait_ms));
  table_put_optional(table, "queue_gap_ms", cell_real(result->queue_gap_ms));
  table_put(table, "samples_per_s", cell_real(samples_per_s));
  table_put(table, "metric", cell_text(scenario_metric(scenario->kind)));
  table_put(table, "value", cell_real(metrics[scenario->kind]));
  table_put(table, "is_valid", cell_bool(is_valid));
}

// ---- in the file -----------------------------------------------------------------------------------------------------
static uint64_t add_text(uint64_t hash, const char *text) // FNV-1a, with the text's end
{
  do
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  while (*text++ != 0);
  return hash;
}

static uint64_t add_size(uint64_t hash, const char *path)
{
  struct stat facts;
  char size[32] = "";
  if (path != NULL && stat(path, &facts) == 0)
    snprintf(size, sizeof size, "%jd", (intmax_t)facts.st_size);
  return add_text(hash, size);
}

static uint64_t add_item(uint64_t hash, const struct data_item *item, const char *folder)
{
  const char *label = item->label != NULL ? item->label : "";
  if (item->part == NULL) {
    bool is_below = text_begins_with(item->path, folder);
    hash = add_text(hash, is_below ? item->path + strlen(folder) : item->path);
    return add_size(add_text(hash, label), item->path);
  }
  char size[32];
  snprintf(size, sizeof size, "%" PRIu64 " %" PRIu32, item->part->size, item->part->crc32);
  return add_text(add_text(add_text(hash, item->part->name), label), size);
}

// Over names, labels and sizes of the items, and sizes of labels that are pictures: it tells data sets apart without reading them.
// Names are those below the data set's folder, or below that of its file, so that a copy elsewhere has the same.
static const char *data_checksum(const struct data_set *set, size_t count, bool are_labels_files, struct arena *arena)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  struct stat facts;
  bool is_folder = stat(set->place, &facts) == 0 && S_ISDIR(facts.st_mode);
  const char *slash = strrchr(set->place, '/'),
             *folder = is_folder ? set->place
                                 : arena_copy(arena, set->place, slash != NULL ? (size_t)(slash + 1 - set->place) : 0);
  for (size_t i = 0; i < count; i++) {
    hash = add_item(hash, &set->items[i], folder);
    if (are_labels_files)
      hash = add_size(hash, data_label_path(set, &set->items[i], arena));
  }
  for (size_t i = 0; i < set->box_count && set->boxes[i].item < count; i++) {
    const struct data_box *box = &set->boxes[i];
    hash = add_text(hash, arena_format(arena, "%zu %s %.17g %.17g %.17g %.17g %d", box->item,
                                       set->categories[box->category].name, box->left, box->top, box->width,
                                       box->height, box->is_crowd));
  }
  return arena_format(arena, "%016" PRIx64, hash);
}

// Every figure of the row that is known, under its key.
static enum status keep_row(struct store *store, int64_t experiment_id, const char *prefix,
                            const struct table_builder *row, struct error *err)
{
  struct store_system_value *values = arena_alloc_array(row->arena, row->column_count, sizeof *values);
  size_t count = 0;
  for (size_t i = 0; i < row->column_count; i++) {
    const struct table_cell *cell = &row->cells[i];
    struct store_system_value *value = &values[count];
    *value = (struct store_system_value){.key = arena_format(row->arena, "%s%s", prefix, row->columns[i].key)};
    if (cell->type == CELL_TEXT)
      value->text = cell->value.text;
    else {
      value->number = cell->type == CELL_BOOL ? cell->value.truth : cell_double(cell);
      value->is_number = true;
    }
    count += !value->is_number || !isnan(value->number);
  }
  return store_add_evaluation(store, experiment_id, values, count, err);
}

enum status evaluation_keep(struct store *store, const struct evaluation_options *options,
                            const struct evaluation *evaluation, size_t number, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct table_builder row;
  const struct evaluation_result *result = &evaluation->results[number];
  int64_t id = (int64_t)number + 1;
  bool are_labels_files = options->models[number].kind == OUTPUT_MASK;
  table_start(&row, &arena);
  table_row(&row);
  table_put(&row, "data_set", cell_text(options->set->path));
  table_put(&row, "data_checksum",
            cell_text(data_checksum(options->set, result->item_count, are_labels_files, &arena)));
  table_put(&row, "batch", cell_int(options->batch));
  evaluation_put_figures(&row, options, evaluation, number);
  XSP_TRY(keep_row(store, id, "", &row, err));
  for (size_t i = 0; i < options->scenario_count; i++)
    if (result->scenarios[i].run_id != 0) {
      const struct scenario *scenario = &options->scenarios[i];
      table_start(&row, &arena);
      table_row(&row);
      evaluation_put_scenario(&row, scenario, &result->scenarios[i]);
      XSP_TRY(keep_row(store, id, arena_format(&arena, "%s.", scenario_name(scenario->kind)), &row, err));
    }
  return STATUS_OK;
}
