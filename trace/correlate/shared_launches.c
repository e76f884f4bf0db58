// SPDX-License-Identifier: Apache-2.0
// Executions of one launch whose names differ. Called by parents.c when launches are known.
//
// A call that recorded the kernel it starts launched no other: where one execution of its id has that name, those of other
// names have another launch, whose id is not known. A graph's launch records no kernel.
#include "base/sorted.h"
#include "correlate/launches.h"

#include <string.h>

static bool is_shared(const struct launches *launches, uint32_t row)
{
  return (launches->shared[row / 8] >> row % 8 & 1) != 0;
}

// The launch of an execution, if it has several; else ROW_NONE.
static uint32_t shared_launch(struct launches *launches, const struct store_spans *spans, uint32_t row)
{
  if (spans->kind[row] != XSP_KIND_EXECUTION || rows_correlation(spans, row) == 0)
    return ROW_NONE;
  uint32_t launch = launches_of(launches, spans, row);
  return launch < LAUNCH_SEVERAL && is_shared(launches, launch) ? launch : ROW_NONE;
}

// Which launches have several executions, as more is known of those with one id than when executions were joined.
static void share_again(struct launches *launches, const struct store_spans *spans)
{
  memset(launches->launched, 0, spans->count / 8 + 1);
  memset(launches->shared, 0, spans->count / 8 + 1);
  launches->shared_count = 0;
  for (size_t i = 0; i < spans->count; i++) {
    bool is_launched = spans->kind[i] == XSP_KIND_EXECUTION && rows_correlation(spans, i) != 0;
    uint32_t launch = is_launched ? launches_of(launches, spans, (uint32_t)i) : ROW_NONE;
    if (launch < LAUNCH_SEVERAL)
      launches_share(launches, launch);
  }
}

// Of launches that recorded no kernel, nothing is asked any more.
static enum status keep_named(struct launches *launches, const struct store_spans *spans, correlate_load_facts *load,
                              void *context, struct arena *arena, struct error *err)
{
  struct correlate_facts *facts = arena_alloc_array(arena, launches->shared_count, sizeof *facts);
  size_t count = 0;
  for (size_t i = 0; i < spans->count; i++)
    if (is_shared(launches, (uint32_t)i))
      facts[count++].row = (uint32_t)i;
  XSP_TRY(load(context, facts, count, err));
  for (size_t i = 0; i < count; i++)
    if (facts[i].kernel == 0) {
      launches->shared[facts[i].row / 8] &= (uint8_t) ~(1u << facts[i].row % 8);
      launches->shared_count--;
    }
  return STATUS_OK;
}

SORTED_BY(compare_facts, struct correlate_facts, RISING(row))

static size_t place_of(const struct correlate_facts *facts, size_t count, uint32_t row)
{
  const struct correlate_facts key = {.row = row};
  return sorted_lower_bound(&key, facts, count, sizeof key, compare_facts);
}

enum status launches_compare_names(struct launches *launches, const struct store_spans *spans,
                                   correlate_load_facts *load, void *context, struct arena *arena, uint32_t *parent_row,
                                   uint8_t *basis, struct error *err)
{
  if (launches->shared == NULL || load == NULL)
    return STATUS_OK;
  if (launches->several.count > 0)
    share_again(launches, spans);
  if (launches->shared_count == 0)
    return STATUS_OK;
  XSP_TRY(keep_named(launches, spans, load, context, arena, err));
  size_t count = launches->shared_count;
  if (count == 0)
    return STATUS_OK;
  for (size_t i = 0; i < spans->count; i++)
    count += shared_launch(launches, spans, (uint32_t)i) != ROW_NONE;
  struct correlate_facts *facts = arena_alloc_array(arena, count, sizeof *facts);
  bool *has_its_kernel = arena_alloc(arena, count); // by the launch's place
  count = 0;
  for (size_t i = 0; i < spans->count; i++)
    if (is_shared(launches, (uint32_t)i) || shared_launch(launches, spans, (uint32_t)i) != ROW_NONE)
      facts[count++].row = (uint32_t)i;
  XSP_TRY(load(context, facts, count, err));
  for (size_t i = 0; i < count; i++) {
    uint32_t launch = shared_launch(launches, spans, facts[i].row);
    size_t place = launch != ROW_NONE ? place_of(facts, count, launch) : 0;
    if (launch != ROW_NONE && facts[place].kernel == facts[i].kernel)
      has_its_kernel[place] = true;
  }
  for (size_t i = 0; i < count; i++) { // now that all are seen
    uint32_t row = facts[i].row;
    uint32_t launch = shared_launch(launches, spans, row);
    size_t place = launch != ROW_NONE ? place_of(facts, count, launch) : 0;
    bool is_recorded = rows_recorded_parent(spans, row) != 0 || STORE_BASIS_OF_FLAGS(rows_flags(spans, row)) >= 0;
    bool is_other = facts[i].kernel != 0 && facts[place].kernel != facts[i].kernel;
    if (launch == ROW_NONE || !has_its_kernel[place] || !is_other || is_recorded)
      continue;
    parent_row[row] = ROW_NONE;
    basis[row] = BASIS_AMBIGUOUS;
  }
  return STATUS_OK;
}
