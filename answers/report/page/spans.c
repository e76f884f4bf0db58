// SPDX-License-Identifier: Apache-2.0
// The values of a run's spans by place: what the page's columns hold before they are packed. Called by run.c.
#include "report/page/spans.h"

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

// Only executions have launches, and only operators of the host have forward operators: one column holds both.
static void fill_forward(const struct timeline_run *run, const struct page_rows *rows, const uint32_t *by_id,
                         struct page_spans *spans)
{
  for (size_t i = 0; i < rows->span_count && run->derived.forward_id != NULL; i++) {
    uint32_t forward = timeline_row_of(run, by_id, run->derived.forward_id[rows->source[i]]);
    if (forward != TIMELINE_NO_ROW && run->spans.kind[rows->source[i]] != XSP_KIND_EXECUTION)
      spans->launch[i] = rows->place[forward];
  }
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
}
