// SPDX-License-Identifier: Apache-2.0
// Parents for calling contexts, from a run's parents and its lanes. Called by folded stacks and the page. Pure.
//
// A span takes a parent of its own or a higher level only, so a range of the application inside a model has the
// program as its parent. As contexts the two would be siblings and their common time would count twice. Where it is not
// known which of several spans is the parent, none is taken here either.
#include "report/exports/timeline.h"

#include <stdlib.h>

struct open_span {
  uint32_t row;
  bool is_inside_out;           // its parent is inside it (a source named it): nothing moves into it
  int64_t recorded_ns, nest_ns; // up to where its children in the lane cover it, by recorded and by new parents
};
struct nest {
  const struct timeline_run *run;
  uint32_t *parent;
  int64_t *self_ns; // may be NULL
  uint32_t *depth;  // by row: its place among the open spans, once it has been there
  VECTOR(struct open_span) open;
};

static struct open_span *open_of(const struct nest *nest, uint32_t row)
{
  if (row == TIMELINE_NO_ROW || nest->depth[row] >= nest->open.count)
    return NULL;
  struct open_span *span = &nest->open.items[nest->depth[row]];
  return span->row == row ? span : NULL;
}

static bool is_finished_host(const struct timeline_run *run, uint32_t row)
{
  return run->spans.kind[row] != XSP_KIND_EXECUTION && !timeline_is_open(run, row);
}

// The row's parent for contexts. The open spans enclose the row; the recorded parent is further out among them.
static uint32_t parent_for_contexts(const struct nest *nest, uint32_t row)
{
  uint32_t recorded = nest->parent[row];
  bool is_ambiguous = recorded == TIMELINE_NO_ROW && nest->run->derived.basis[row] == BASIS_AMBIGUOUS;
  if (nest->open.count == 0 || is_ambiguous || !is_finished_host(nest->run, row))
    return recorded;
  const struct open_span *around = &nest->open.items[nest->open.count - 1];
  bool is_between = recorded == TIMELINE_NO_ROW || open_of(nest, recorded) != NULL;
  return is_between && !around->is_inside_out && is_finished_host(nest->run, around->row) ? around->row : recorded;
}

static bool is_inside_out(const struct nest *nest, uint32_t row)
{
  uint32_t parent = nest->parent[row];
  const struct store_spans *spans = &nest->run->spans;
  return parent != TIMELINE_NO_ROW && open_of(nest, parent) == NULL &&
         spans->track_id[parent] == spans->track_id[row] && spans->start_ns[parent] >= spans->start_ns[row] &&
         timeline_end(nest->run, parent) <= timeline_end(nest->run, row);
}

// How much of the row no earlier child of the same parent has covered. Children come by start.
static int64_t cover(const struct timeline_run *run, uint32_t row, int64_t *covered_ns)
{
  int64_t from_ns = run->spans.start_ns[row] > *covered_ns ? run->spans.start_ns[row] : *covered_ns;
  int64_t to_ns = timeline_end(run, row);
  if (to_ns <= from_ns)
    return 0;
  *covered_ns = to_ns;
  return to_ns - from_ns;
}

static void nest_row(struct nest *nest, uint32_t row)
{
  const struct timeline_run *run = nest->run;
  int64_t start_ns = run->spans.start_ns[row];
  struct open_span *recorded = open_of(nest, nest->parent[row]);
  nest->parent[row] = parent_for_contexts(nest, row);
  struct open_span *around = open_of(nest, nest->parent[row]);
  if (nest->self_ns != NULL && recorded != NULL && is_finished_host(run, recorded->row))
    nest->self_ns[recorded->row] += cover(run, row, &recorded->recorded_ns);
  if (nest->self_ns != NULL && around != NULL && is_finished_host(run, around->row))
    nest->self_ns[around->row] -= cover(run, row, &around->nest_ns);
  nest->depth[row] = (uint32_t)nest->open.count;
  bool is_odd = is_inside_out(nest, row);
  *vector_add(&nest->open) = (struct open_span){row, is_odd, start_ns, start_ns};
}

void timeline_nest(const struct timeline_run *run, uint32_t *parent, int64_t *self_ns)
{
  struct nest nest = {run, parent, self_ns, memory_new(run->spans.count, sizeof(uint32_t)), {0}};
  for (size_t i = 0; i < run->lane_count; i++) {
    const struct timeline_lane *lane = &run->lanes[i];
    nest.open.count = 0;
    for (size_t at = lane->first; at < lane->first + lane->count; at++) {
      uint32_t row = run->order[at];
      while (nest.open.count > 0 &&
             timeline_drawn_end(run, nest.open.items[nest.open.count - 1].row) <= run->spans.start_ns[row])
        nest.open.count--;
      nest_row(&nest, row);
    }
  }
  free(nest.depth);
  vector_done(&nest.open);
}
