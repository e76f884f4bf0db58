// SPDX-License-Identifier: Apache-2.0
// Times of a model's inferences and of the stages around them, from the file that was written. Called by evaluation.c.
#include "base/memory.h"
#include "experiment/evaluation/evaluation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static enum status take_latency(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct evaluation_result *result = context;
  result->latencies_ms[result->latency_count++] = (double)cells[0].integer / 1e6;
  return STATUS_OK;
}

static enum status take_mean(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  *(double *)context = cells[0].type == STORE_DOUBLE ? cells[0].real : NAN;
  return STATUS_OK;
}

// Of the stage around an inference, for an item; the first ones are those of warm-ups. An inference may have several spans of it: the
// runner's, and one that a program reports.
static enum status read_stage(struct store *store, const struct evaluation_options *options, unsigned inferences,
                              int64_t run_id, const char *stage, double *ret_ms, struct error *err)
{
  char sql[1024];
  const struct store_query_sink sink = {.context = ret_ms, .row = take_mean};
  *ret_ms = NAN;
  snprintf(sql, sizeof sql,
           "with stage as (select start_ns, duration_ns from span where run_id = %" PRId64
           " and level = 'application' and name = '%s' and span_id not in (select span_id from tag where run_id = "
           "%" PRId64 " and key = 'unreadable')), each as (select max(1, count(*) / %u) as spans from stage) "
           "select avg(duration_ns) * (select spans from each) / 1e6 / %" PRId64
           " from (select duration_ns from stage order by start_ns limit -1 offset (select spans * %u from each))",
           run_id, stage, run_id, inferences + options->warmups, options->batch, options->warmups);
  return store_query(store, sql, &sink, err);
}

enum status evaluation_times_read(struct store *store, const struct evaluation_options *options, size_t number,
                                  struct evaluation_result *result, struct error *err)
{
  char sql[256];
  int64_t run_id = (int64_t)number + 1;
  const struct store_query_sink sink = {.context = result, .row = take_latency};
  result->latencies_ms = memory_new(result->inferences + 1, sizeof *result->latencies_ms);
  snprintf(sql, sizeof sql,
           "select duration_ns from observation where run_id = %" PRId64
           " and not warmup order by observation limit %u",
           run_id, result->inferences);
  XSP_TRY(store_query(store, sql, &sink, err));
  XSP_TRY(read_stage(store, options, result->inferences, run_id, "preprocess", &result->preprocess_ms, err));
  return read_stage(store, options, result->inferences, run_id, "postprocess", &result->postprocess_ms, err);
}
