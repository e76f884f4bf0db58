// SPDX-License-Identifier: Apache-2.0
// L0, leveled overhead: what each level set adds to the model latency over the set before it, with its interval and verdict. By
// layer: what the kernel level adds to each layer, and per kernel.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"
#include "analyze/runs/samples.h"
#include "base/slice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_usable(const struct view_set *set)
{
  return set->observation_count > 0 && (set->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_MODEL));
}

// The largest measured subset; of equals the one without metrics, then the one whose deepest level is highest.
static const struct view_set *set_before(const struct view *view, const struct view_set *set)
{
  const struct view_set *best = NULL;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *other = &view->sets[i];
    if (other == set || other->batch_size != set->batch_size || !is_usable(other) ||
        !level_set_contains(set->levels, other->levels))
      continue;
    if (best != NULL) {
      unsigned count = level_set_count(other->levels);
      unsigned best_count = level_set_count(best->levels);
      if (count < best_count)
        continue;
      if (count == best_count && other->levels.metrics && !best->levels.metrics)
        continue;
      if (count == best_count && other->levels.metrics == best->levels.metrics &&
          level_set_deepest(other->levels) >= level_set_deepest(best->levels))
        continue;
    }
    best = other;
  }
  return best;
}

// How many spans a run has that is not stored in full; 0: it is.
static enum status run_spans_in_full(struct store *store, int64_t run_id, struct arena *arena, int64_t *ret_spans,
                                     struct error *err)
{
  struct store_note *notes;
  size_t count;
  *ret_spans = 0;
  XSP_TRY(store_notes(store, run_id, arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (notes[i].run_id == run_id && strcmp(notes[i].key, TRACE_NOTE_SPANS) == 0 && notes[i].value != NULL)
      (void)slice_int64(slice_of(notes[i].value), ret_spans);
  return STATUS_OK;
}

static enum status count_spans(const struct question *question, const struct view_set *set, int64_t *ret_spans,
                               struct error *err)
{
  *ret_spans = 0;
  for (size_t i = 0; i < set->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    struct store_spans spans;
    int64_t in_full;
    XSP_TRY(run_spans_in_full(question->view->store, set->runs[i]->run->run_id, &arena, &in_full, err));
    if (in_full == 0)
      XSP_TRY(store_load_spans(question->view->store, set->runs[i]->run->run_id, STORE_BIT(STORE_LEVEL), &arena, &spans,
                               err));
    *ret_spans += in_full > 0 ? in_full : (int64_t)spans.count;
  }
  return STATUS_OK;
}

// xsp's own share, over the runs that measured it.
static double own_pct(const struct view_set *set)
{
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < set->run_count; i++)
    if (!isnan(set->runs[i]->run->own_pct)) {
      sum += set->runs[i]->run->own_pct;
      count++;
    }
  return count == 0 ? NAN : sum / (double)count;
}

// a - b, of figures of two runs, negative ones too; within half a nanosecond 0.
static double difference_ms(double a_ms, double b_ms)
{
  double difference = a_ms - b_ms;
  return fabs(difference) < 0.5e-6 ? 0 : difference;
}

// In nanoseconds; NaN where either is unknown or there are no kernels.
static double overhead_per_kernel_ns(double overhead_ms, double kernels)
{
  return kernels > 0 ? overhead_ms * 1e6 / kernels : NAN;
}

static bool has_level(const struct view_set *set, unsigned level)
{
  return set != NULL && (set->levels.mask & XSP_LEVEL_MASK(level));
}

// " at batch size 4" for notes; "" where the batch size is unknown, as of programs that are no models.
static const char *at_batch(int64_t batch_size, const char *words, char text[48])
{
  text[0] = 0;
  if (batch_size != 0)
    snprintf(text, 48, "%s %lld", words, (long long)batch_size);
  return text;
}

struct row {
  const struct view_set *set, *before; // before: NULL: there is none
  struct figure latency;
  double overhead_ms, overhead_pct, kernels, per_kernel_ns;
  struct interval interval; // of overhead_ms
  const char *verdict;
  int64_t spans, dropped;
};

static void put_row(struct table_builder *table, const struct row *row)
{
  const struct view_set *set = row->set;
  table_row(table);
  analyze_put_batch(table, set->batch_size);
  table_put(table, "levels", cell_text(set->levels_text));
  table_put(table, "latency_ms", cell_real(row->latency.value));
  table_put(table, "over", cell_text(row->before == NULL ? NULL : row->before->levels_text));
  table_put(table, "overhead_ms", cell_real(row->overhead_ms));
  table_put(table, "overhead_low_ms", cell_real(row->interval.low));
  table_put(table, "overhead_high_ms", cell_real(row->interval.high));
  table_put(table, "interval_from", cell_text(interval_from_name(row->interval.from)));
  table_put(table, "overhead_pct", cell_real(row->overhead_pct));
  table_put(table, "verdict", cell_text(row->verdict));
  table_put_optional(table, "kernels", cell_number(row->kernels));
  table_put_optional(table, "overhead_per_kernel_ns", cell_real(row->per_kernel_ns));
  table_put(table, "spans", cell_int(row->spans));
  table_put(table, "dropped", cell_int(row->dropped));
  table_put(table, "own_pct", cell_real(own_pct(set)));
  analyze_put_spread(table, &row->latency);
}

// Whether the set became slower or faster while it was measured; then a note.
static bool note_drift(struct question *question, const struct view_set *set, const struct sample *sample,
                       double threshold_ms)
{
  double first_ms, last_ms;
  char batch[48];
  if (!analyze_sample_has_drift(sample, threshold_ms, &first_ms, &last_ms))
    return false;
  table_note(
      &question->table,
      "%s%s drifts: %.4g ms on average in its first third, %.4g ms in its last; overheads with it are not decided",
      set->levels_text, at_batch(set->batch_size, " at batch size", batch), first_ms, last_ms);
  return true;
}

static void judge_overhead(struct question *question, struct row *row)
{
  struct sample own = analyze_sample_of_set(question, row->set, 1),
                before = analyze_sample_of_set(question, row->before, 1);
  double threshold_ms = before.latency * question->request->small_overhead_pct / 100;
  bool has_drift = false;
  row->overhead_ms = difference_ms(own.latency, before.latency);
  row->overhead_pct = row->overhead_ms / before.latency * 100;
  row->interval = interval_of_difference(&own, &before);
  if (row->interval.from != INTERVAL_PAIRED_RUNS) { // pairs cancel drift
    has_drift = note_drift(question, row->before, &before, threshold_ms);
    has_drift |= note_drift(question, row->set, &own, threshold_ms);
  }
  if (row->interval.from == INTERVAL_OBSERVATIONS)
    table_note(&question->table, "interval from observations: differences between runs are not in it");
  const struct verdict_limits limits = {0, -INFINITY, threshold_ms};
  enum verdict verdict = has_drift ? VERDICT_NOT_DECIDED : verdict_of(&row->interval, &limits);
  row->verdict = verdict == VERDICT_SLOWER        ? "overhead"
                 : verdict == VERDICT_NOT_DECIDED ? verdict_name(verdict)
                                                  : "none found";
}

static enum status find_overhead(struct question *question, struct row *row, struct error *err)
{
  const struct view_set *set = row->set, *before = set_before(question->view, set);
  row->before = before;
  row->overhead_ms = row->overhead_pct = row->kernels = row->per_kernel_ns = NAN;
  row->interval = (struct interval){NAN, NAN, INTERVAL_NONE};
  if (before != NULL)
    judge_overhead(question, row);
  if (!has_level(set, XSP_LEVEL_KERNEL))
    return STATUS_OK;
  struct layers layers; // of any mode: kernels are counted in layers or not
  struct layers_part part = {.set = set};
  XSP_TRY(layers_load_parts(question, &part, 1, &layers, err));
  row->kernels = question_value(question, set, layers.kernels);
  if (!has_level(before, XSP_LEVEL_KERNEL))
    row->per_kernel_ns = overhead_per_kernel_ns(row->overhead_ms, row->kernels);
  return STATUS_OK;
}

static enum status answer_by_set(struct question *question, struct error *err)
{
  const struct view *view = question->view;
  int64_t first_batch = 0;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *set = &view->sets[i];
    if (!is_usable(set) || (question->request->batch != 0 && set->batch_size != question->request->batch))
      continue;
    struct row row = {.set = set, .latency = question_model_figure(question, set)};
    for (size_t k = 0; k < set->run_count; k++)
      row.dropped += set->runs[k]->run->dropped_count;
    XSP_TRY(count_spans(question, set, &row.spans, err));
    XSP_TRY(find_overhead(question, &row, err));
    put_row(&question->table, &row);
    char batch[48];
    if (row.dropped > 0)
      table_note(&question->table, "%lld spans were dropped at %s%s", (long long)row.dropped, set->levels_text,
                 at_batch(set->batch_size, ", batch size", batch));
    first_batch = question->used_count == 0 ? set->batch_size : first_batch;
    question->has_several_batches |= set->batch_size != first_batch;
    question->batch_size = set->batch_size;
    question_uses(question, set);
  }
  if (question->table.row_count == 0 && question->request->batch != 0)
    return question_lacks(question, err, "batch size %lld was not measured", (long long)question->request->batch);
  if (question->table.row_count == 0)
    return question_lacks(question, err, "there is no run with the model level");
  return STATUS_OK;
}

// ---- by layer -------------------------------------------------------------------------------------------------------
// The set that the rule gives for layers, where layers are its deepest level; and the same levels with kernels.
static bool find_sets(const struct view *view, int64_t batch_size, const struct view_set **ret_shallow,
                      const struct view_set **ret_deep)
{
  const char *from;
  *ret_shallow = view_rule(view, batch_size, XSP_LEVEL_LAYER, &from);
  if (*ret_shallow == NULL || from != NULL)
    return false;
  struct level_set deep = {.mask = (*ret_shallow)->levels.mask | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)};
  *ret_deep = view_find(view, batch_size, deep);
  return *ret_deep != NULL;
}

static bool has_sets(const struct view *view, int64_t batch_size)
{
  const struct view_set *shallow;
  const struct view_set *deep;
  return find_sets(view, batch_size, &shallow, &deep);
}

struct sides {
  struct layers shallow, deep; // the same layers, measured by either set
};

static void put_layer_row(struct question *question, const struct sides *sides, const struct layer *layer)
{
  struct table_builder *table = &question->table;
  double deeper_ms = layer_latency(question, &sides->deep, layer).value;
  double kernels = layer_value(question, &sides->deep, layer, LAYER_KERNELS);
  struct figure latency = layer_latency(question, &sides->shallow, layer);
  double overhead_ms = difference_ms(deeper_ms, latency.value);
  table_row(table);
  layer_put(table, layer);
  table_put(table, "latency_ms", cell_real(latency.value));
  table_put(table, "deeper_latency_ms", cell_real(deeper_ms));
  table_put(table, "overhead_ms", cell_real(overhead_ms));
  table_put(table, "kernels", cell_number(kernels));
  table_put(table, "overhead_per_kernel_ns", cell_real(overhead_per_kernel_ns(overhead_ms, kernels)));
  analyze_put_spread(table, &latency);
}

static bool is_in(const struct layers *layers, const struct layer *layer)
{
  for (size_t i = 0; i < layers->observation_count; i++)
    if (!isnan(layer->latency_ms[layers->first_observation + i]))
      return true;
  return false;
}

static void summarize(struct question *question, const struct sides *sides)
{
  struct table_builder *table = &question->table;
  double overhead_ms = difference_ms(layers_total(question, &sides->deep, LAYER_LATENCY),
                                     layers_total(question, &sides->shallow, LAYER_LATENCY));
  double kernels = layers_total(question, &sides->deep, LAYER_KERNELS);
  table_summary(table, "levels", cell_text(sides->shallow.set->levels_text));
  table_summary(table, "deeper_levels", cell_text(sides->deep.set->levels_text));
  table_summary(table, "overhead_ms", cell_real(overhead_ms));
  table_summary(table, "kernels", cell_number(kernels));
  table_summary(table, "overhead_per_kernel_ns", cell_real(overhead_per_kernel_ns(overhead_ms, kernels)));
}

static enum status answer_by_layer(struct question *question, struct error *err)
{
  struct layers_part parts[2] = {{0}};
  struct sides sides;
  XSP_TRY(question_batch(question, has_sets, "layers both without and with the kernel level (M/L and M/L/K)", err));
  find_sets(question->view, question->batch_size, &parts[0].set, &parts[1].set);
  parts[1].is_unlisted = true;
  question_uses(question, parts[0].set);
  question_uses(question, parts[1].set);
  XSP_TRY(layers_load_parts(question, parts, 2, &sides.shallow, err));
  if (sides.shallow.mode == LAYER_MODULE && sides.shallow.count == 0)
    return question_lacks(question, err, "none of its layers is a module");
  sides.deep = layers_of_part(&sides.shallow, &parts[1]);
  put_layer_row(question, &sides, &(struct layer){0});
  table_declared(&question->table, sides.shallow.listed);
  size_t unpaired = 0;
  for (size_t i = 0; i < sides.shallow.listed; i++) {
    const struct layer *layer = &sides.shallow.items[i];
    unpaired += !is_in(&sides.deep, layer);
    put_layer_row(question, &sides, layer);
  }
  if (unpaired > 0)
    table_note(&question->table, "%zu layers at %s have no partner at %s", unpaired, parts[0].set->levels_text,
               parts[1].set->levels_text);
  summarize(question, &sides);
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  const char *by = question->request->by;
  if (by == NULL)
    return answer_by_set(question, err);
  if (strcmp(by, "layer") == 0)
    return answer_by_layer(question, err);
  return error_set(err, STATUS_USE, "cannot group L0", by, "--by layer", "only layer is known");
}

const struct analysis analysis_l0 = {.id = "L0",
                                     .title = "leveled overhead",
                                     .summary = "what each level of tracing cost",
                                     .needs = "M",
                                     .detail = TRACE_KERNELS_BY_LAYER,
                                     .answer = answer};
