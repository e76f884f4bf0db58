// SPDX-License-Identifier: Apache-2.0
// The calling contexts of a run's spans (chains of names by their parents) and its names, both exact, for runs whose spans
// are not all on the page. A context's own time is its spans' time without that of spans that nest in them in their lane;
// executions count in full, launches not at all. Called by page_run.c. Pure.
#include "base/hash.h"
#include "base/saturate.h"
#include "report/page/page.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXTS_MOST 100000u // further ones count in the context around them
#define UNKNOWN (UINT32_MAX - 1)
#define UNDER_WAY (UINT32_MAX - 2)

struct context {
  uint32_t parent, name; // parent PAGE_NOWHERE: none
  uint8_t level, kind;   // kind: of names only
  int64_t count, time_ns, first_ns, least_ns, most_ns;
};
struct contexts { // a table by parent and name; names are contexts of one level and kind, without a parent
  struct context *all;
  uint32_t count, room;
  uint32_t *slots;
  size_t slot_count;
  uint64_t seed;
};

static void contexts_done(struct contexts *contexts)
{
  free(contexts->all);
  free(contexts->slots);
}

static bool contexts_grow(struct contexts *contexts)
{
  if (contexts->count < contexts->room)
    return true;
  uint32_t room = contexts->room == 0 ? 1024 : contexts->room * 2;
  struct context *all = realloc(contexts->all, room * sizeof *all);
  if (all == NULL)
    return false;
  contexts->all = all;
  uint32_t *slots = calloc((size_t)room * 2, sizeof *slots);
  if (slots == NULL)
    return false;
  if (contexts->seed == 0)
    contexts->seed = hash_new_seed();
  contexts->slot_count = (size_t)room * 2;
  for (uint32_t i = 0; i < contexts->count; i++) {
    size_t slot = hash_number((uint64_t)all[i].parent << 32 | all[i].name, contexts->seed) & (contexts->slot_count - 1);
    while (slots[slot] != 0)
      slot = (slot + 1) & (contexts->slot_count - 1);
    slots[slot] = i + 1;
  }
  free(contexts->slots);
  contexts->slots = slots;
  contexts->room = room;
  return true;
}

// The context `key` describes; `*ret` is PAGE_NOWHERE where there is room for no more. False: out of memory.
static bool find(struct contexts *contexts, struct context key, uint32_t *ret)
{
  if (!contexts_grow(contexts))
    return false;
  size_t slot = hash_number((uint64_t)key.parent << 32 | key.name, contexts->seed) & (contexts->slot_count - 1);
  for (; contexts->slots[slot] != 0; slot = (slot + 1) & (contexts->slot_count - 1)) {
    const struct context *one = &contexts->all[contexts->slots[slot] - 1];
    *ret = contexts->slots[slot] - 1;
    if (one->parent == key.parent && one->name == key.name)
      return true;
  }
  *ret = PAGE_NOWHERE;
  if (contexts->count == CONTEXTS_MOST)
    return true;
  key.first_ns = key.least_ns = INT64_MAX;
  key.most_ns = INT64_MIN;
  contexts->all[contexts->count] = key;
  *ret = contexts->count++;
  contexts->slots[slot] = contexts->count;
  return true;
}

static void count_in(struct context *context, int64_t time_ns, int64_t start_ns)
{
  context->count++;
  context->time_ns = saturate_add(context->time_ns, time_ns);
  context->first_ns = start_ns < context->first_ns ? start_ns : context->first_ns;
  context->least_ns = time_ns < context->least_ns ? time_ns : context->least_ns;
  context->most_ns = time_ns > context->most_ns ? time_ns : context->most_ns;
}

// Own time by place, in the order of rows: `lane` is scratch.
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
    if (own_ns[i] < 0 || PAGE_KIND(spans->attributes[i]) == XSP_KIND_LAUNCH)
      own_ns[i] = 0;
}

struct tree {
  struct contexts contexts;
  uint32_t *of, *chain; // by place: its context; scratch
  int64_t *own_ns;
  int64_t folded;   // spans that count in a context around theirs
  int64_t left_out; // that count in none
  // Where every step has a name of its own, contexts below them never meet: then steps share one, by level.
  bool are_roots_joined;
  uint32_t root_names[XSP_LEVEL_MODEL + 1]; // number + 1; 0: each its own
};

// The name that a span's context has.
static uint32_t name_of(const struct tree *tree, const struct page_spans *spans, uint32_t span, uint32_t around)
{
  uint8_t level = PAGE_LEVEL(spans->attributes[span]);
  bool is_step = around == PAGE_NOWHERE && level <= XSP_LEVEL_MODEL;
  return is_step && tree->root_names[level] != 0 ? tree->root_names[level] - 1 : spans->name[span];
}

// The context of a span and of all around it that have none yet.
static bool place_chain(struct tree *tree, const struct page_spans *spans, uint32_t place)
{
  size_t depth = 0;
  uint32_t at = place;
  while (at != PAGE_NOWHERE && tree->of[at] == UNKNOWN) {
    tree->of[at] = UNDER_WAY;
    tree->chain[depth++] = at;
    at = spans->parent[at];
  }
  uint32_t around = at == PAGE_NOWHERE || tree->of[at] == UNDER_WAY ? PAGE_NOWHERE : tree->of[at];
  while (depth > 0) {
    uint32_t span = tree->chain[--depth], found = 0;
    const struct context key = {
        .parent = around, .name = name_of(tree, spans, span, around), .level = PAGE_LEVEL(spans->attributes[span])};
    if (!find(&tree->contexts, key, &found))
      return false;
    bool is_folded = found == PAGE_NOWHERE;
    tree->folded += is_folded && around != PAGE_NOWHERE;
    tree->left_out += is_folded && around == PAGE_NOWHERE;
    around = tree->of[span] = is_folded ? around : found;
  }
  return true;
}

static bool fill_tree(struct tree *tree, const struct page_spans *spans)
{
  for (size_t i = 0; i < spans->count; i++)
    tree->of[i] = UNKNOWN;
  for (uint32_t i = 0; i < spans->count; i++) {
    if (tree->of[i] == UNKNOWN && !place_chain(tree, spans, i))
      return false;
    if (tree->of[i] != PAGE_NOWHERE)
      count_in(&tree->contexts.all[tree->of[i]], tree->own_ns[i], spans->start_ns[i]);
  }
  return true;
}

// Which steps are to share a context: those of levels that have several names of them.
static bool join_roots(struct tree *tree, struct page_names *names)
{
  const struct context *first[XSP_LEVEL_MODEL + 1] = {0};
  for (uint32_t i = 0; i < tree->contexts.count; i++) {
    const struct context *context = &tree->contexts.all[i];
    if (context->parent != PAGE_NOWHERE || context->level > XSP_LEVEL_MODEL)
      continue;
    uint32_t *name = &tree->root_names[context->level];
    if (first[context->level] == NULL) {
      first[context->level] = context;
    } else if (*name == 0) {
      if (!page_names_and_others(names, first[context->level]->name, name))
        return false;
      ++*name;
      tree->are_roots_joined = true;
    }
  }
  return true;
}

// Again with steps joined, where there are too many contexts otherwise.
static bool fill_tree_in_bounds(struct tree *tree, const struct page_spans *spans, struct page_names *names)
{
  if (!fill_tree(tree, spans))
    return false;
  if (tree->folded + tree->left_out == 0)
    return true;
  if (!join_roots(tree, names))
    return false;
  if (!tree->are_roots_joined)
    return true;
  contexts_done(&tree->contexts);
  tree->contexts = (struct contexts){0};
  tree->folded = tree->left_out = 0;
  return fill_tree(tree, spans);
}

static bool fill_names(struct contexts *names, const struct page_spans *spans, int64_t *ret_left_out)
{
  for (size_t i = 0; i < spans->count; i++) {
    uint8_t level = PAGE_LEVEL(spans->attributes[i]), kind = PAGE_KIND(spans->attributes[i]);
    const struct context key = {
        .parent = (uint32_t)(level << 2 | kind), .name = spans->name[i], .level = level, .kind = kind};
    uint32_t found = 0;
    if (!find(names, key, &found))
      return false;
    if (found != PAGE_NOWHERE)
      count_in(&names->all[found], spans->duration_ns[i], spans->start_ns[i]);
    else
      ++*ret_left_out;
  }
  return true;
}

// ---- JSON: an array a field
enum field { PARENT, NAME, LEVEL, KIND, COUNT, TIME, FIRST, LEAST, MOST };
static int64_t field_of(const struct context *context, enum field field, int64_t first_ns)
{
  switch (field) {
  case PARENT:
    return context->parent == PAGE_NOWHERE ? -1 : (int64_t)context->parent;
  case NAME:
    return context->name;
  case LEVEL:
    return context->level;
  case KIND:
    return context->kind;
  case COUNT:
    return context->count;
  case TIME:
    return context->time_ns;
  case FIRST:
    return context->count > 0 ? saturate_subtract(context->first_ns, first_ns) : 0;
  case LEAST:
    return context->least_ns;
  default:
    return context->most_ns;
  }
}

static void put_field(struct json_writer *json, const char *key, const struct contexts *contexts, enum field field,
                      int64_t first_ns)
{
  json_key(json, key);
  json_array(json);
  for (uint32_t i = 0; i < contexts->count; i++)
    json_int(json, field_of(&contexts->all[i], field, first_ns));
  json_array_end(json);
}

static void put_tree(struct json_writer *json, const struct tree *tree, int64_t first_ns)
{
  put_field(json, "parent", &tree->contexts, PARENT, first_ns);
  put_field(json, "name", &tree->contexts, NAME, first_ns);
  put_field(json, "level", &tree->contexts, LEVEL, first_ns);
  put_field(json, "count", &tree->contexts, COUNT, first_ns);
  put_field(json, "own_ns", &tree->contexts, TIME, first_ns);
  put_field(json, "first_ns", &tree->contexts, FIRST, first_ns);
  json_key(json, "folded");
  json_int(json, tree->folded);
  json_key(json, "left_out");
  json_int(json, tree->left_out);
  json_key(json, "are_roots_joined");
  json_bool(json, tree->are_roots_joined);
}

static void put_names(struct json_writer *json, const struct contexts *names, int64_t left_out)
{
  json_key(json, "totals");
  json_object(json);
  put_field(json, "name", names, NAME, 0);
  put_field(json, "level", names, LEVEL, 0);
  put_field(json, "kind", names, KIND, 0);
  put_field(json, "count", names, COUNT, 0);
  put_field(json, "total_ns", names, TIME, 0);
  put_field(json, "least_ns", names, LEAST, 0);
  put_field(json, "most_ns", names, MOST, 0);
  json_key(json, "left_out");
  json_int(json, left_out);
  json_object_end(json);
}

enum status page_put_contexts(const struct page_spans *spans, const struct page_rows *rows, int64_t first_ns,
                              struct page_names *names, struct buf *out, struct error *err)
{
  struct tree tree = {.of = malloc((spans->count + 1) * sizeof(uint32_t)),
                      .chain = malloc((spans->count + 1) * sizeof(uint32_t)),
                      .own_ns = malloc((spans->count + 1) * sizeof(int64_t))};
  struct contexts totals = {0};
  int64_t names_left_out = 0;
  bool is_done = tree.of != NULL && tree.chain != NULL && tree.own_ns != NULL;
  if (is_done) {
    fill_own(spans, rows, tree.chain, tree.own_ns);
    is_done = fill_tree_in_bounds(&tree, spans, names) && fill_names(&totals, spans, &names_left_out);
  }
  if (is_done) {
    struct json_writer json;
    json_start(&json, out);
    json_object(&json);
    put_tree(&json, &tree, first_ns);
    put_names(&json, &totals, names_left_out);
    json_object_end(&json);
  }
  contexts_done(&totals);
  contexts_done(&tree.contexts);
  free(tree.of);
  free(tree.chain);
  free(tree.own_ns);
  return is_done && !out->failed ? STATUS_OK : page_no_memory(err);
}
