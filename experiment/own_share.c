// SPDX-License-Identifier: Apache-2.0
// Sums up the tags of a run's model spans. Called by model_experiment.c for each run after the measurement.
#include "experiment/own_share.h"

#include "analyze/analyze.h"

#include <math.h>
#include <stdlib.h>

struct observed { // one model span
  int64_t span_id, duration_ns;
  double own_ns; // NaN: not known
  bool is_warmup;
};

static int by_span_id(const void *a, const void *b)
{
  int64_t left = ((const struct observed *)a)->span_id, right = ((const struct observed *)b)->span_id;
  return (left > right) - (left < right);
}

// The run's model spans with their tags.
static enum status load_observed(struct store *store, int64_t run_id, struct arena *arena,
                                 struct observed **ret_observed, size_t *ret_count, struct error *err)
{
  struct store_spans spans;
  struct store_tag *tags = NULL;
  size_t tag_count = 0, count = 0;
  uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_LEVEL);
  XSP_TRY(store_load_spans(store, run_id, columns, arena, &spans, err));
  XSP_TRY(store_load_tags(store, run_id, arena, &tags, &tag_count, err));
  uint32_t warmup_key = 0, own_key = 0;
  store_find_string(store, "warmup", 6, &warmup_key);
  store_find_string(store, "own_ns", 6, &own_key);
  struct observed *observed = arena_alloc_array(arena, spans.count + 1, sizeof *observed);
  for (size_t i = 0; i < spans.count; i++)
    if (spans.level[i] == XSP_LEVEL_MODEL)
      observed[count++] = (struct observed){spans.span_id[i], spans.duration_ns[i], NAN, false};
  qsort(observed, count, sizeof *observed, by_span_id);
  for (size_t i = 0; i < tag_count; i++) {
    if (tags[i].key == 0 || (tags[i].key != warmup_key && tags[i].key != own_key) || tags[i].type != STORE_INT)
      continue;
    struct observed wanted = {.span_id = tags[i].span_id};
    struct observed *found = bsearch(&wanted, observed, count, sizeof *observed, by_span_id);
    if (found != NULL && tags[i].key == warmup_key)
      found->is_warmup = found->is_warmup || tags[i].value.integer != 0;
    else if (found != NULL)
      found->own_ns = (double)tags[i].value.integer;
  }
  *ret_observed = observed;
  *ret_count = count;
  return STATUS_OK;
}

// xsp's own share of a run: what its code inside the counted model spans took, as measured there (tag own_ns). The median
// over observations: the code is timed by the wall clock, and one preemption inside it would else be taken for its cost.
static enum status measure(struct store *store, struct store_run *run, struct arena *arena, struct error *err)
{
  struct observed *observed = NULL;
  size_t count = 0, counted = 0, own_known = 0;
  XSP_TRY(load_observed(store, run->run_id, arena, &observed, &count, err));
  double *shares = arena_alloc_array(arena, count + 1, sizeof *shares);
  for (size_t i = 0; i < count; i++) {
    if (observed[i].is_warmup)
      continue;
    counted++;
    if (!isnan(observed[i].own_ns) && observed[i].duration_ns > 0)
      shares[own_known++] = 100 * observed[i].own_ns / (double)observed[i].duration_ns;
  }
  struct statistic median;
  if (own_known > 0 && own_known == counted && statistic_parse("median", &median))
    run->own_pct = statistic_apply(&median, shares, own_known);
  return STATUS_OK;
}

enum status own_share_measure(struct store *store, struct store_run *run, struct error *err)
{
  struct arena arena = {0};
  enum status status = measure(store, run, &arena, err);
  arena_done(&arena);
  return status;
}
