// SPDX-License-Identifier: Apache-2.0
// Contexts from spans; see contexts.h. Called by the page and the exports. Pure, no recursion.
#include "correlate/contexts.h"

#include "base/saturate.h"

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
  VECTOR(uint32_t) chain; // places, from the bottom up
};

// Finds the contexts of a span and of all spans above it that have none yet.
static void place_chain(struct placing *placing, uint32_t place)
{
  const struct context_spans *spans = placing->spans;
  uint32_t at = place;
  for (; at != CONTEXT_NONE && placing->of[at] == UNKNOWN; at = spans->parent[at]) {
    placing->of[at] = UNDER_WAY;
    *vector_add(&placing->chain) = at;
  }
  uint32_t around = at == CONTEXT_NONE || placing->of[at] == UNDER_WAY ? CONTEXT_NONE : placing->of[at];
  while (placing->chain.count > 0) {
    uint32_t span = placing->chain.items[--placing->chain.count];
    uint32_t id = child_of(placing->contexts, around, spans->name[span], spans->level != NULL ? spans->level[span] : 0);
    placing->contexts->folded += id == CONTEXT_NONE && around != CONTEXT_NONE;
    placing->contexts->left_out += id == CONTEXT_NONE && around == CONTEXT_NONE;
    around = placing->of[span] = id != CONTEXT_NONE ? id : around;
  }
}

static void count_span(struct context *context, const struct context_spans *spans, uint32_t place)
{
  int64_t start_ns = spans->start_ns[place];
  context->count++;
  context->self_ns = saturate_add(context->self_ns, spans->self_ns[place]);
  context->first_ns = start_ns < context->first_ns ? start_ns : context->first_ns;
}

void contexts_add(struct contexts *contexts, const struct context_spans *spans)
{
  struct placing placing = {contexts, spans, memory_new(spans->count, sizeof(uint32_t)), {0}};
  for (size_t i = 0; i < spans->count; i++)
    placing.of[i] = UNKNOWN;
  for (uint32_t i = 0; i < spans->count; i++) {
    if (placing.of[i] == UNKNOWN)
      place_chain(&placing, i);
    if (placing.of[i] != CONTEXT_NONE)
      count_span(&contexts->all.items[placing.of[i]], spans, i);
  }
  free(placing.of);
  vector_done(&placing.chain);
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
}
