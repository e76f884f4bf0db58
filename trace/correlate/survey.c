// SPDX-License-Identifier: Apache-2.0
// A look at a block of rows while its columns come into the cache: may it be swept, and what does it hold? Called by
// parents.c block by block. Signs instead of comparisons, and no branches, so that it becomes vector code.
#include "correlate/survey.h"

#include <inttypes.h>

enum status parents_survey_bad_span(struct error *err, const struct store_spans *spans, size_t row, const char *why)
{
  return error_set(err, STATUS_INPUT, "cannot relate spans", NULL, NULL, "span %" PRId64 " (row %zu) %s",
                   rows_id(spans, row), row, why);
}

static void survey_flags(const struct store_spans *spans, size_t first, size_t end, struct parents_survey *survey)
{
  uint8_t flags = 0;
  uint8_t closed = 0; // flags of spans that could enclose others
  uint8_t largest = 0;
  for (size_t i = first; i < end; i++) {
    flags |= spans->flags[i];
    closed |= spans->level[i] < XSP_LEVEL_KERNEL ? spans->flags[i] : 0;
    largest = spans->flags[i] > largest ? spans->flags[i] : largest;
  }
  bool has_bases = STORE_BASIS_OF_FLAGS(largest) >= 0;
  survey->is_bad |= (uint64_t)(STORE_BASIS_OF_FLAGS(largest) >= BASIS_COUNT) << 63;
  survey->has_bases |= has_bases;
  survey->has_calls |= (flags & STORE_SPAN_CALL) != 0;
  survey->has_steps |= (flags & STORE_SPAN_STEP) != 0;
  survey->has_open |= (flags & STORE_SPAN_OPEN) != 0;
  survey->needs_marks |= has_bases || (flags & STORE_SPAN_PLACED) || (closed & STORE_SPAN_CALL);
}

static void survey_ids(const int64_t *ids, size_t first, size_t end, struct parents_survey *survey)
{
  uint64_t is_bad = 0;
  uint64_t ids_rise = UINT64_MAX;
  for (size_t i = first; i < end; i++)
    is_bad |= (uint64_t)ids[i] | ((uint64_t)ids[i] - 1);
  for (size_t i = first > 0 ? first : 1; i < end; i++)
    ids_rise &= (uint64_t)ids[i - 1] - (uint64_t)ids[i];
  survey->is_bad |= is_bad;
  survey->ids_rise &= ids_rise;
}

// A sum overflows where its sign is that of neither summand.
void parents_survey_block(const struct store_spans *spans, size_t first, size_t end, struct parents_survey *survey)
{
  uint64_t is_bad = 0;
  uint64_t named = 0;
  uint8_t level = 0;
  uint8_t kind = 0;
  for (size_t i = first; i < end; i++) {
    uint64_t start = (uint64_t)spans->start_ns[i];
    uint64_t duration = (uint64_t)spans->duration_ns[i];
    uint64_t sum = start + duration;
    is_bad |= duration | ((sum ^ start) & (sum ^ duration));
  }
  if (spans->span_id != NULL)
    survey_ids(spans->span_id, first, end, survey);
  for (size_t i = first; i < end && spans->recorded_parent_id != NULL; i++)
    named |= (uint64_t)spans->recorded_parent_id[i];
  for (size_t i = first; i < end; i++) {
    level = spans->level[i] > level ? spans->level[i] : level;
    kind = spans->kind[i] > kind ? spans->kind[i] : kind;
  }
  bool is_unknown = level >= XSP_LEVEL_COUNT || kind > XSP_KIND_EXECUTION;
  survey->is_bad |= is_bad | (uint64_t)is_unknown << 63;
  survey->has_named |= named != 0;
  survey->has_executions |= kind == XSP_KIND_EXECUTION;
  survey->needs_marks = named != 0;
  if (spans->flags != NULL)
    survey_flags(spans, first, end, survey);
  survey->has_marks |= survey->needs_marks;
}

enum status parents_survey_refuse(const struct store_spans *spans, struct error *err)
{
  size_t i = 0;
  for (; i < spans->count && rows_id(spans, i) >= 1; i++) {
    int64_t end;
    if (spans->duration_ns[i] < 0)
      return parents_survey_bad_span(err, spans, i, "ends before it starts");
    if (__builtin_add_overflow(spans->start_ns[i], spans->duration_ns[i], &end))
      return parents_survey_bad_span(err, spans, i, "ends beyond the largest time");
    if (spans->level[i] >= XSP_LEVEL_COUNT)
      return parents_survey_bad_span(err, spans, i, "is of no known level");
    if (spans->kind[i] > XSP_KIND_EXECUTION)
      return parents_survey_bad_span(err, spans, i, "is of no known kind");
    if (STORE_BASIS_OF_FLAGS(rows_flags(spans, i)) >= BASIS_COUNT)
      return parents_survey_bad_span(err, spans, i, "has a parent of no known basis");
  }
  return parents_survey_bad_span(err, spans, i, "has an id below 1");
}

void parents_survey_mark(const struct store_spans *spans, size_t first, size_t end, uint8_t *basis)
{
  for (size_t i = first; i < end; i++) {
    uint8_t flags = rows_flags(spans, i);
    int recorded = STORE_BASIS_OF_FLAGS(flags);
    unsigned marks = (flags & STORE_SPAN_CALL) ? MARK_CLOSED : 0;
    if (recorded >= 0)
      marks |= MARK_FINAL | MARK_NO_CONTAINMENT | (unsigned)recorded;
    else if (rows_recorded_parent(spans, i) != 0)
      marks |= MARK_FINAL | MARK_NO_CONTAINMENT | BASIS_EXPLICIT;
    else if (flags & STORE_SPAN_PLACED)
      marks |= MARK_NO_CONTAINMENT;
    basis[i] = (uint8_t)marks;
  }
}
