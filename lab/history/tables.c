// SPDX-License-Identifier: Apache-2.0
// Tables of a history: its records, its series, and models over frameworks, batch sizes and systems. Called by the verb history and by
// the site.
#include "history/tables.h"

#include "base/interner.h"
#include "base/sorted.h"
#include "base/time_text.h"
#include "history/figures.h"
#include "history/series.h"
#include "table/builder.h"

#define FIGURES_MOST 200 // columns of figures

// ---- columns of figures ----------------------------------------------------------------------------------------------
// Those that people look for come first, the others by name.
static const char *const first_keys[] = {
    "top1_pct",      "top5_pct",      "map_pct",  "ap50_pct",  "ap75_pct",         "mask_map_pct",
    "mask_ap50_pct", "mask_ap75_pct", "miou_pct", "pixel_pct", "exact_pct",        "cer_pct",
    "agreement_pct", "latency_ms",    "p90_ms",   "p99_ms",    "throughput_per_s", NULL};
// Not shown to people: they hold for other figures.
static const char *const detail_keys[] = {"n",
                                          "latency_error_ms",
                                          "latency_degrees",
                                          "has_drift",
                                          "data_checksum",
                                          "labelled",
                                          "preprocess_ms",
                                          "postprocess_ms",
                                          "agreement_pct",
                                          "p90_ms",
                                          "task",
                                          "graph_bytes",
                                          NULL};
// Columns of the tables themselves.
static const char *const own_keys[] = {
#define X(name) #name,
    HISTORY_FACTS(X)
#undef X
        "id",
    "created",
    "batch",
    "change_pct",
    "low_pct",
    "high_pct",
    "verdict",
    "reason",
    NULL};
static size_t place_of(const char *key, const char *const *keys)
{
  size_t place = 0;
  while (keys[place] != NULL && strcmp(keys[place], key) != 0)
    place++;
  return place;
}

SORTED_BY(compare_keys, char *const, ORDER(place_of(*a, first_keys), place_of(*b, first_keys)) ?: strcmp(*a, *b))

// Of a scenario people see its figure of merit: "server.value".
static bool is_detail(const char *key)
{
  return text_is_in(key, detail_keys) || (strchr(key, '.') != NULL && !text_ends_with(key, ".value"));
}

// Keys of the figures that some record has, in the order of columns; a bounded number. In `arena`.
static size_t figure_keys(const struct history *history, bool with_details, struct arena *arena, const char ***ret_keys)
{
  struct interner seen = {0};
  for (size_t i = 0; i < history->records.count; i++)
    for (size_t k = 0; k < history->records.items[i].figure_count; k++) {
      const char *key = history->records.items[i].figures[k].key;
      if (!text_is_in(key, own_keys) && !text_begins_with(key, HISTORY_DEPTH_PREFIX) &&
          (with_details || !is_detail(key)))
        interner_at(&seen, key, strlen(key));
    }
  size_t count = interner_count(&seen);
  const char **keys = *ret_keys = arena_alloc_array(arena, count + 1, sizeof *keys);
  for (size_t i = 0; i < count; i++) {
    struct slice text = interner_text(&seen, (uint32_t)i);
    keys[i] = arena_copy(arena, text.data, text.length);
  }
  interner_done(&seen);
  qsort(keys, count, sizeof *keys, compare_keys);
  return count < FIGURES_MOST ? count : FIGURES_MOST;
}

struct table_cell figure_cell(const struct history_record *record, const char *key)
{
  const struct store_system_value *figure = figures_find(record->figures, record->figure_count, key);
  if (figure == NULL || !figure->is_number)
    return cell_text(figure != NULL ? figure->text : NULL);
  return table_unit(key)[0] != 0 ? cell_real(figure->number) : cell_number(figure->number);
}

// ---- the list --------------------------------------------------------------------------------------------------------
static void put_judged(struct table_builder *table, const struct judged *judged)
{
  table_put_as(table, "change_pct", "latency change", cell_real(judged->difference_pct));
  table_put(table, "low_pct", cell_real(judged->low_pct));
  table_put(table, "high_pct", cell_real(judged->high_pct));
  table_put(table, "verdict", cell_text(judged->has_verdict ? verdict_name(judged->verdict) : NULL));
  table_put_optional(table, "reason", cell_text(judged->reason));
}

static void put_record(struct table_builder *table, const struct history_record *record, const char *const *keys,
                       size_t key_count, const struct judged *judged, bool with_details)
{
  table_row(table);
  table_put(table, "created", cell_text(time_text(record->created_ns, table->arena)));
  table_put(table, "model", cell_text(record->model));
  table_put_optional(table, "model_version", cell_text(record->model_version));
  table_put(table, "framework", cell_text(record->framework));
  table_put(table, "framework_version", cell_text(record->framework_version));
  table_put(table, "host", cell_text(record->host));
  table_put(table, "batch", cell_int_if(record->batch > 0, record->batch));
  table_put_optional(table, "data_set", cell_text(record->data_set));
  for (size_t i = 0; i < key_count; i++)
    table_put(table, keys[i], figure_cell(record, keys[i]));
  put_judged(table, judged);
  if (!with_details)
    return;
  table_put(table, "kind", cell_text(record->kind));
  table_put(table, "levels", cell_text(record->levels));
  table_put(table, "cpu", cell_text(record->cpu));
  table_put(table, "gpu", cell_text(record->gpu));
  table_put(table, "model_sha256", cell_text(record->model_sha256));
  table_put(table, "file", cell_text(record->file));
  table_put(table, "id", cell_text(record->id));
}

static enum status list_table(const struct history *history, const struct history_request *request,
                              struct table_builder *table, struct error *err)
{
  struct all_series series;
  const char **keys;
  size_t key_count = figure_keys(history, request->for_programs, table->arena, &keys);
  XSP_TRY(history_series_of(history, request, table->arena, &series, err));
  size_t count = history->records.count,
         first = request->limit > 0 && request->limit < count ? count - request->limit : 0;
  for (size_t i = first; i < count; i++) {
    put_record(table, &history->records.items[i], keys, key_count, &series.judged[i], request->for_programs);
    if (series.judged[i].has_verdict)
      table_note(
          table,
          "a verdict is of two files, and runs differ by more than their observations: four files or more are a series "
          "(xsp history --table series)");
  }
  return STATUS_OK;
}

// ---- the series ------------------------------------------------------------------------------------------------------
static enum status series_table(const struct history *history, const struct history_request *request,
                                struct table_builder *table, struct error *err)
{
  struct all_series all;
  XSP_TRY(history_series_of(history, request, table->arena, &all, err));
  for (size_t i = 0; i < all.count; i++) {
    const struct history_series *series = &all.items[i];
    const struct history_record *first = &history->records.items[series->records[0]];
    const struct history_record *last = &history->records.items[series->records[series->count - 1]];
    table_row(table);
    for (size_t k = 0; all.facts[k] != NULL; k++)
      table_put_optional(table, all.facts[k], cell_text(history_fact(last, all.facts[k])));
    table_put(table, "kind", cell_text(last->kind));
    table_put(table, "levels", cell_text(last->levels));
    table_put(table, "batch", cell_int_if(last->batch > 0, last->batch));
    table_put(table, "n", cell_int((int64_t)series->count));
    table_put(table, "first", cell_text(time_text(first->created_ns, table->arena)));
    table_put(table, "last", cell_text(time_text(last->created_ns, table->arena)));
    table_put(table, "latency_ms", cell_real(series->latency_ms));
    table_put(table, "segments", cell_int_if(series->segments > 0, (int64_t)series->segments));
    put_judged(table, &series->judged);
  }
  return STATUS_OK;
}

// ---- all of them -----------------------------------------------------------------------------------------------------
static const struct {
  const char *name, *title;
} kinds[] = {
    [HISTORY_LIST] = {"list", "evaluations in order of time"},
    [HISTORY_SERIES] = {"series", "latencies over time"},
    [HISTORY_ACCURACY] = {"accuracy", "models over frameworks"},
    [HISTORY_LATENCY] = {"latency", "batch sizes over frameworks"},
    [HISTORY_SYSTEMS] = {"systems", "latencies over hosts"},
    [HISTORY_MODELS] = {"models", "models: accuracy, latency, throughput"},
    [HISTORY_DEPTH] = {"depth", "models at their optimal batch sizes"},
    [HISTORY_FRAMEWORKS] = {"frameworks", "framework against framework"},
};

bool history_table_find(const char *name, enum history_table_kind *ret_kind)
{
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp(kinds[i].name, name) == 0) {
      *ret_kind = (enum history_table_kind)i;
      return true;
    }
  return false;
}

enum status history_table(const struct history *history, enum history_table_kind kind,
                          const struct history_request *request, struct arena *arena, struct table *ret_table,
                          struct error *err)
{
  struct table_builder table;
  table_start(&table, arena);
  if (kind == HISTORY_LIST)
    XSP_TRY(list_table(history, request, &table, err));
  else if (kind == HISTORY_SERIES)
    XSP_TRY(series_table(history, request, &table, err));
  else if (kind == HISTORY_MODELS)
    history_models_put(history, &table);
  else if (kind == HISTORY_DEPTH)
    history_depth_put(history, &table);
  else if (kind == HISTORY_FRAMEWORKS)
    XSP_TRY(history_frameworks_put(history, request->base, &table, err));
  else
    XSP_TRY(cross_table(history, kind, request, &table, err));
  *ret_table = (struct table){.id = kinds[kind].name, .title = kinds[kind].title, .rows_are_unlike = true};
  table_answer(&table, ret_table);
  const char *sort = request->sort != NULL ? request->sort : kind >= HISTORY_MODELS ? "model" : NULL;
  return sort != NULL && ret_table->row_count > 0 ? table_sort_by(ret_table, sort, arena, err) : STATUS_OK;
}
