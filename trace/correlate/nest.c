// SPDX-License-Identifier: Apache-2.0
// Sources that round times make a span end after the one around it, by no more than their resolution: the start and the
// length are rounded, each by itself. For the search of parents alone, such a span ends with the one it began in. Called by
// parents_find, for tracks on which ends are out of order; stored times stay as they are.
#include "correlate/parents_private.h"

#include <string.h>

struct nest {
  const struct store_spans *spans; // as recorded
  const struct parents *parents;
  int64_t *duration_ns;  // as nested
  uint32_t *top, *below; // by track's slot, by row: the open spans of a track, each in the one below
};

static int64_t nested_end(const struct nest *nest, uint32_t row)
{
  return rows_flags(nest->spans, row) & STORE_SPAN_OPEN ? INT64_MAX
                                                        : nest->spans->start_ns[row] + nest->duration_ns[row];
}

// Whether `row` began in `outer` and outlasts it by no more than the resolution. It must be in it for longer than that:
// neighbours that were rounded may overlap, too.
static bool sticks_out(const struct nest *nest, uint32_t outer, uint32_t row)
{
  const struct store_spans *spans = nest->spans;
  uint64_t resolution = (uint64_t)nest->parents->resolution_ns;
  int64_t start = spans->start_ns[row];
  int64_t end = rows_end(spans, row);
  int64_t outer_end = rows_end(spans, outer);
  int64_t limit = nested_end(nest, outer);
  return spans->level[outer] <= spans->level[row] && limit > start && (uint64_t)limit - (uint64_t)start > resolution &&
         (end <= outer_end || (uint64_t)end - (uint64_t)outer_end <= resolution) &&
         !(rows_flags(spans, row) & STORE_SPAN_OPEN);
}

// Opens `row` on the stack of a track; true: it was made shorter. What it truly crosses is left behind.
static bool nest_row(const struct nest *nest, uint32_t *top, uint32_t row)
{
  int64_t end = rows_end(nest->spans, row);
  bool is_cut = false;
  while (*top != ROW_NONE && nested_end(nest, *top) < end && !(is_cut = sticks_out(nest, *top, row)))
    *top = nest->below[*top];
  if (is_cut)
    nest->duration_ns[row] = nested_end(nest, *top) - nest->spans->start_ns[row];
  if (nest->spans->level[row] < SWEEP_LEVELS && !(nest->parents->basis[row] & MARK_CLOSED)) {
    nest->below[row] = *top;
    *top = row;
  }
  return is_cut;
}

bool parents_nest_ends(struct parents *parents, struct store_spans *spans)
{
  if (parents->resolution_ns == 0 || parents->forward_count == 0)
    return false;
  struct arena scratch SCOPED(arena_done) = {0};
  struct store_spans nested = *spans;
  struct nest nest = {.spans = spans, .parents = parents};
  nest.duration_ns = nested.duration_ns = arena_alloc_array(&parents->arena, spans->count, sizeof *nest.duration_ns);
  nest.top = arena_alloc_array(&scratch, parents->track_count, sizeof *nest.top);
  nest.below = arena_alloc_array(&scratch, spans->count, sizeof *nest.below);
  memset(nest.top, 0xff, parents->track_count * sizeof *nest.top);
  memcpy(nest.duration_ns, spans->duration_ns, spans->count * sizeof *nest.duration_ns);
  for (size_t i = 0; i < parents->forward_count; i++) {
    uint32_t row = parents->forward_row[i];
    const struct parents_track *track = parents_track_of(parents, spans->track_id[row]);
    if (!track->is_threadless && spans->kind[row] != XSP_KIND_EXECUTION)
      parents->nested_count += nest_row(&nest, &nest.top[track - parents->track], row);
  }
  *spans = nested;
  return parents->nested_count > 0;
}
