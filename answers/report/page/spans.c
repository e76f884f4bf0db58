// SPDX-License-Identifier: Apache-2.0
// The values of a run's spans by place: what the page's columns hold before they are packed. Called by run.c.
#include "report/page/spans.h"

#include "base/sorted.h"

#include <string.h>

void page_spans_alloc(struct arena *arena, size_t count, bool is_merged, struct page_spans *ret_spans)
{
  *ret_spans = (struct page_spans){
      .count = count,
      .start_ns = arena_alloc_array(arena, count, sizeof(int64_t)),
      .duration_ns = arena_alloc_array(arena, count, sizeof(int64_t)),
      .id = arena_alloc_array(arena, count, sizeof(int64_t)),
      .name = arena_alloc_array(arena, count, sizeof(uint32_t)),
      .parent = arena_alloc_array(arena, count, sizeof(uint32_t)),
      .launch = arena_alloc_array(arena, count, sizeof(uint32_t)),
      .attributes = arena_alloc_array(arena, count, 1),
      .merged = is_merged ? arena_alloc_array(arena, count, sizeof(uint32_t)) : NULL,
      .busy_ns = is_merged ? arena_alloc_array(arena, count, sizeof(int64_t)) : NULL,
  };
}

static void fill_launches(const struct timeline_run *run, const struct page_rows *rows, struct page_spans *spans)
{
  memset(spans->launch, 0xff, spans->count * sizeof *spans->launch);
  for (size_t i = 0; i < run->execution_count; i++) {
    uint32_t execution = run->execution_order[i];
    if (rows->place[execution] != PAGE_NOWHERE)
      spans->launch[rows->place[execution]] = rows->place[run->launch_of[execution]];
  }
}

// Only executions have launches, only operators of the host forward operators, and only collectives each other: one column holds all.
static void fill_forward(const struct timeline_run *run, const struct page_rows *rows, const uint32_t *by_id,
                         struct page_spans *spans)
{
  for (size_t i = 0; i < rows->span_count && run->derived.forward_id != NULL; i++) {
    uint32_t forward = timeline_row_of(run, by_id, run->derived.forward_id[rows->source[i]]);
    if (forward != TIMELINE_NO_ROW && run->spans.kind[rows->source[i]] != XSP_KIND_EXECUTION)
      spans->launch[i] = rows->place[forward];
  }
}

// ---- the same collective on several ranks
struct part {
  uint32_t name, group; // string ids; group 0: not recorded
  int64_t sequence, rank;
  uint32_t place;
};
typedef VECTOR(struct part) part_list;

SORTED_BY(compare_parts, struct part,
          RISING(group) ?: RISING(name) ?: RISING(sequence) ?: RISING(rank) ?: RISING(place))

static bool are_one(const struct part *a, const struct part *b)
{
  return a->group == b->group && a->name == b->name && a->sequence == b->sequence;
}

static part_list list_parts(const struct timeline_run *run, const struct page_rows *rows, struct store *store)
{
  part_list parts = {0};
  uint32_t collective, group = 0, sequence;
  if (!store_find_string(store, "collective", 10, &collective) || !store_find_string(store, "sequence", 8, &sequence))
    return parts;
  (void)store_find_string(store, "group", 5, &group);
  for (const struct page_row *row = rows->rows; row < rows->rows + rows->row_count; row++)
    for (size_t place = row->first; place < row->first + row->count; place++) {
      uint32_t source = rows->source[place];
      if (run->spans.category[source] != collective)
        continue;
      struct part part = {.name = run->spans.name[source],
                          .rank = run->tracks[run->lanes[row->lane].track].track->rank.rank,
                          .place = (uint32_t)place};
      const struct timeline_range tags = timeline_tags(run, run->spans.span_id[source]);
      for (size_t i = tags.first; i < tags.end; i++)
        if (run->tags[i].key == group && run->tags[i].type == STORE_TEXT)
          part.group = run->tags[i].value.string;
        else if (run->tags[i].key == sequence && run->tags[i].type == STORE_INT)
          part.sequence = run->tags[i].value.integer;
      if (part.sequence > 0)
        *vector_add(&parts) = part;
    }
  return parts;
}

// Each leads to that of the lowest rank, which leads to none. Where a rank comes twice, as in two jobs, none does.
static void fill_collectives(const struct timeline_run *run, const struct page_rows *rows, struct store *store,
                             struct page_spans *spans)
{
  part_list parts = list_parts(run, rows, store);
  vector_sort(&parts, compare_parts);
  for (size_t first = 0, end; first < parts.count; first = end) {
    bool is_twice = false;
    for (end = first + 1; end < parts.count && are_one(&parts.items[first], &parts.items[end]); end++)
      is_twice |= parts.items[end].rank == parts.items[end - 1].rank;
    for (size_t i = first + 1; i < end && !is_twice; i++)
      spans->launch[parts.items[i].place] = parts.items[first].place;
  }
  vector_done(&parts);
}

static const uint32_t *contexts_of(const struct timeline_run *run, const struct page_rows *rows, struct arena *arena)
{
  uint32_t *contexts = arena_alloc_array(arena, rows->span_count, sizeof *contexts), any = 0;
  for (size_t i = 0; i < rows->span_count; i++)
    any |= contexts[i] = run->spans.context_id[rows->source[i]];
  return any == 0 ? NULL : contexts;
}

void page_spans_fill(const struct timeline_run *run, const struct page_rows *rows, struct store *store,
                     struct page_names *names, struct arena *arena, struct page_spans *ret_spans)
{
  uint32_t *by_id = timeline_order_by_id(run, arena);
  page_spans_alloc(arena, rows->span_count, false, ret_spans);
  for (size_t i = 0; i < rows->span_count; i++) {
    uint32_t source = rows->source[i];
    uint32_t parent = timeline_row_of(run, by_id, run->derived.parent_id[source]);
    ret_spans->start_ns[i] = run->spans.start_ns[source];
    ret_spans->duration_ns[i] = run->spans.duration_ns[source];
    ret_spans->id[i] = run->spans.span_id[source];
    ret_spans->name[i] = page_names_string(names, store, run->spans.name[source]);
    ret_spans->parent[i] = parent != TIMELINE_NO_ROW ? rows->place[parent] : PAGE_NOWHERE;
    ret_spans->attributes[i] =
        (uint8_t)(run->spans.level[source] | run->spans.kind[source] << 3 | run->derived.basis[source] << 5);
  }
  ret_spans->context = contexts_of(run, rows, arena);
  fill_launches(run, rows, ret_spans);
  fill_forward(run, rows, by_id, ret_spans);
  fill_collectives(run, rows, store, ret_spans);
}
