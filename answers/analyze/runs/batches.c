// SPDX-License-Identifier: Apache-2.0
// Throughput per batch size, the optimal batch, and the batch of an analysis. Called by A1 and, for the default of
// --batch, by all analyses of one batch.
#include "analyze/runs/samples.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-12 // relative: what the arithmetic of doubles may add to a figure that is just at a limit

const struct batch_point *batches_find(const struct batches *batches, int64_t batch_size)
{
  for (size_t i = 0; i < batches->count; i++)
    if (batches->points[i].batch_size == batch_size)
      return &batches->points[i];
  return NULL;
}

static void choose_by_doubling(struct batches *batches, double threshold_pct)
{
  bool has_doubling = false;
  for (size_t i = 0; i < batches->count && batches->optimal == SIZE_MAX; i++) {
    const struct batch_point *point = &batches->points[i];
    if (point->batch_size == 0 || point->batch_size > INT64_MAX / 2)
      continue;
    const struct batch_point *twice = batches_find(batches, point->batch_size * 2);
    if (twice == NULL || isnan(point->throughput_per_s) || isnan(twice->throughput_per_s))
      continue;
    has_doubling = true;
    double most_per_s = point->throughput_per_s * (1 + threshold_pct / 100);
    if (twice->throughput_per_s <= most_per_s * (1 + ROUNDING))
      batches->optimal = i;
  }
  if (batches->optimal == SIZE_MAX)
    batches->why_not_optimal = has_doubling ? "optimal batch size not reached: every doubling measured still gains more"
                                            : "optimal batch size not reached: no batch was measured with its double";
}

static void choose_within(struct batches *batches, double limit_ms)
{
  for (size_t i = 0; i < batches->count; i++) {
    const struct batch_point *point = &batches->points[i];
    if (isnan(point->throughput_per_s) || !(point->latency.value <= limit_ms * (1 + ROUNDING)))
      continue;
    if (batches->optimal == SIZE_MAX || point->throughput_per_s > batches->points[batches->optimal].throughput_per_s)
      batches->optimal = i;
  }
  if (batches->optimal == SIZE_MAX)
    batches->why_not_optimal = "optimal batch size not reached: no batch is within the latency limit";
}

void batches_choose(struct batches *batches, double threshold_pct, double latency_limit_ms)
{
  batches->optimal = SIZE_MAX;
  batches->maximum = SIZE_MAX;
  batches->why_not_optimal = NULL;
  for (size_t i = 0; i < batches->count; i++)
    if (!isnan(batches->points[i].throughput_per_s) &&
        (batches->maximum == SIZE_MAX ||
         batches->points[i].throughput_per_s > batches->points[batches->maximum].throughput_per_s))
      batches->maximum = i;
  if (isnan(latency_limit_ms))
    choose_by_doubling(batches, threshold_pct);
  else
    choose_within(batches, latency_limit_ms);
}

// "latency<=10ms" (also us, s); NaN in *ret_limit_ms where the text is NULL.
static bool parse_optimal(const char *text, double *ret_limit_ms)
{
  static const struct {
    const char *unit;
    double in_ms;
  } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}};
  *ret_limit_ms = NAN;
  if (text == NULL)
    return true;
  static const char prefix[] = "latency<=";
  if (strncmp(text, prefix, sizeof prefix - 1) != 0)
    return false;
  const char *number = text + sizeof prefix - 1;
  char *end;
  double value = strtod(number, &end);
  if (end == number || !isfinite(value) || value < 0)
    return false;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp(end, units[i].unit) == 0) {
      *ret_limit_ms = value * units[i].in_ms;
      return true;
    }
  return false;
}

SORTED_BY(compare_observations, struct store_observation, RISING(start_ns))

// The time that the predictions of a run cover, and their durations added up.
static void add_covered(const struct view_run *run, struct arena *scratch, double *covered_ms, double *sum_ms)
{
  struct store_observation *sorted = arena_alloc_array(scratch, run->observation_count + 1, sizeof *sorted);
  size_t count = 0;
  for (size_t i = 0; i < run->observation_count; i++)
    if (!run->observations[i].warmup)
      sorted[count++] = run->observations[i];
  qsort(sorted, count, sizeof *sorted, compare_observations);
  int64_t reach_ns = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    int64_t end_ns = saturate_add(sorted[i].start_ns, sorted[i].duration_ns);
    int64_t from_ns = sorted[i].start_ns > reach_ns ? sorted[i].start_ns : reach_ns;
    *sum_ms += (double)sorted[i].duration_ns / 1e6;
    *covered_ms += end_ns > from_ns ? (double)(end_ns - from_ns) / 1e6 : 0;
    reach_ns = end_ns > reach_ns ? end_ns : reach_ns;
  }
}

// Inputs per second. Predictions that overlap: all of them over the time that they cover, for their latency is not the time
// from one answer to the next.
static double throughput_per_s(struct question *question, struct batch_point *point)
{
  const struct view_set *set = point->set;
  double covered_ms = 0, sum_ms = 0;
  if (point->batch_size <= 0)
    return NAN;
  for (size_t i = 0; i < set->run_count; i++)
    add_covered(set->runs[i], question->scratch, &covered_ms, &sum_ms);
  point->is_overlapping = covered_ms < sum_ms * (1 - ROUNDING);
  double inputs = point->is_overlapping ? set->inputs : set->inputs / (double)set->observation_count;
  double ms = point->is_overlapping ? covered_ms : point->latency.value;
  return ms > 0 ? 1000.0 * inputs / ms : NAN;
}

struct extent { // of the observations of a run that are no warm-up
  int64_t start_ns, end_ns;
};

static struct extent extent_of(const struct view_run *run)
{
  struct extent extent = {INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *one = &run->observations[i];
    int64_t end_ns = saturate_add(one->start_ns, one->duration_ns);
    if (one->warmup)
      continue;
    extent.start_ns = one->start_ns < extent.start_ns ? one->start_ns : extent.start_ns;
    extent.end_ns = end_ns > extent.end_ns ? end_ns : extent.end_ns;
  }
  return extent;
}

// Whether an experiment made predictions of other runs meanwhile.
static bool took_turns(const struct view *view, const struct view_run *run, struct extent extent)
{
  for (size_t i = 0; i < view->run_count; i++)
    for (size_t k = 0; k < view->runs[i].observation_count && view->runs[i].run != run->run; k++)
      if (view->runs[i].observations[k].start_ns >= extent.start_ns &&
          view->runs[i].observations[k].start_ns < extent.end_ns)
        return true;
  return false;
}

double batches_loop_throughput_per_s(const struct question *question, const struct batch_point *point)
{
  double ns = 0;
  for (size_t i = 0; i < point->set->run_count; i++) {
    struct extent extent = extent_of(point->set->runs[i]);
    if (extent.end_ns > extent.start_ns && took_turns(question->view, point->set->runs[i], extent))
      return NAN;
    ns += extent.end_ns > extent.start_ns ? (double)saturate_subtract(extent.end_ns, extent.start_ns) : 0;
  }
  return ns > 0 && point->batch_size > 0 ? 1e9 * point->set->inputs / ns : NAN;
}

enum status question_batches(struct question *question, struct batches *ret_batches, struct error *err)
{
  const struct view *view = question->view;
  double limit_ms;
  *ret_batches = (struct batches){.optimal = SIZE_MAX, .maximum = SIZE_MAX};
  if (!parse_optimal(question->request->optimal, &limit_ms))
    return error_set(err, STATUS_USE, "cannot read the rule for the optimal batch size", question->request->optimal,
                     "--optimal 'latency<=10ms'", "only latency<=NUMBER with ns, us, ms or s is known");
  ret_batches->points = arena_alloc_array(question->arena, view->set_count + 1, sizeof *ret_batches->points);
  for (size_t i = 0; i < view->set_count; i++) { // sets are ordered by batch size
    int64_t batch_size = view->sets[i].batch_size;
    if (i > 0 && view->sets[i - 1].batch_size == batch_size)
      continue;
    const char *from;
    const struct view_set *set = view_rule(view, batch_size, XSP_LEVEL_MODEL, &from);
    if (set == NULL)
      continue;
    struct batch_point *point = &ret_batches->points[ret_batches->count++];
    *point = (struct batch_point){
        .batch_size = batch_size, .set = set, .from = from, .latency = question_model_figure(question, set)};
    point->throughput_per_s = throughput_per_s(question, point);
  }
  batches_choose(ret_batches, question->request->optimal_threshold_pct, limit_ms);
  return STATUS_OK;
}

// Of (1 + threshold) * latency(2b) - 2 * latency(b): not negative where doubling gains at most the threshold. NaN: too few
// values, or the double was not measured.
static struct interval interval_of_doubling(struct question *question, const struct batches *batches,
                                            const struct batch_point *point)
{
  const struct batch_point *twice = batches_find(batches, point->batch_size * 2);
  if (twice == NULL)
    return (struct interval){NAN, NAN, INTERVAL_NONE};
  struct sample once = analyze_sample_of_set(question, point->set, 2);
  struct sample doubled =
      analyze_sample_of_set(question, twice->set, 1 + question->request->optimal_threshold_pct / 100);
  return interval_of_difference(&doubled, &once);
}

bool batches_are_certain(struct question *question, const struct batches *batches)
{
  const struct batch_point *optimal = &batches->points[batches->optimal];
  if (!(interval_of_doubling(question, batches, optimal).low >=
        -ROUNDING * question_model_latency(question, optimal->set)))
    return false;
  for (const struct batch_point *point = batches->points; point < optimal; point++) {
    if (point->batch_size == 0 || batches_find(batches, point->batch_size * 2) == NULL)
      continue;
    if (!(interval_of_doubling(question, batches, point).high < 0))
      return false;
  }
  return true;
}

static size_t best_with_levels(const struct batches *batches, const struct view *view,
                               bool (*has_levels)(const struct view *view, int64_t batch_size))
{
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < batches->count; i++) {
    if (!has_levels(view, batches->points[i].batch_size))
      continue;
    if (best == SIZE_MAX || isnan(batches->points[best].throughput_per_s) ||
        batches->points[i].throughput_per_s > batches->points[best].throughput_per_s)
      best = i;
  }
  return best;
}

// Without any model latency: the smallest batch size that has the levels.
static bool first_with_levels(const struct view *view, bool (*has_levels)(const struct view *view, int64_t batch_size),
                              int64_t *ret_batch)
{
  for (size_t i = 0; i < view->set_count; i++)
    if (has_levels(view, view->sets[i].batch_size)) {
      *ret_batch = view->sets[i].batch_size;
      return true;
    }
  return false;
}

enum status question_batch(struct question *question, bool (*has_levels)(const struct view *view, int64_t batch_size),
                           const char *needs, struct error *err)
{
  const struct view *view = question->view;
  int64_t wanted = question->request->batch;
  if (wanted != 0) {
    if (!has_levels(view, wanted))
      return question_lacks(question, err, "there is no run with %s at batch size %lld", needs, (long long)wanted);
    question->batch_size = wanted;
    return STATUS_OK;
  }
  struct batches batches;
  XSP_TRY(question_batches(question, &batches, err));
  size_t rule = batches.optimal != SIZE_MAX ? batches.optimal : batches.maximum;
  if (rule != SIZE_MAX && has_levels(view, batches.points[rule].batch_size)) {
    question->batch_size = batches.points[rule].batch_size;
    if (batches.count > 1 && batches.optimal == SIZE_MAX)
      table_note(&question->table, "batch size %lld, of maximum throughput: %s", (long long)question->batch_size,
                 batches.why_not_optimal);
    return STATUS_OK;
  }
  size_t best = best_with_levels(&batches, view, has_levels);
  if (best != SIZE_MAX)
    question->batch_size = batches.points[best].batch_size;
  else if (!first_with_levels(view, has_levels, &question->batch_size))
    return question_lacks(question, err, "there is no run with %s", needs);
  if (rule != SIZE_MAX)
    table_note(&question->table, "batch size %lld: the %s batch size %lld was not measured with %s",
               (long long)question->batch_size, batches.optimal != SIZE_MAX ? "optimal" : "maximum-throughput",
               (long long)batches.points[rule].batch_size, needs);
  return STATUS_OK;
}
