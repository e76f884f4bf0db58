// SPDX-License-Identifier: Apache-2.0
// Asks a runner for queries as a scenario has them arrive; see scenario.h. Called by evaluation.c.
#include "experiment/evaluation/scenario.h"

#include "analyze/analyze.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/vector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED UINT64_C(0x9e3779b97f4a7c15)
#define LEAD_NS UINT64_C(10000000) // from the start of a run to its first arrival
#define DRAIN_EVERY 16
#define SEARCH_STEPS 7

static const struct {
  const char *name, *metric;
} kinds[SCENARIO_KINDS] = {
    {"single-stream", "p90_ms"}, {"multi-stream", "p99_ms"}, {"server", "qps"}, {"offline", "samples_per_s"}};

const char *scenario_name(enum scenario_kind kind)
{
  return kinds[kind].name;
}

const char *scenario_metric(enum scenario_kind kind)
{
  return kinds[kind].metric;
}

bool scenario_parse(const char *name, enum scenario_kind *ret_kind)
{
  for (*ret_kind = 0; *ret_kind < SCENARIO_KINDS; ++*ret_kind)
    if (strcmp(kinds[*ret_kind].name, name) == 0)
      return true;
  return false;
}

// The first size of an input of pictures, "1,3,224,224"; a free one is a name, and takes any batch.
static void take_port(void *context, const char *kind, const char *name, enum tensor_type type, const char *shape)
{
  int64_t *batch = context;
  size_t commas = 0;
  for (const char *at = shape; *at != 0; at++)
    commas += *at == ',';
  bool is_fixed = shape[0] >= '0' && shape[0] <= '9';
  if (strcmp(kind, "input") == 0 && commas == 3 && *batch >= 0)
    *batch = is_fixed ? strtoll(shape, NULL, 10) : -1;
}

enum status scenario_check(struct runner *runner, const struct scenario *scenarios, size_t count, struct error *err)
{
  int64_t batch = 0; // not above 0: any
  if (count > 0)
    XSP_TRY(runner_describe(runner, take_port, &batch, err));
  for (size_t i = 0; i < count && batch > 0; i++)
    if (scenarios[i].batch != batch)
      return error_set(err, STATUS_INPUT, "cannot measure the scenario", scenario_name(scenarios[i].kind),
                       "other scenarios, or the model with a free batch size",
                       "its queries are of %" PRId64 " pictures, and the model's batch size is %" PRId64,
                       scenarios[i].batch, batch);
  return STATUS_OK;
}

enum status scenario_load(struct scenario_lane *lane, int64_t batch, struct error *err)
{
  struct runner_picture *pictures SCOPED(scoped_free) = memory_new((size_t)batch, sizeof *pictures);
  for (size_t first = 0; first < lane->sample_count; first += (size_t)batch) {
    for (size_t i = 0; i < (size_t)batch; i++)
      pictures[i] = data_item_picture(&lane->set->items[(first + i) % lane->item_count]);
    XSP_TRY(runner_load(&lane->lane->runner, pictures, (size_t)batch, err));
  }
  return STATUS_OK;
}

// ---- a run -----------------------------------------------------------------------------------------------------------
struct queries {
  struct scenario_lane *lane;
  const struct scenario *scenario;
  uint64_t random;
  VECTOR(double) latencies_ms; // until the reply came: what the search goes by
};

static uint64_t next_random(struct queries *queries) // xorshift64*
{
  queries->random ^= queries->random >> 12;
  queries->random ^= queries->random << 25;
  queries->random ^= queries->random >> 27;
  return queries->random * UINT64_C(2685821657736338717);
}

static double next_gap_ns(struct queries *queries, double qps)
{
  double uniform = (double)(next_random(queries) >> 11) / (double)(UINT64_C(1) << 53);
  return -log1p(-uniform) / qps * 1e9;
}

static enum status ask(struct queries *queries, uint64_t arrival_ns, enum runner_inference kind, struct error *err)
{
  struct scenario_lane *lane = queries->lane;
  size_t first = next_random(queries) % lane->sample_count;
  uint64_t start_ns = arrival_ns != 0 ? arrival_ns : clock_now_ns(CLOCK_MONOTONIC);
  XSP_TRY(runner_query(&lane->lane->runner, first, (size_t)queries->scenario->batch, arrival_ns, kind, err));
  if (kind == INFERENCE_COUNTED)
    *vector_add(&queries->latencies_ms) = (double)(clock_now_ns(CLOCK_MONOTONIC) - start_ns) / 1e6;
  return STATUS_OK;
}

// Queries until there are enough, for long enough. `qps` 0: the next one when the last is answered.
static enum status ask_all(struct queries *queries, double qps, struct error *err)
{
  struct scenario_lane *lane = queries->lane;
  const struct scenario *scenario = queries->scenario;
  for (unsigned i = 0; i < lane->warmups; i++)
    XSP_TRY(ask(queries, 0, INFERENCE_WARMUP, err));
  uint64_t start_ns = clock_now_ns(CLOCK_MONOTONIC) + (qps > 0 ? LEAD_NS : 0);
  double arrival_ns = 0;
  for (size_t count = 0; !*lane->interrupted; count++) {
    double passed_ns = qps > 0 ? arrival_ns : (double)clock_now_ns(CLOCK_MONOTONIC) - (double)start_ns;
    if (count >= scenario->queries && passed_ns >= scenario->seconds * 1e9)
      break;
    XSP_TRY(ask(queries, qps > 0 ? start_ns + (uint64_t)arrival_ns : 0, INFERENCE_COUNTED, err));
    arrival_ns += qps > 0 ? next_gap_ns(queries, qps) : 0;
    if (count % DRAIN_EVERY == 0)
      XSP_TRY(lane_drain(lane->lane, lane->store, &lane->run, err));
  }
  return lane_flush(lane->lane, lane->store, &lane->run, err);
}

static enum status run(struct scenario_lane *lane, const struct scenario *scenario, double qps, int64_t *run_id,
                       struct scenario_result *ret_result, double *ret_mean_ms, size_t *ret_late, struct error *err)
{
  struct queries queries = {.lane = lane, .scenario = scenario, .random = SEED};
  char text[32];
  lane->run.run_id = *run_id;
  lane->run.batch_size = scenario->batch;
  *ret_result = (struct scenario_result){.run_id = (*run_id)++, .qps = qps > 0 ? qps : NAN, .qps_upper = NAN};
  XSP_TRY(store_add_run(lane->store, &lane->run, err));
  enum status status = ask_all(&queries, qps, err);
  ret_result->was_interrupted = *lane->interrupted != 0;
  if (status == STATUS_OK)
    status = store_add_run(lane->store, &lane->run, err); // with what was dropped
  if (status == STATUS_OK)
    status = store_add_note(lane->store, lane->run.run_id, "scenario", scenario_name(scenario->kind), err);
  snprintf(text, sizeof text, "%.17g", qps);
  if (status == STATUS_OK && qps > 0)
    status = store_add_note(lane->store, lane->run.run_id, "scenario_qps", text, err);
  *ret_mean_ms = statistic_named("mean", queries.latencies_ms.items, queries.latencies_ms.count);
  ret_result->query_count = queries.latencies_ms.count;
  *ret_late = scenario_late(queries.latencies_ms.items, queries.latencies_ms.count, scenario->bound_ms);
  vector_done(&queries.latencies_ms);
  return status;
}

// ---- a scenario ------------------------------------------------------------------------------------------------------
// Halves the range between none and as many as follow each other without a gap. The best run that surely keeps to the bound counts;
// where none does, the last one. Rates between that and qps_upper are undecided.
static enum status search(struct scenario_lane *lane, const struct scenario *scenario, int64_t *run_id,
                          struct scenario_result *ret_result, struct error *err)
{
  const struct scenario closed = {.kind = scenario->kind, .batch = scenario->batch, .queries = 64};
  double mean_ms = 0, low = 0, upper = NAN;
  size_t late;
  XSP_TRY(run(lane, &closed, 0, run_id, ret_result, &mean_ms, &late, err));
  double high = 1000 / mean_ms;
  bool is_found = false;
  for (int step = 0; step < SEARCH_STEPS && !*lane->interrupted; step++) {
    struct scenario_result tried;
    double middle = (low + high) / 2;
    XSP_TRY(run(lane, scenario, middle, run_id, &tried, &mean_ms, &late, err));
    bool is_within = scenario_keeps_bound(tried.query_count, late);
    if (scenario_misses_bound(tried.query_count, late)) // each middle is below all that were missed
      upper = middle;
    *(is_within ? &low : &high) = middle;
    if (is_within || !is_found)
      *ret_result = tried;
    is_found |= is_within;
  }
  ret_result->qps_upper = upper;
  return STATUS_OK;
}

enum status scenario_measure(struct scenario_lane *lane, const struct scenario *scenario, int64_t *run_id,
                             struct scenario_result *ret_result, struct error *err)
{
  double mean_ms;
  size_t late;
  if (scenario->kind == SCENARIO_SERVER && scenario->qps == 0)
    return search(lane, scenario, run_id, ret_result, err);
  return run(lane, scenario, scenario->kind == SCENARIO_SERVER ? scenario->qps : 0, run_id, ret_result, &mean_ms, &late,
             err);
}

// ---- what was measured -----------------------------------------------------------------------------------------------
struct reading {
  VECTOR(double) latencies_ms;
  double wait_ms, gap_ms, first_ns, last_ns;
  size_t queued;
};

static enum status take_query(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct reading *reading = context;
  double start_ns = (double)cells[0].integer, duration_ns = (double)cells[1].integer;
  double wait_ns = cells[2].type == STORE_INT ? (double)cells[2].integer : 0;
  if (reading->latencies_ms.count == 0)
    reading->first_ns = start_ns - wait_ns;
  else if (start_ns - wait_ns < reading->last_ns) { // the one before was not answered yet
    reading->gap_ms += (start_ns - reading->last_ns) / 1e6;
    reading->queued++;
  }
  reading->last_ns = start_ns + duration_ns;
  reading->wait_ms += wait_ns / 1e6;
  *vector_add(&reading->latencies_ms) = (wait_ns + duration_ns) / 1e6;
  return STATUS_OK;
}

enum status scenario_read(struct store *store, struct scenario_result *result, struct error *err)
{
  char sql[512];
  struct reading reading = {0};
  const struct store_query_sink sink = {.context = &reading, .row = take_query};
  snprintf(sql, sizeof sql,
           "with base as (select min(start_ns) as start_ns from observation where run_id = %" PRId64
           ") select o.start_ns - base.start_ns, o.duration_ns, t.value from base, observation o left join tag t on "
           "t.run_id = o.run_id and t.span_id = o.span_id and t.key = 'wait_ns' where o.run_id = %" PRId64
           " and not o.warmup order by o.observation",
           result->run_id, result->run_id);
  enum status status = store_query(store, sql, &sink, err);
  result->query_count = reading.latencies_ms.count;
  result->latencies_ms = reading.latencies_ms.items;
  result->seconds = result->query_count > 0 ? (reading.last_ns - reading.first_ns) / 1e9 : NAN;
  result->queue_gap_ms = isnan(result->qps) || reading.queued == 0 ? NAN : reading.gap_ms / (double)reading.queued;
  result->wait_ms =
      isnan(result->qps) || result->query_count == 0 ? NAN : reading.wait_ms / (double)result->query_count;
  return status;
}
