// SPDX-License-Identifier: Apache-2.0
// Chooses the set for layer latencies: the level rule's, unless launches return before the work is done. Called by layers.c
// and kernels.c.
#include "analyze/layers/source.h"

#include "analyze/cache.h"

#include <math.h>
#include <string.h>

enum status layer_mode_choose(const struct question *question, const struct view_set *set, enum layer_mode *ret_mode,
                              struct error *err)
{
  static const struct {
    const char *name;
    enum layer_mode mode;
  } modes[] = {{"outermost", LAYER_OUTERMOST},
               {"innermost", LAYER_INNERMOST},
               {"all", LAYER_INNERMOST},
               {"module", LAYER_MODULE},
               {LAYER_AUTOGRAD_NAME, LAYER_AUTOGRAD}};
  const char *name = question->request->layer;
  if (name == NULL && set->run_count > 0)
    name = set->runs[0]->run->layer;
  *ret_mode = LAYER_OUTERMOST;
  if (name == NULL || name[0] == 0)
    return STATUS_OK;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
    if (strcmp(name, modes[i].name) == 0) {
      *ret_mode = modes[i].mode;
      return STATUS_OK;
    }
  return error_set(err, STATUS_USE, "unknown layer mode", name, "--layer outermost",
                   "known are outermost, innermost (or all) and module");
}

// The part of the device time in a set's layers that comes after they returned; NaN without any.
static enum status asynchronous_pct(struct question *question, const struct view_set *set, double *ret_pct,
                                    struct error *err)
{
  const struct device_rows_wanted wanted = {.rows = true};
  enum layer_mode mode;
  double late_ms = 0, executed_ms = 0;
  *ret_pct = NAN;
  if (set == NULL)
    return STATUS_OK;
  XSP_TRY(layer_mode_choose(question, set, &mode, err));
  for (size_t i = 0; i < set->run_count; i++) {
    const struct layer_rows *rows;
    XSP_TRY(analyze_cache_layer_rows(question, set->runs[i], mode, &wanted, &rows, err));
    late_ms += rows->late_ms;
    executed_ms += rows->executed_ms;
  }
  *ret_pct = analyze_share_pct(late_ms, executed_ms);
  return STATUS_OK;
}

static bool has_source(const struct view *view, int64_t batch_size)
{
  return view_has_layers(view, batch_size) || view_rule_by_layer(view, batch_size, true) != NULL;
}

static bool has_device_source(const struct view *view, int64_t batch_size)
{
  return view_rule_by_layer(view, batch_size, false) != NULL || view_rule_by_layer(view, batch_size, true) != NULL;
}

enum status layer_source_batch(struct question *question, struct error *err)
{
  const char *basis = question->request->latency_basis;
  if (basis != NULL && strcmp(basis, "device") == 0)
    return question_batch(question, has_device_source, "the layer and the kernel level", err);
  return question_batch(question, has_source, "the layer level", err);
}

enum status layer_source_choose(struct question *question, int64_t batch_size, struct layer_source *ret,
                                struct error *err)
{
  const struct view *view = question->view;
  const struct analyze_request *request = question->request;
  bool wants_host = request->latency_basis != NULL && strcmp(request->latency_basis, "host") == 0;
  bool wants_device = request->latency_basis != NULL && !wants_host;
  const struct view_set *deep = view_rule_by_layer(view, batch_size, false);
  const struct view_set *serial = view_rule_by_layer(view, batch_size, true);
  *ret = (struct layer_source){.asynchronous_pct = NAN};
  ret->set = view_rule(view, batch_size, XSP_LEVEL_LAYER, &ret->from);
  XSP_TRY(asynchronous_pct(question, deep, &ret->asynchronous_pct, err));
  bool is_asynchronous = ret->asynchronous_pct > request->asynchronous_threshold_pct;
  if (serial != NULL && (deep == NULL || is_asynchronous)) {
    XSP_TRY(asynchronous_pct(question, serial, &ret->asynchronous_pct, err));
    is_asynchronous = ret->asynchronous_pct > request->asynchronous_threshold_pct;
    ret->set = serial;
    ret->from = serial->levels_text;
  } else if ((is_asynchronous && !wants_host) || wants_device) {
    ret->set = deep;
    ret->from = deep == NULL ? NULL : deep->levels_text;
  }
  ret->on_device = wants_device || (is_asynchronous && !wants_host);
  if (wants_device && ret->set == NULL)
    return question_lacks(question, err,
                          "there is no run with both the layer and the kernel level at this batch size, "
                          "which layer latencies on devices need");
  return STATUS_OK;
}

const char *layer_source_basis(const struct layer_source *source)
{
  return source->on_device ? "device" : "host";
}

void layer_put_basis(struct table_builder *table, const struct layer_source *source)
{
  table_put(table, "latency_basis", cell_text(layer_source_basis(source)));
}

void layer_source_summarize(struct question *question, const struct layer_source *source)
{
  struct table_builder *table = &question->table;
  table_summary(table, "latency_basis", cell_text(layer_source_basis(source)));
  table_summary(table, "asynchronous_pct", cell_real(source->asynchronous_pct));
  if (source->on_device)
    table_note(
        table,
        "%.3g %% of the device time in layers comes after they returned on the host: a layer's latency is that of its "
        "work on devices, and its time on the host while none works (--latency-basis host gives the spans' own)",
        isnan(source->asynchronous_pct) ? 0.0 : source->asynchronous_pct);
}
