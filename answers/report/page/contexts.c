// SPDX-License-Identifier: Apache-2.0
// Calling contexts and totals by name of all spans of a run, for runs whose spans are not all on the page. Called by
// run.c. Pure.
#include "base/saturate.h"
#include "report/page/page.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXTS_MOST 100000u // and as many totals

// Own time by place: the duration without that of spans that nest in it in its lane. Executions count in
// full. `lane` is scratch.
static void fill_own(const struct page_spans *spans, const struct page_rows *rows, uint32_t *lane, int64_t *own_ns)
{
  for (size_t i = 0; i < rows->row_count; i++)
    for (size_t at = rows->rows[i].first; at < rows->rows[i].first + rows->rows[i].count; at++)
      lane[at] = (uint32_t)rows->rows[i].lane;
  memcpy(own_ns, spans->duration_ns, spans->count * sizeof *own_ns);
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t parent = spans->parent[i];
    if (parent != PAGE_NOWHERE && lane[parent] == lane[i] && PAGE_KIND(spans->attributes[i]) != XSP_KIND_EXECUTION)
      own_ns[parent] = saturate_subtract(own_ns[parent], spans->duration_ns[i]);
  }
  for (size_t i = 0; i < spans->count; i++)
    if (own_ns[i] < 0)
      own_ns[i] = 0;
}

// Where every step has a name of its own, no two steps share a context below them. Fills `joined` with the names of
// spans, where steps of a level with several names are "FIRST and others". False: there is no such level.
static bool join_steps(const struct contexts *contexts, const struct page_spans *spans, struct page_names *names,
                       uint32_t *joined)
{
  const struct context *first[XSP_LEVEL_MODEL + 1] = {0};
  uint32_t name[XSP_LEVEL_MODEL + 1];
  bool is_joined[XSP_LEVEL_MODEL + 1] = {0}, any = false;
  for (size_t i = 0; i < contexts->all.count; i++) {
    const struct context *context = &contexts->all.items[i];
    uint8_t level = context->level;
    if (context->parent != CONTEXT_NONE || context->count == 0 || level > XSP_LEVEL_MODEL || is_joined[level])
      continue;
    is_joined[level] = first[level] != NULL;
    if (is_joined[level])
      name[level] = page_names_and_others(names, first[level]->name);
    first[level] = context;
    any |= is_joined[level];
  }
  for (size_t i = 0; i < spans->count; i++) {
    uint8_t level = PAGE_LEVEL(spans->attributes[i]);
    bool is_step = spans->parent[i] == PAGE_NOWHERE && level <= XSP_LEVEL_MODEL;
    joined[i] = is_step && is_joined[level] ? name[level] : spans->name[i];
  }
  return any;
}

// Returns whether steps were joined.
static bool fill_contexts(const struct page_spans *spans, const struct page_rows *rows,
                          const struct context_paths *paths, struct page_names *names, struct contexts *contexts)
{
  int64_t *own_ns SCOPED(scoped_free) = memory_new(spans->count, sizeof *own_ns);
  uint32_t *scratch SCOPED(scoped_free) = memory_new(spans->count, sizeof *scratch);
  uint8_t *level SCOPED(scoped_free) = memory_new(spans->count, sizeof *level);
  fill_own(spans, rows, scratch, own_ns);
  for (size_t i = 0; i < spans->count; i++)
    level[i] = PAGE_LEVEL(spans->attributes[i]);
  struct context_spans input = {.count = spans->count,
                                .parent = spans->parent,
                                .name = spans->name,
                                .level = level,
                                .start_ns = spans->start_ns,
                                .self_ns = own_ns,
                                .path = spans->context,
                                .paths = paths};
  contexts_add(contexts, &input);
  bool are_too_many = contexts->folded + contexts->left_out > 0;
  bool are_joined = are_too_many && join_steps(contexts, spans, names, scratch);
  if (are_joined) {
    contexts_done(contexts);
    *contexts = (struct contexts){.most = CONTEXTS_MOST};
    input.name = scratch;
    contexts_add(contexts, &input);
  }
  return are_joined;
}

// ---- totals
struct total { // of all spans of one name, level and kind
  uint32_t name;
  uint8_t level, kind;
  int64_t count, total_ns, least_ns, most_ns;
};
struct totals {
  VECTOR(struct total) all;
  struct map places;
  int64_t left_out;
};

static void fill_totals(struct totals *totals, const struct page_spans *spans)
{
  for (size_t i = 0; i < spans->count; i++) {
    uint8_t level = PAGE_LEVEL(spans->attributes[i]), kind = PAGE_KIND(spans->attributes[i]);
    const struct map_key key = {spans->name[i], (uint64_t)level << 2 | kind};
    const uint64_t *place = map_find(&totals->places, key);
    if (place == NULL && totals->all.count == CONTEXTS_MOST) {
      totals->left_out++;
      continue;
    }
    if (place == NULL) {
      *map_at(&totals->places, key, NULL) = totals->all.count;
      *vector_add(&totals->all) = (struct total){spans->name[i], level, kind, 0, 0, INT64_MAX, INT64_MIN};
    }
    struct total *total = &totals->all.items[place != NULL ? *place : totals->all.count - 1];
    int64_t time_ns = spans->duration_ns[i];
    total->count++;
    total->total_ns = saturate_add(total->total_ns, time_ns);
    total->least_ns = time_ns < total->least_ns ? time_ns : total->least_ns;
    total->most_ns = time_ns > total->most_ns ? time_ns : total->most_ns;
  }
}

// ---- JSON: an array per field
#define PUT_FIELD(json, key, count, value)                                                                             \
  do {                                                                                                                 \
    json_member_array(json, key);                                                                                      \
    for (size_t i = 0; i < (count); i++)                                                                               \
      json_int(json, value);                                                                                           \
    json_array_end(json);                                                                                              \
  } while (0)

static void put_contexts(struct json_writer *json, const struct contexts *contexts, bool are_joined, int64_t first_ns)
{
  const struct context *all = contexts->all.items;
  size_t count = contexts->all.count;
  PUT_FIELD(json, "parent", count, all[i].parent == CONTEXT_NONE ? -1 : (int64_t)all[i].parent);
  PUT_FIELD(json, "name", count, all[i].name);
  PUT_FIELD(json, "level", count, all[i].level);
  PUT_FIELD(json, "count", count, all[i].count);
  PUT_FIELD(json, "own_ns", count, all[i].self_ns);
  PUT_FIELD(json, "first_ns", count, saturate_subtract(all[i].first_ns, first_ns));
  json_member_int(json, "folded", contexts->folded);
  json_member_int(json, "left_out", contexts->left_out);
  json_member_bool(json, "are_roots_joined", are_joined);
}

static void put_totals(struct json_writer *json, const struct totals *totals)
{
  const struct total *all = totals->all.items;
  size_t count = totals->all.count;
  json_member_object(json, "totals");
  PUT_FIELD(json, "name", count, all[i].name);
  PUT_FIELD(json, "level", count, all[i].level);
  PUT_FIELD(json, "kind", count, all[i].kind);
  PUT_FIELD(json, "count", count, all[i].count);
  PUT_FIELD(json, "total_ns", count, all[i].total_ns);
  PUT_FIELD(json, "least_ns", count, all[i].least_ns);
  PUT_FIELD(json, "most_ns", count, all[i].most_ns);
  json_member_int(json, "left_out", totals->left_out);
  json_object_end(json);
}

// Replaces places of parents by those of parents for contexts. Spans that are not shown take no part.
static void nest(const struct timeline_run *run, const struct page_rows *rows, uint32_t *parent)
{
  uint32_t *by_row SCOPED(scoped_free) = memory_new(run->spans.count, sizeof *by_row);
  memset(by_row, 0xff, run->spans.count * sizeof *by_row);
  for (size_t i = 0; i < rows->span_count; i++)
    if (parent[i] != PAGE_NOWHERE)
      by_row[rows->source[i]] = rows->source[parent[i]];
  timeline_nest(run, by_row, NULL);
  for (size_t i = 0; i < rows->span_count; i++) {
    uint32_t around = by_row[rows->source[i]];
    if (around != TIMELINE_NO_ROW && rows->place[around] != PAGE_NOWHERE)
      parent[i] = rows->place[around];
  }
}

void page_put_folded(const struct stacks *stacks, int64_t run_id, const struct context_paths *paths, struct buf *out)
{
  struct contexts contexts SCOPED(contexts_done) = {.most = CONTEXTS_MOST};
  struct totals totals = {0};
  struct json_writer json;
  stacks_add_folded(stacks, run_id, paths, &contexts);
  json_start(&json, out);
  json_object(&json);
  put_contexts(&json, &contexts, false, 0);
  put_totals(&json, &totals);
  json_object_end(&json);
}

void page_put_contexts(const struct timeline_run *run, const struct page_spans *all, const struct page_rows *rows,
                       const struct context_paths *paths, int64_t first_ns, struct page_names *names, struct buf *out)
{
  struct page_spans nested = *all, *spans = &nested;
  nested.parent = memory_new(all->count, sizeof *nested.parent);
  memcpy(nested.parent, all->parent, all->count * sizeof *nested.parent);
  nest(run, rows, nested.parent);
  struct contexts contexts SCOPED(contexts_done) = {.most = CONTEXTS_MOST};
  struct totals totals = {0};
  struct json_writer json;
  bool are_joined = fill_contexts(spans, rows, paths, names, &contexts);
  fill_totals(&totals, spans);
  free(nested.parent);
  json_start(&json, out);
  json_object(&json);
  put_contexts(&json, &contexts, are_joined, first_ns);
  put_totals(&json, &totals);
  json_object_end(&json);
  vector_done(&totals.all);
  map_done(&totals.places);
}
