// SPDX-License-Identifier: Apache-2.0
// Kinds of layers, from their categories and names, and from what they are in. A wrapper in which nothing was recorded is a layer.
// Called by rows.c.
#include "analyze/layers/kinds.h"

#include "format/range.h"

#include <string.h>

#define LOADER "enumerate(DataLoader)#" // PyTorch's range, which torch.profiler records among layers

struct words { // string ids of categories and tracers; 0: no span has it
  uint32_t wrapper, input, pytorch;
  struct map of_name; // by string id: enum layer_kind
};

static uint32_t find_word(struct store *store, const char *word)
{
  uint32_t id;
  return store_find_string(store, word, strlen(word), &id) ? id : 0;
}

static enum layer_kind kind_of_name(struct store *store, struct words *words, uint32_t name)
{
  bool is_new;
  uint64_t *kind = map_at(&words->of_name, map_number(name), &is_new);
  if (!is_new)
    return (enum layer_kind) * kind;
  size_t length;
  const char *text = store_text(store, name, &length);
  *kind = range_is_wrapper(text, length)                  ? LAYER_WRAPS
          : strncmp(text, LOADER, sizeof LOADER - 1) == 0 ? LAYER_LOADS
                                                          : LAYER_COMPUTES;
  return (enum layer_kind) * kind;
}

static enum layer_kind kind_of(const struct run_columns *columns, struct words *words, size_t row)
{
  uint32_t category = columns->spans.category[row];
  if (category != 0 && category == words->wrapper)
    return LAYER_WRAPS;
  // Other frameworks have layers of this category that are a graph's placeholders.
  if (category != 0 && category == words->input && words->pytorch != 0 && columns->spans.tracer[row] == words->pytorch)
    return LAYER_LOADS;
  return kind_of_name(columns->store, words, columns->spans.name[row]);
}

// What is in a loader loads. Rows above come first or later: each climbs to one that is known.
static void spread_loading(const struct run_columns *columns, const uint32_t *above, uint8_t *kind)
{
  for (size_t i = 0; i < columns->spans.count; i++) {
    size_t climbed = 0;
    uint32_t at = columns->spans.level[i] == XSP_LEVEL_LAYER ? above[i] : ROW_NONE;
    while (at != ROW_NONE && kind[at] != LAYER_LOADS && climbed++ < columns->spans.count)
      at = above[at];
    if (at != ROW_NONE && kind[at] == LAYER_LOADS)
      kind[i] = LAYER_LOADS;
  }
}

const uint8_t *layer_kinds_find(const struct run_columns *columns, const uint32_t *above, struct arena *arena)
{
  struct store *store = columns->store;
  struct words words = {.wrapper = find_word(store, "wrapper"),
                        .input = find_word(store, "input"),
                        .pytorch = find_word(store, "pytorch")};
  size_t count = columns->spans.count;
  uint8_t *kind = arena_alloc(arena, count + 1);
  uint8_t *wraps = arena_alloc(arena, count + 1);
  bool has_loaders = false;
  for (size_t i = 0; i < count; i++) {
    if (columns->spans.level[i] != XSP_LEVEL_LAYER)
      continue;
    kind[i] = (uint8_t)kind_of(columns, &words, i);
    has_loaders |= kind[i] == LAYER_LOADS;
    if (above[i] != ROW_NONE)
      wraps[above[i]] = 1;
  }
  for (size_t i = 0; i < count; i++)
    if (kind[i] == LAYER_WRAPS && !wraps[i])
      kind[i] = LAYER_COMPUTES;
  if (has_loaders)
    spread_loading(columns, above, kind);
  map_done(&words.of_name);
  return kind;
}
