// SPDX-License-Identifier: Apache-2.0
// Finds the runs that call each other and joins them (join.h). Called by the reader of journals between its two passes.
#include "importers/otlp/join_private.h"

#include "base/map.h"
#include "base/memory.h"

#include <stdlib.h>

struct surveyed {
  uint64_t number, parent;
  int64_t start_ns, end_ns;
  uint32_t trace, run, name;
  bool may_outlive;
};
struct run_pair { // or one run twice
  uint32_t a, b;
};
struct otlp_join {
  VECTOR(struct surveyed) spans;
  struct map by_number; // its place in `spans`, + 1
  struct interner traces, names;
  VECTOR(struct run_pair) shared;  // both have a span: it came in two files
  VECTOR(struct run_pair) clashes; // an id is two spans
  VECTOR(struct otlp_join_call) calls;
  struct map callers; // ids of parents in other runs
  uint32_t *group;    // by run: another run of its group, or itself
  bool *is_left_out;  // by run: of an experiment that takes part with another run
};

struct otlp_join *import_otlp_join_new(void)
{
  return memory_new(1, sizeof(struct otlp_join));
}

static void forget_spans(struct otlp_join *join)
{
  vector_done(&join->spans);
  vector_done(&join->shared);
  vector_done(&join->clashes);
  vector_done(&join->calls);
  map_done(&join->by_number);
  interner_done(&join->traces);
  interner_done(&join->names);
  free(join->group);
  free(join->is_left_out);
  join->group = NULL;
  join->is_left_out = NULL;
}

void import_otlp_join_free(struct otlp_join *join)
{
  if (join == NULL)
    return;
  forget_spans(join);
  map_done(&join->callers);
  free(join);
}

// What came twice, perhaps once with its times moved along a drift.
static bool is_same(const struct surveyed *a, const struct surveyed *b)
{
  int64_t length = a->end_ns - a->start_ns, difference = length - (b->end_ns - b->start_ns);
  return a->trace == b->trace && a->name == b->name && llabs(difference) <= length / 1000 + 1;
}

// Neighbours mostly share the same two runs.
#define ADD_PAIR(pairs, first, second)                                                                                 \
  do {                                                                                                                 \
    const size_t last_ = (pairs)->count;                                                                               \
    if (last_ == 0 || (pairs)->items[last_ - 1].a != (first) || (pairs)->items[last_ - 1].b != (second))               \
      *vector_add(pairs) = (struct run_pair){(first), (second)};                                                       \
  } while (0)

uint32_t import_otlp_join_trace(struct otlp_join *join, struct slice text)
{
  return interner_at(&join->traces, text.data, text.length);
}

void import_otlp_join_span(struct otlp_join *join, const struct otlp_run *run, const struct otlp_join_span *span)
{
  bool is_new;
  const struct surveyed surveyed = {.number = span->number,
                                    .parent = span->parent,
                                    .start_ns = span->start_ns,
                                    .end_ns = span->end_ns,
                                    .trace = span->trace,
                                    .name = interner_at(&join->names, span->name.data, span->name.length),
                                    .run = run->number,
                                    .may_outlive = span->may_outlive};
  uint64_t *place = map_at(&join->by_number, map_number(span->number), &is_new);
  if (is_new) {
    *vector_add(&join->spans) = surveyed;
    *place = join->spans.count;
    return;
  }
  const struct surveyed *first = &join->spans.items[*place - 1];
  if (!is_same(first, &surveyed))
    ADD_PAIR(&join->clashes, first->run, surveyed.run);
  else if (first->run != surveyed.run)
    ADD_PAIR(&join->shared, first->run, surveyed.run);
}

bool import_otlp_join_is_caller(const struct otlp_join *join, uint64_t number)
{
  return map_find(&join->callers, map_number(number)) != NULL;
}

// ---- which runs ------------------------------------------------------------------------------------------------------
static void find_calls(struct otlp_join *join)
{
  for (size_t i = 0; i < join->spans.count; i++) {
    const struct surveyed *child = &join->spans.items[i];
    const uint64_t *place = child->parent != 0 ? map_find(&join->by_number, map_number(child->parent)) : NULL;
    const struct surveyed *parent = place != NULL ? &join->spans.items[*place - 1] : NULL;
    if (parent != NULL && parent->run != child->run && parent->trace == child->trace)
      *vector_add(&join->calls) = (struct otlp_join_call){.parent_id = parent->number,
                                                          .parent_run = parent->run,
                                                          .child_run = child->run,
                                                          .parent_start_ns = parent->start_ns,
                                                          .parent_end_ns = parent->end_ns,
                                                          .child_start_ns = child->start_ns,
                                                          .child_end_ns = child->end_ns,
                                                          .may_outlive = child->may_outlive};
  }
}

// Of the runs of an experiment that take part, all but the one with most levels (of equal ones the first) are left out.
static void leave_out_alternatives(struct otlp_join *join, const struct otlp_model *model)
{
  bool *takes_part SCOPED(scoped_free) = memory_new(model->all_runs.count + 1, sizeof *takes_part);
  for (size_t i = 0; i < join->calls.count; i++)
    takes_part[join->calls.items[i].parent_run] = takes_part[join->calls.items[i].child_run] = true;
  for (size_t i = 0; i < model->all_runs.count; i++)
    for (size_t j = 0; j < model->all_runs.count && takes_part[i] && !join->is_left_out[i]; j++) {
      const struct otlp_run *run = model->all_runs.items[i], *other = model->all_runs.items[j];
      if (i == j || !takes_part[j] || run->experiment != other->experiment || !run->is_numbered || !other->is_numbered)
        continue;
      int difference = __builtin_popcount(other->row.levels.mask) - __builtin_popcount(run->row.levels.mask);
      join->is_left_out[i] = difference > 0 || (difference == 0 && j < i);
    }
}

static uint32_t group_of(const struct otlp_join *join, uint32_t run)
{
  while (join->group[run] != run)
    run = join->group[run] = join->group[join->group[run]];
  return run;
}

static void make_groups(struct otlp_join *join, size_t run_count)
{
  for (uint32_t i = 0; i < run_count; i++)
    join->group[i] = i;
  for (size_t i = 0; i < join->shared.count; i++)
    join->group[group_of(join, join->shared.items[i].b)] = group_of(join, join->shared.items[i].a);
  for (size_t i = 0; i < join->calls.count; i++) {
    const struct otlp_join_call *call = &join->calls.items[i];
    if (!join->is_left_out[call->parent_run] && !join->is_left_out[call->child_run])
      join->group[group_of(join, call->child_run)] = group_of(join, call->parent_run);
  }
  bool *is_bad = memory_new(run_count + 1, sizeof *is_bad);
  for (size_t i = 0; i < join->clashes.count; i++) {
    uint32_t group = group_of(join, join->clashes.items[i].a);
    is_bad[group] |= group == group_of(join, join->clashes.items[i].b);
  }
  for (uint32_t i = 0; i < run_count; i++) // each points to its group itself, before groups are taken apart
    join->group[i] = group_of(join, i);
  for (uint32_t i = 0; i < run_count; i++)
    if (is_bad[join->group[i]] && join->group[i] != i)
      join->group[i] = i;
  free(is_bad);
  size_t kept = 0;
  for (size_t i = 0; i < join->calls.count; i++)
    if (join->group[join->calls.items[i].parent_run] == join->group[join->calls.items[i].child_run])
      join->calls.items[kept++] = join->calls.items[i];
  join->calls.count = kept;
}

// The run that a group goes to: that of an experiment with several runs, whose own analyses need it; else one that no other
// calls; else the first.
static uint32_t *choose_hosts(const struct otlp_join *join, const struct otlp_model *model)
{
  size_t count = model->all_runs.count;
  uint32_t *host = memory_new(count + 1, sizeof *host);
  unsigned *rank SCOPED(scoped_free) = memory_new(count + 1, sizeof *rank);
  unsigned *best SCOPED(scoped_free) = memory_new(count + 1, sizeof *best);
  for (size_t i = 0; i < count; i++)
    rank[i] = 2;
  for (size_t i = 0; i < join->calls.count; i++)
    rank[join->calls.items[i].child_run] = 1;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < count && join->is_left_out[i]; j++)
      if (!join->is_left_out[j] && model->all_runs.items[j]->is_numbered &&
          model->all_runs.items[j]->experiment == model->all_runs.items[i]->experiment)
        rank[j] = 3;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t group = join->group[i];
    if (rank[i] > best[group]) {
      best[group] = rank[i];
      host[group] = i;
    }
  }
  return host;
}

static void join_into(struct otlp_run *run, struct otlp_run *host)
{
  run->joined = host;
  host->ids_are_unique = true; // import_otlp_join_span looked
  host->span_base = 0;
  host->has_joined = true;
  host->row.levels.mask |= run->row.levels.mask;
  host->row.levels.metrics |= run->row.levels.metrics;
  host->row.dropped_count += run->row.dropped_count;
  host->row.misused_count += run->row.misused_count;
}

void import_otlp_join_runs(struct otlp_join *join, struct otlp_model *model)
{
  size_t count = model->all_runs.count;
  join->group = memory_new(count + 1, sizeof *join->group);
  join->is_left_out = memory_new(count + 1, sizeof *join->is_left_out);
  find_calls(join);
  leave_out_alternatives(join, model);
  make_groups(join, count);
  uint32_t *host = choose_hosts(join, model);
  for (size_t i = 0; i < count; i++)
    if (host[join->group[i]] != i)
      join_into(model->all_runs.items[i], model->all_runs.items[host[join->group[i]]]);
  for (size_t i = 0; i < join->calls.count; i++)
    *map_at(&join->callers, map_number(join->calls.items[i].parent_id), NULL) = 1;
  for (size_t i = 0; i < model->resources.count; i++)
    if (model->resources.items[i] != NULL)
      model->resources.items[i]->run = model->resources.items[i]->source->joined;
  import_otlp_join_clocks(model, join->calls.items, join->calls.count);
  free(host);
  forget_spans(join);
}
