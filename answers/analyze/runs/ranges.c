// SPDX-License-Identifier: Apache-2.0
// Ranges and library calls by name, of the runs with the most levels; of spans of services by service. It needs no model: it answers
// for any program, and for a service whose spans came by OpenTelemetry.
#include "analyze/a_list.h"
#include "analyze/experiments.h"
#include "base/interner.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_START_NS) |     \
   STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_DURATION_NS) |         \
   STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_SELF_NS))

struct named {
  uint32_t name;
  unsigned level;
  const char *service; // NULL: the run is of none
  double total_ns, self_ns;
  VECTOR(double) ns; // of each span
};
struct untracked { // a span on no thread
  int64_t span_id, parent_id, start_ns, end_ns;
  size_t named; // its place; SIZE_MAX: it has no row
};
struct ranges {
  struct question *question;
  uint32_t program;    // string id of the category of processes; 0: there is none
  const char *service; // of the run that is read; NULL: it is of none
  struct interner services;
  struct map places; // by service, name and level
  VECTOR(struct named) items;
  VECTOR(struct untracked) untracked; // of the run that is read
};

static enum status visit(void *context, size_t first_row, const struct store_spans *spans,
                         const struct store_derived *derived, struct error *err)
{
  struct ranges *of = context;
  const size_t service =
      of->service == NULL ? 0 : (size_t)interner_at(&of->services, of->service, strlen(of->service)) + 1;
  for (size_t i = 0; i < spans->count; i++) {
    unsigned level = spans->level[i];
    bool is_program = of->program != 0 && spans->category[i] == of->program;
    struct untracked *untracked = NULL;
    if ((spans->flags[i] & STORE_SPAN_OPEN) != 0)
      continue;
    if (spans->track_id[i] == 0) {
      untracked = vector_add(&of->untracked);
      *untracked = (struct untracked){spans->span_id[i], derived->parent_id[i], spans->start_ns[i],
                                      spans->start_ns[i] + spans->duration_ns[i], SIZE_MAX};
    }
    if ((level != XSP_LEVEL_APPLICATION && level != XSP_LEVEL_LIBRARY) || is_program)
      continue;
    bool is_new = false;
    struct map_key key = {service * XSP_LEVEL_COUNT + level, spans->name[i]};
    uint64_t *place = map_at(&of->places, key, &is_new);
    if (is_new) {
      *place = of->items.count;
      *vector_add(&of->items) = (struct named){.name = spans->name[i], .level = level, .service = of->service};
    }
    struct named *named = &of->items.items[*place];
    if (untracked != NULL)
      untracked->named = *place;
    named->total_ns += (double)spans->duration_ns[i];
    named->self_ns += (double)derived->self_ns[i];
    *vector_add(&named->ns) = (double)spans->duration_ns[i];
  }
  return STATUS_OK;
}

SORTED_BY(by_id, struct untracked, RISING(span_id))
SORTED_BY(by_parent, struct untracked, RISING(parent_id) ?: RISING(start_ns))

// Self times leave out what is nested on a track. Of spans on no thread, as those of services, children are taken off by
// their named parents, what several cover at once only once.
static void take_children_off(struct ranges *of)
{
  size_t count = of->untracked.count;
  struct untracked *children = of->untracked.items;
  struct untracked *parents SCOPED(scoped_free) = memory_new(count + 1, sizeof *parents), *parent = NULL;
  int64_t reach_ns = 0;
  if (count > 0)
    memcpy(parents, children, count * sizeof *parents);
  qsort(parents, count, sizeof *parents, by_id);
  vector_sort(&of->untracked, by_parent);
  for (size_t i = 0; i < count; i++) {
    const struct untracked *child = &children[i];
    if (i == 0 || child->parent_id != children[i - 1].parent_id) {
      size_t place = PARTITION_POINT(k, 0, count, parents[k].span_id < child->parent_id);
      bool has_row = place < count && parents[place].span_id == child->parent_id && parents[place].named != SIZE_MAX;
      parent = has_row ? &parents[place] : NULL;
      reach_ns = parent != NULL ? parent->start_ns : 0;
    }
    if (parent == NULL)
      continue;
    int64_t from_ns = child->start_ns > reach_ns ? child->start_ns : reach_ns;
    int64_t to_ns = child->end_ns < parent->end_ns ? child->end_ns : parent->end_ns;
    if (to_ns > from_ns) {
      of->items.items[parent->named].self_ns -= (double)(to_ns - from_ns);
      reach_ns = to_ns;
    }
  }
  of->untracked.count = 0;
}

static enum status find_service(struct ranges *of, const struct view_run *run, struct error *err)
{
  struct store_note *notes = NULL;
  size_t count = 0;
  XSP_TRY(store_notes(of->question->view->store, run->run->run_id, of->question->scratch, &notes, &count, err));
  of->service = NULL;
  for (size_t i = 0; i < count; i++)
    if (notes[i].run_id == run->run->run_id && strcmp(notes[i].key, "service.name") == 0)
      of->service = notes[i].value;
  return STATUS_OK;
}

// A program's runs at fewer levels are the same work again, as first inferences of fresh processes are; services are each other's
// neighbours, whatever their levels are.
static enum status read_runs(struct ranges *of, struct error *err)
{
  const struct view *view = of->question->view;
  const struct view_run *deepest = NULL;
  for (size_t i = 0; i < view->run_count; i++) {
    struct level_set levels = view->runs[i].run->levels;
    if (view->runs[i].is_in_set && !level_set_is_twin(levels) &&
        (deepest == NULL || level_set_count(levels) > level_set_count(deepest->run->levels)))
      deepest = &view->runs[i];
  }
  for (size_t i = 0; i < view->run_count; i++) {
    const struct view_run *run = &view->runs[i];
    if (!run->is_in_set)
      continue;
    XSP_TRY(find_service(of, run, err));
    bool is_same = deepest == NULL || level_set_equal(run->run->levels, deepest->run->levels);
    if (is_same || of->service != NULL)
      XSP_TRY(store_walk_spans(view->store, run->run->run_id, COLUMNS, visit, of, err));
    take_children_off(of);
    for (size_t j = 0; j < view->set_count; j++)
      for (size_t k = 0; k < view->sets[j].run_count; k++)
        if (view->sets[j].runs[k] == run && (is_same || of->service != NULL))
          question_uses(of->question, &view->sets[j]);
  }
  return STATUS_OK;
}

static double part_ms(struct named *named, const char *which)
{
  return statistic_named(which, named->ns.items, named->ns.count) / 1e6;
}

SORTED_BY(by_time, struct named, FALLING(total_ns))

static void put_rows(struct ranges *of)
{
  struct table_builder *table = &of->question->table;
  struct store *store = of->question->view->store;
  vector_sort(&of->items, by_time);
  for (size_t i = 0; i < of->items.count; i++) {
    struct named *named = &of->items.items[i];
    size_t length = 0;
    const char *name = store_text(store, named->name, &length);
    table_row(table);
    table_put(table, "service",
              cell_text(named->service == NULL ? NULL : arena_format(table->arena, "%s", named->service)));
    table_put_as(table, "name", "range", cell_text(arena_copy(table->arena, name, length)));
    table_put(table, "level", cell_text(level_name(named->level)));
    table_put(table, "count", cell_int((int64_t)named->ns.count));
    table_put(table, "total_ms", cell_real(named->total_ns / 1e6));
    table_put(table, "self_ms", cell_real(named->self_ns / 1e6));
    table_put(table, "mean_ms", cell_real(named->total_ns / (double)named->ns.count / 1e6));
    table_put(table, "p50_ms", cell_real(part_ms(named, "p50")));
    table_put(table, "p95_ms", cell_real(part_ms(named, "p95")));
    table_put(table, "p99_ms", cell_real(part_ms(named, "p99")));
  }
}

static enum status answer(struct question *question, struct error *err)
{
  struct ranges of = {.question = question};
  (void)store_find_string(question->view->store, "program", 7, &of.program);
  enum status status = read_runs(&of, err);
  if (status == STATUS_OK && of.items.count == 0)
    status = question_lacks(question, err, "no range and no call of a library was recorded");
  if (status == STATUS_OK)
    put_rows(&of);
  for (size_t i = 0; i < of.items.count; i++)
    vector_done(&of.items.items[i].ns);
  vector_done(&of.items);
  vector_done(&of.untracked);
  map_done(&of.places);
  interner_done(&of.services);
  return status;
}

const struct analysis analysis_ranges = {.id = "ranges",
                                         .title = "time in named ranges and library calls",
                                         .needs = "ranges",
                                         .main_figure = "total_ms",
                                         .is_of_program = true,
                                         .answer = answer};
