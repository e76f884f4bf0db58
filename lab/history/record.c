// SPDX-License-Identifier: Apache-2.0
// Makes records of the experiments of .xsp files: facts, figures, the content's id. Called by the verbs history and publish.
#include "history/tables.h"

#include "assets/checksum.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void history_done(struct history *history)
{
  vector_done(&history->records);
  arena_done(&history->arena);
}

// ---- reading a record ------------------------------------------------------------------------------------------------
double history_number(const struct history_record *record, const char *key)
{
  const struct store_system_value *figure = figures_find(record->figures, record->figure_count, key);
  return figure != NULL && figure->is_number ? figure->number : NAN;
}

const char *history_fact(const struct history_record *record, const char *name)
{
#define X(fact)                                                                                                        \
  if (strcmp(name, #fact) == 0)                                                                                        \
    return record->fact;
  HISTORY_FACTS(X)
#undef X
  return NULL;
}

// ---- making one ------------------------------------------------------------------------------------------------------
struct making {
  struct history *history;
  struct store *store;
  const struct store_experiment *experiment;
  struct store_system_value *evaluation; // sorted by key, as the other two
  size_t evaluation_count;
  struct store_system_value *workload, *system;
  size_t workload_count, system_count;
  const struct table *depth; // T9 of the file
  size_t number;             // of the experiment in it
};

static const char *valid_text(struct arena *arena, const char *text)
{
  struct buf valid SCOPED(buf_done) = {0};
  if (text == NULL || text[0] == 0)
    return NULL;
  buf_utf8(&valid, text, strlen(text));
  return arena_copy(arena, valid.data, valid.length);
}

static const char *text_of(const struct making *making, const struct store_system_value *values, size_t count,
                           const char *key)
{
  const struct store_system_value *value = figures_find(values, count, key);
  if (value == NULL)
    return NULL;
  if (value->is_number)
    return arena_format(&making->history->arena, "%.17g", value->number);
  return valid_text(&making->history->arena, value->text);
}

// "digits/" and "digits" are one folder.
static const char *data_set_of(const struct making *making)
{
  const char *given = text_of(making, making->evaluation, making->evaluation_count, "data_set");
  size_t length = given != NULL ? strlen(given) : 0;
  while (length > 1 && given[length - 1] == '/')
    length--;
  return given != NULL ? arena_copy(&making->history->arena, given, length) : NULL;
}

static void add_field(struct checksum *checksum, const char *text)
{
  checksum_add(checksum, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

// Of what the measurement is, not of what is derived from it: a later xsp, and a file that was merged or renamed, have the same.
static const char *content_id(const struct making *making, const struct history_record *record)
{
  char numbers[128], hex[CHECKSUM_TEXT_SIZE];
  struct checksum *checksum = checksum_start();
  snprintf(numbers, sizeof numbers, "%" PRId64 " %" PRId64 " %.6g", record->created_ns, record->batch,
           history_number(record, "latency_ms"));
  const char *const texts[] = {numbers,       making->experiment->name, making->experiment->command, record->model,
                               record->kind,  record->framework,        record->framework_version,   record->host,
                               record->levels};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    add_field(checksum, texts[i]);
  checksum_finish(checksum, hex);
  return arena_format(&making->history->arena, "%s", hex);
}

// Whether the model's row of the table `workload` is of its size, its task, or the accuracy that its authors report.
static bool is_of_model(const char *key)
{
  return text_is_one_of(key, "graph_bytes", "task") || text_begins_with(key, "reported.");
}

static void add_figure(struct store_system_value value, struct arena *arena, struct store_system_value *figures,
                       size_t *count)
{
  value.key = valid_text(arena, value.key);
  value.text = valid_text(arena, value.text);
  if (value.key != NULL && (value.is_number ? isfinite(value.number) : value.text != NULL))
    figures[(*count)++] = value;
}

// Figures of the table, of the model, in depth, and of the latency those that the table does not have. In the history's arena, by key.
static const struct store_system_value *figures_of(const struct making *making, const struct latency_point *point,
                                                   int64_t batch, size_t *ret_count)
{
  const struct {
    const char *key;
    double number;
  } of_point[] = {{"latency_ms", point->latency_ms.mean},
                  {"throughput_per_s", point->throughput_per_s},
                  {"n", (double)point->observations},
                  {"latency_error_ms", sqrt(point->latency_ms.squared_error)},
                  {"latency_degrees", point->latency_ms.degrees},
                  {"has_drift", point->has_drift ? 1 : NAN}};
  size_t most = sizeof of_point / sizeof of_point[0], count = 0;
  struct arena *arena = &making->history->arena;
  struct store_system_value depth[DEPTH_KEYS];
  size_t depth_count = history_depth_figures(making->depth, making->number, batch, arena, depth);
  struct store_system_value *figures =
      arena_alloc_array(arena, making->evaluation_count + making->workload_count + most + depth_count, sizeof *figures);
  for (size_t i = 0; i < making->evaluation_count; i++)
    add_figure(making->evaluation[i], arena, figures, &count);
  for (size_t i = 0; i < making->workload_count; i++)
    if (is_of_model(making->workload[i].key) &&
        figures_find(making->evaluation, making->evaluation_count, making->workload[i].key) == NULL)
      add_figure(making->workload[i], arena, figures, &count);
  for (size_t i = 0; i < depth_count; i++)
    add_figure(depth[i], arena, figures, &count);
  for (size_t i = 0; i < most; i++)
    if (isfinite(of_point[i].number) &&
        figures_find(making->evaluation, making->evaluation_count, of_point[i].key) == NULL)
      figures[count++] =
          (struct store_system_value){.key = of_point[i].key, .number = of_point[i].number, .is_number = true};
  figures_sort(figures, count);
  *ret_count = count;
  return figures;
}

static void add_record(const struct making *making, int64_t batch, const struct latency_point *point)
{
  struct arena *arena = &making->history->arena;
  const struct store_experiment *experiment = making->experiment;
  const char *path = store_path(making->store), *name = strrchr(path, '/');
  const char *model = text_of(making, making->workload, making->workload_count, "model_name");
  struct history_record record = {.created_ns = experiment->created_ns > 0 ? experiment->created_ns : 0,
                                  .batch = batch,
                                  .kind = making->evaluation_count > 0 ? "evaluation" : "profile",
                                  .model = model != NULL ? model : valid_text(arena, experiment->name),
                                  .model_version =
                                      text_of(making, making->workload, making->workload_count, "model_version"),
                                  .model_sha256 = text_of(making, making->workload, making->workload_count, "sha256"),
                                  .framework = valid_text(arena, experiment->framework),
                                  .framework_version = valid_text(arena, experiment->framework_version),
                                  .host = text_of(making, making->system, making->system_count, "host"),
                                  .cpu = text_of(making, making->system, making->system_count, "cpu_model"),
                                  .gpu = text_of(making, making->system, making->system_count, "gpus"),
                                  .data_set = data_set_of(making),
                                  .levels = valid_text(arena, point->levels),
                                  .file = valid_text(arena, name != NULL ? name + 1 : path),
                                  .path = arena_format(arena, "%s", path)};
  record.figures = figures_of(making, point, batch, &record.figure_count);
  record.id = content_id(making, &record);
  *vector_add(&making->history->records) = record;
}

static enum status add_experiment(struct making *making, const struct latency_point *points, size_t point_count,
                                  struct arena *scratch, struct error *err)
{
  const struct store_experiment *experiment = making->experiment;
  int64_t id = experiment->experiment_id;
  XSP_TRY(store_workload(making->store, id, scratch, &making->workload, &making->workload_count, err));
  XSP_TRY(store_system(making->store, experiment->system_id, scratch, &making->system, &making->system_count, err));
  XSP_TRY(store_evaluation(making->store, id, scratch, &making->evaluation, &making->evaluation_count, err));
  const struct store_system_value *batch = figures_find(making->evaluation, making->evaluation_count, "batch");
  double evaluated = batch != NULL && batch->is_number && fabs(batch->number) < 1e15 ? batch->number : 0;
  const struct latency_point none = {.latency_ms = {NAN, NAN, NAN}, .throughput_per_s = NAN}, *of_evaluation = &none;
  for (size_t i = 0; i < point_count; i++) {
    if (points[i].store != making->store || points[i].experiment_id != id)
      continue;
    if (making->evaluation_count == 0)
      add_record(making, points[i].batch_size, &points[i]);
    else if (points[i].batch_size == (int64_t)evaluated)
      of_evaluation = &points[i];
  }
  if (making->evaluation_count > 0)
    add_record(making, (int64_t)evaluated, of_evaluation);
  return STATUS_OK;
}

enum status history_read(struct history *history, struct store *store, bool in_depth, struct error *err)
{
  struct arena scratch SCOPED(arena_done) = {0};
  struct compare_request request;
  struct latency_point *points;
  struct store_experiment *experiments;
  struct table depth = {0};
  size_t point_count = 0, count;
  compare_request_init(&request);
  XSP_TRY(store_experiments(store, &scratch, &experiments, &count, err));
  if (count == 0)
    return STATUS_OK;
  XSP_TRY(analyze_latencies(&store, 1, &request, &scratch, &points, &point_count, err));
  if (in_depth)
    XSP_TRY(history_depth_read(store, &scratch, &depth, err));
  for (size_t i = 0; i < count; i++) {
    struct making making = {
        .history = history, .store = store, .experiment = &experiments[i], .depth = &depth, .number = i};
    XSP_TRY(add_experiment(&making, points, point_count, &scratch, err));
  }
  return STATUS_OK;
}
