// SPDX-License-Identifier: Apache-2.0
// Contexts from spans; see contexts.h. Called by the page and the exports. Pure, no recursion.
#include "correlate/contexts.h"

#include "base/saturate.h"

#include <string.h>

#define UNKNOWN (UINT32_MAX - 1)
#define UNDER_WAY (UINT32_MAX - 2) // of a chain that is being placed: found again, it is a circle

// CONTEXT_NONE: there is room for no more.
static uint32_t child_of(struct contexts *contexts, uint32_t parent, uint32_t name, uint8_t level)
{
  const struct map_key key = {parent, name};
  const uint64_t *known = map_find(&contexts->ids, key);
  if (known != NULL)
    return (uint32_t)*known;
  if (contexts->all.count >= contexts->most)
    return CONTEXT_NONE;
  uint32_t id = (uint32_t)contexts->all.count;
  *map_at(&contexts->ids, key, NULL) = id;
  *vector_add(&contexts->all) = (struct context){.parent = parent, .name = name, .level = level, .first_ns = INT64_MAX};
  return id;
}

struct placing {
  struct contexts *contexts;
  const struct context_spans *spans;
  uint32_t *of;           // by place: the span's context
  uint32_t *caller;       // by place: the context that calls the outermost frame of paths in the span; NULL: no paths
  VECTOR(uint32_t) chain; // places, from the bottom up
  VECTOR(uint32_t) path;  // numbers of paths, from the bottom up
};

// The context of a call path whose outermost frame `caller` calls; of as much of it as there is room for.
static uint32_t place_path(struct placing *placing, uint32_t caller, uint32_t path)
{
  struct contexts *contexts = placing->contexts;
  const struct context_paths *paths = placing->spans->paths;
  uint32_t around = caller;
  for (uint32_t at = path; at != 0; at = paths->caller[at - 1]) {
    const uint64_t *known = map_find(&contexts->path_ids, (struct map_key){caller, at});
    if (known != NULL) {
      around = (uint32_t)*known;
      break;
    }
    *vector_add(&placing->path) = at;
  }
  while (placing->path.count > 0) {
    uint32_t at = placing->path.items[--placing->path.count];
    uint32_t id = child_of(contexts, around, paths->name[at - 1], paths->level[at - 1]);
    around = id != CONTEXT_NONE ? id : around;
    *map_at(&contexts->path_ids, (struct map_key){caller, at}, NULL) = around;
  }
  return around;
}

// Places a span within a context, and sets which one calls the paths in it.
static uint32_t place_span(struct placing *placing, uint32_t span, uint32_t around, uint32_t *caller)
{
  const struct context_spans *spans = placing->spans;
  struct contexts *contexts = placing->contexts;
  bool is_in_path = around != *caller; // then a path's context lies between
  uint32_t id = CONTEXT_NONE;
  if (placing->caller != NULL && spans->path[span] != 0) {
    id = place_path(placing, *caller, spans->path[span]);
    id = id == *caller ? CONTEXT_NONE : id;
    is_in_path = true;
    if (id != CONTEXT_NONE && spans->level != NULL)
      contexts->all.items[id].level = spans->level[span];
  } else {
    id = child_of(contexts, around, spans->name[span], spans->level != NULL ? spans->level[span] : 0);
  }
  contexts->folded += id == CONTEXT_NONE && around != CONTEXT_NONE;
  contexts->left_out += id == CONTEXT_NONE && around == CONTEXT_NONE;
  around = id != CONTEXT_NONE ? id : around;
  *caller = is_in_path ? *caller : around;
  return around;
}

// Finds the contexts of a span and of all spans above it that have none yet.
static void place_chain(struct placing *placing, uint32_t place)
{
  const struct context_spans *spans = placing->spans;
  uint32_t at = place;
  for (; at != CONTEXT_NONE && placing->of[at] == UNKNOWN; at = spans->parent[at]) {
    placing->of[at] = UNDER_WAY;
    *vector_add(&placing->chain) = at;
  }
  bool is_top = at == CONTEXT_NONE || placing->of[at] == UNDER_WAY;
  uint32_t around = is_top ? CONTEXT_NONE : placing->of[at];
  uint32_t caller = is_top || placing->caller == NULL ? around : placing->caller[at];
  while (placing->chain.count > 0) {
    uint32_t span = placing->chain.items[--placing->chain.count];
    around = placing->of[span] = place_span(placing, span, around, &caller);
    if (placing->caller != NULL)
      placing->caller[span] = caller;
  }
}

static void count_span(struct context *context, const struct context_spans *spans, uint32_t place)
{
  int64_t start_ns = spans->start_ns[place];
  context->first = context->count > 0 ? context->first : place;
  context->count += spans->stands_for != NULL ? spans->stands_for[place] : 1;
  context->self_ns = saturate_add(context->self_ns, spans->self_ns[place]);
  context->first_ns = start_ns < context->first_ns ? start_ns : context->first_ns;
}

void contexts_add(struct contexts *contexts, const struct context_spans *spans)
{
  struct placing placing = {.contexts = contexts, .spans = spans, .of = memory_new(spans->count, sizeof(uint32_t))};
  if (spans->path != NULL)
    placing.caller = memory_new(spans->count, sizeof(uint32_t));
  for (size_t i = 0; i < spans->count; i++)
    placing.of[i] = UNKNOWN;
  for (uint32_t i = 0; i < spans->count; i++) {
    if (placing.of[i] == UNKNOWN)
      place_chain(&placing, i);
    if (placing.of[i] != CONTEXT_NONE)
      count_span(&contexts->all.items[placing.of[i]], spans, i);
  }
  if (spans->ret_context != NULL && spans->count > 0)
    memcpy(spans->ret_context, placing.of, spans->count * sizeof *placing.of);
  free(placing.of);
  free(placing.caller);
  vector_done(&placing.chain);
  vector_done(&placing.path);
  struct context *all = contexts->all.items;
  for (size_t id = 0; id < contexts->all.count; id++)
    all[id].total_ns = all[id].self_ns;
  for (size_t id = contexts->all.count; id-- > 0;)
    if (all[id].parent != CONTEXT_NONE)
      all[all[id].parent].total_ns = saturate_add(all[all[id].parent].total_ns, all[id].total_ns);
}

void contexts_done(struct contexts *contexts)
{
  vector_done(&contexts->all);
  map_done(&contexts->ids);
  map_done(&contexts->path_ids);
}
