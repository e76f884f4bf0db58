// SPDX-License-Identifier: Apache-2.0
// Which plots there are, and their points, from records. Called by pages.c for a site, by the verb history for one as SVG.
#include "base/sorted.h"
#include "base/time_text.h"
#include "history/site/site.h"
#include "history/tables.h"

#include <inttypes.h>
#include <math.h>

static const char *text_or(const char *text)
{
  return text != NULL ? text : "unknown";
}

static const char *series_name(const struct history_record *record, bool with_model, struct arena *arena)
{
  return arena_format(arena, "%s%s%s%s%s", with_model ? text_or(record->model) : "", with_model ? ", " : "",
                      text_or(record->framework), record->host != NULL ? " on " : "",
                      record->host != NULL ? record->host : "");
}

static const struct history_record *latest_of(const struct plotting *plotting, size_t number)
{
  const struct history_series *series = &plotting->series->items[number];
  return &plotting->history->records.items[series->records[series->count - 1]];
}

// The line of a record: its series' name, with the facts that tell it apart from others of that name, such as another version.
static const char *line_name(const struct plotting *plotting, const struct history_record *record, bool with_batch)
{
  static const char *const facts[] = {"kind", "model_version", "levels", "data_set"};
  const char *name = series_name(record, plotting->with_model, plotting->arena);
  if (with_batch)
    name = arena_format(plotting->arena, "%s, batch %" PRId64, name, record->batch);
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    const char *own = history_fact(record, facts[i]);
    bool differs = false;
    for (size_t k = 0; k < plotting->series->count && !differs; k++) {
      const struct history_record *other = latest_of(plotting, k);
      differs = (other->batch == record->batch || !with_batch) && texts_equal(other->model, record->model) &&
                texts_equal(other->framework, record->framework) && texts_equal(other->host, record->host) &&
                !texts_equal(history_fact(other, facts[i]), own);
    }
    if (differs && own != NULL)
      name = arena_format(plotting->arena, "%s, %s", name, own);
  }
  return name;
}

#define ACCURACY_LABEL "top 1, mAP, mIoU or exact (%)"

// The papers' figure: models to the left are faster, above more accurate, small ones take less memory.
static struct plot plot_of_accuracy(const struct plotting *plotting)
{
  struct plot plot = {.title = "Accuracy against latency at batch size 1; areas are graph sizes",
                      .x_label = "latency (ms)",
                      .y_label = ACCURACY_LABEL,
                      .size_label = "graph size (MB)",
                      .x_scale = PLOT_LOG};
  size_t count;
  const struct history_model *models = history_models(plotting->history, plotting->arena, &count);
  plot.points = arena_alloc_array(plotting->arena, count + 1, sizeof *plot.points);
  for (size_t i = 0; i < count; i++) {
    double reported, accuracy, size = history_model_number(&models[i], "graph_bytes") / 1e6;
    const struct history_record *online = history_model_online(&models[i]);
    double latency = online != NULL ? history_number(online, "latency_ms") : NAN;
    if (history_model_accuracy(&models[i], &reported, &accuracy) == NULL || isnan(accuracy) || !(latency > 0))
      continue;
    const char *label = arena_format(plotting->arena, "%.2f %%, %.4g ms", accuracy, latency);
    if (!isnan(size))
      label = arena_format(plotting->arena, "%s, %.4g MB", label, size);
    plot.points[plot.count++] = (struct plot_point){.x = latency,
                                                    .y = accuracy,
                                                    .name = series_name(online, plotting->with_model, plotting->arena),
                                                    .label = label,
                                                    .size = size};
  }
  return plot;
}

static struct plot plot_of_throughput(const struct plotting *plotting)
{
  struct plot plot = {.title = "Accuracy against throughput, of the latest evaluations",
                      .x_label = "inputs a second",
                      .y_label = ACCURACY_LABEL,
                      .x_scale = PLOT_LOG};
  plot.points = arena_alloc_array(plotting->arena, plotting->series->count + 1, sizeof *plot.points);
  for (size_t i = 0; i < plotting->series->count; i++) {
    const struct history_record *record = latest_of(plotting, i);
    const struct history_model model = {&record, 1};
    double reported, accuracy = NAN, throughput = history_number(record, "throughput_per_s");
    (void)history_model_accuracy(&model, &reported, &accuracy);
    if (!isnan(accuracy) && throughput > 0)
      plot.points[plot.count++] =
          (struct plot_point){.x = throughput,
                              .y = accuracy,
                              .name = series_name(record, plotting->with_model, plotting->arena),
                              .label = arena_format(plotting->arena, "%.2f %%, %.4g/s, batch %" PRId64, accuracy,
                                                    throughput, record->batch)};
  }
  return plot;
}

SORTED_BY(by_batch, struct plot_point, strcmp(a->name, b->name) ?: RISING(x))

static struct plot plot_of_batches(const struct plotting *plotting)
{
  struct plot plot = {.title = "Latency over batch sizes, of the latest evaluations",
                      .x_label = "batch size",
                      .y_label = "latency (ms)",
                      .x_scale = PLOT_LOG,
                      .y_scale = PLOT_LOG,
                      .has_lines = true,
                      .has_ticks_at_x = true};
  plot.points = arena_alloc_array(plotting->arena, plotting->series->count + 1, sizeof *plot.points);
  for (size_t i = 0; i < plotting->series->count; i++) {
    const struct history_record *last = latest_of(plotting, i);
    if (last->batch > 0)
      plot.points[plot.count++] =
          (struct plot_point){.x = (double)last->batch,
                              .y = history_number(last, "latency_ms"),
                              .name = line_name(plotting, last, false),
                              .label = arena_format(plotting->arena, "batch %" PRId64 ", %.4g ms", last->batch,
                                                    history_number(last, "latency_ms"))};
  }
  if (plot.count > 0)
    qsort(plot.points, plot.count, sizeof *plot.points, by_batch);
  return plot;
}

static struct plot plot_of_time(const struct plotting *plotting)
{
  struct plot plot = {.title = "Latency over time",
                      .x_label = "time (UTC)",
                      .y_label = "latency (ms)",
                      .x_scale = PLOT_TIME,
                      .y_scale = PLOT_LOG,
                      .has_lines = true};
  plot.points = arena_alloc_array(plotting->arena, plotting->history->records.count + 1, sizeof *plot.points);
  for (size_t i = 0; i < plotting->series->count; i++) {
    const struct history_series *series = &plotting->series->items[i];
    const char *name = line_name(plotting, latest_of(plotting, i), true);
    for (size_t k = 0; k < series->count && series->count > 1; k++) {
      const struct history_record *record = &plotting->history->records.items[series->records[k]];
      const char *time = time_text(record->created_ns, plotting->arena);
      if (time != NULL)
        plot.points[plot.count++] = (struct plot_point){
            .x = (double)record->created_ns / 1e9,
            .y = history_number(record, "latency_ms"),
            .name = name,
            .label = arena_format(plotting->arena, "%s, %.4g ms", time, history_number(record, "latency_ms"))};
    }
  }
  return plot;
}

// ---- roofs -----------------------------------------------------------------------------------------------------------
static void add_roof(struct plot *plot, const struct history_record *record, struct arena *arena)
{
  struct plot_roof roof = {.slope = history_depth_number(record, "memory_bandwidth_bytes_per_s", arena) / 1e9,
                           .height = history_depth_number(record, "peak_flops_per_s", arena) / 1e9,
                           .host = record->host};
  if (!(roof.slope > 0) || !(roof.height > 0))
    return;
  size_t at = 0;
  while (at < plot->roof_count && (plot->roofs[at].slope != roof.slope || plot->roofs[at].height != roof.height))
    at++;
  if (at < plot->roof_count &&
      (roof.host == NULL || plot->roofs[at].host == NULL || strcmp(roof.host, plot->roofs[at].host) != 0))
    roof.host = NULL;
  roof.label = arena_format(arena, "roof%s%s: %.4g Tflop/s, %.4g GB/s", roof.host != NULL ? " on " : "",
                            roof.host != NULL ? roof.host : "", roof.height / 1000, roof.slope);
  plot->roofs[at] = roof;
  plot->roof_count += at == plot->roof_count;
}

// The XSP paper's Figures 12 and 14: below the slope memory is the bound, below the top arithmetic. Counted figures, else those from shapes.
static struct plot plot_of_roofs(const struct plotting *plotting)
{
  struct plot plot = {.title = "Rooflines of models at their optimal batch sizes",
                      .x_label = "flops a byte",
                      .y_label = "Gflop/s",
                      .x_scale = PLOT_LOG,
                      .y_scale = PLOT_LOG};
  struct arena *arena = plotting->arena;
  size_t count;
  const struct history_model *models = history_models(plotting->history, arena, &count);
  plot.points = arena_alloc_array(arena, count + 1, sizeof *plot.points);
  plot.roofs = arena_alloc_array(arena, count + 1, sizeof *plot.roofs);
  for (size_t i = 0; i < count; i++) {
    const struct history_record *record = history_model_deep(&models[i]);
    bool is_counted = !isnan(history_depth_number(record, "arithmetic_intensity", arena));
    double x = history_depth_number(record, is_counted ? "arithmetic_intensity" : "analytic_intensity", arena);
    double y = history_depth_number(
        record, is_counted ? "arithmetic_throughput_flops_per_s" : "analytic_throughput_flops_per_s", arena);
    if (!(x > 0) || !(y > 0))
      continue;
    add_roof(&plot, record, arena);
    plot.points[plot.count++] = (struct plot_point){
        .x = x,
        .y = y / 1e9,
        .name = series_name(record, false, arena), // models have too many colours
        .label = arena_format(arena, "%.100s, %.4g flops a byte, %.4g Gflop/s, batch %" PRId64 "%s",
                              text_or(record->model), x, y / 1e9, record->batch, is_counted ? "" : ", from shapes")};
  }
  return plot;
}

// ---- all of them -----------------------------------------------------------------------------------------------------
static const struct {
  const char *name;
  struct plot (*make)(const struct plotting *); // NULL: of the table of systems
  bool is_of_part;                              // on pages of a model or host only: it has a line for each
  const char *why, *table;                      // where it is empty; the table that has its figures
} all_plots[] = {
    {"accuracy", plot_of_accuracy, false, "no model has an accuracy and a latency at batch size 1", "models"},
    {"throughput", plot_of_throughput, false, "no evaluation has an accuracy and a throughput", "list"},
    {"roofline", plot_of_roofs, false, "no model has flops a byte and flops a second", "depth"},
    {"batches", plot_of_batches, true, "no evaluation has a batch size", "list"},
    {"time", plot_of_time, true, "no series has two evaluations", "series"},
    {"systems", NULL, false, "no two hosts have latencies", "systems"},
};
enum { PLOTS = sizeof all_plots / sizeof all_plots[0] };

void plots_put(const struct plotting *plotting, bool is_part, struct buf *out)
{
  for (size_t i = 0; i < PLOTS; i++)
    if (all_plots[i].make != NULL && (is_part || !all_plots[i].is_of_part)) {
      struct plot plot = all_plots[i].make(plotting);
      plot_put(&plot, out);
    }
}

static enum status put_systems(const struct history *history, const struct history_request *request,
                               struct arena *arena, struct buf *out, struct error *err)
{
  struct table table;
  XSP_TRY(history_table(history, HISTORY_SYSTEMS, request, arena, &table, err));
  history_heat_put_svg(&table, arena, out);
  return STATUS_OK;
}

static enum status put_named(const struct history *history, const char *name, const struct history_request *request,
                             struct arena *arena, struct buf *out, struct error *err)
{
  struct all_series series;
  size_t at = 0;
  while (at < PLOTS && strcmp(all_plots[at].name, name) != 0)
    at++;
  if (at == PLOTS)
    return error_set(err, STATUS_USE, "wrong use", "--plot", HISTORY_PLOTS, "there is no '%s'", name);
  XSP_TRY(history_series_of(history, request, arena, &series, err));
  if (all_plots[at].make == NULL) {
    XSP_TRY(put_systems(history, request, arena, out, err));
  } else {
    struct plot plot = all_plots[at].make(&(struct plotting){history, &series, arena, true});
    plot_put_svg(&plot, out);
  }
  if (out->length > 0)
    return STATUS_OK;
  const char *advice =
      arena_format(arena, "xsp history --table %s --json shows which figures there are", all_plots[at].table);
  return error_set(err, STATUS_NO, "no plot", name, advice, "%s", all_plots[at].why);
}

enum status history_plot(const struct history *history, const char *name, const struct history_request *request,
                         struct buf *out, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  return put_named(history, name, request, &arena, out, err);
}
