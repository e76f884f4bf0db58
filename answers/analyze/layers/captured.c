// SPDX-License-Identifier: Apache-2.0
// Finds the layers that captured the nodes of CUDA graphs, by the nodes' ids, and gives them what their nodes run. Called by
// rows.c where kernels are asked for.
#include "analyze/layers/captured.h"

#include "base/vector.h"

#include <math.h>
#include <string.h>

enum { NODE, ORIGINAL, KEYS }; // of tags: the id of a node; of a copied node: the id of what was copied
static const char *const key_names[KEYS] = {"graph_node", "original_graph_node"};

#define COPIES_MOST 8u // of copies of copies

bool layers_captured_exist(struct store *store)
{
  uint32_t id;
  return store_find_string(store, key_names[NODE], strlen(key_names[NODE]), &id);
}

// ---- who captured -----------------------------------------------------------------------------------------------------
struct nodes {
  const struct run_columns *columns;
  const struct map *process_of; // by track id
  struct map made;              // by process and node: row of the span where it was made, from 1
  struct map original_of;       // by that row: the node's original
};

static struct map_key node_key(const struct nodes *nodes, uint32_t row, int64_t id)
{
  const uint64_t *process = map_find(nodes->process_of, map_number(nodes->columns->spans.track_id[row]));
  return (struct map_key){process == NULL ? 0 : *process + 1, (uint64_t)id};
}

// The span where the node of an execution, or the node that it was copied from, was made; ROW_NONE.
static uint32_t made_row(const struct nodes *nodes, uint32_t row, int64_t id)
{
  uint32_t found = ROW_NONE;
  for (size_t i = 0; i < COPIES_MOST; i++) {
    const uint64_t *made = map_find(&nodes->made, node_key(nodes, row, id));
    if (made == NULL)
      return found;
    found = (uint32_t)*made - 1;
    const uint64_t *original = map_find(&nodes->original_of, map_number(found + UINT64_C(1)));
    if (original == NULL)
      return found;
    id = (int64_t)*original;
  }
  return found;
}

static void note_made(struct nodes *nodes, const uint32_t keys[KEYS], const struct store_tag *tag, uint32_t row)
{
  if (tag->key == keys[NODE])
    *map_at(&nodes->made, node_key(nodes, row, tag->value.integer), NULL) = row + UINT64_C(1);
  else
    *map_at(&nodes->original_of, map_number(row + UINT64_C(1)), NULL) = (uint64_t)tag->value.integer;
}

static void link_execution(const struct nodes *nodes, const uint32_t *counts_as, const struct store_tag *tag,
                           uint32_t row, struct layers_captured *captured)
{
  uint32_t made = made_row(nodes, row, tag->value.integer);
  uint32_t layer =
      made == ROW_NONE ? ROW_NONE : run_columns_row(nodes->columns, nodes->columns->derived.layer_id[made]);
  captured->by[row] = layer == ROW_NONE ? ROW_NONE : counts_as[layer];
  if (captured->by[row] != ROW_NONE)
    captured->is_captured[captured->by[row]] = true;
}

enum status layers_captured_find(const struct run_columns *columns, const uint32_t *counts_as, struct arena *arena,
                                 struct layers_captured *ret, struct error *err)
{
  struct map process_of SCOPED(map_done) = {0};
  struct nodes nodes = {.columns = columns, .process_of = &process_of};
  const size_t count = columns->spans.count;
  uint32_t keys[KEYS], graph = run_columns_category(columns->store, "graph");
  struct store_tag *tags;
  size_t tag_count, process_count;
  *ret = (struct layers_captured){0};
  if (graph == ROW_NONE || run_columns_are_condensed(columns))
    return STATUS_OK;
  for (size_t i = 0; i < KEYS; i++)
    if (!store_find_string(columns->store, key_names[i], strlen(key_names[i]), &keys[i]))
      keys[i] = 0;
  const int64_t run_id = columns->run->run->run_id;
  XSP_TRY(store_load_tags_of(columns->store, run_id, keys, KEYS, arena, &tags, &tag_count, err));
  XSP_TRY(run_processes_load(columns->store, run_id, arena, &process_of, &process_count, err));
  ret->is_captured = arena_alloc_array(arena, count + 1, sizeof *ret->is_captured);
  ret->by = memset(arena_alloc_array(arena, count + 1, sizeof *ret->by), 0xff, count * sizeof *ret->by);
  for (int pass = 0; pass < 2; pass++) // nodes are made before they run, and may be recorded after that
    for (size_t i = 0; i < tag_count; i++) {
      uint32_t row = tags[i].type == STORE_INT ? run_columns_row(columns, tags[i].span_id) : ROW_NONE;
      if (row == ROW_NONE)
        continue;
      if (pass == 0 && columns->spans.category[row] == graph)
        note_made(&nodes, keys, &tags[i], row);
      else if (pass == 1 && tags[i].key == keys[NODE] && device_row_counts(columns, row))
        link_execution(&nodes, counts_as, &tags[i], row, ret);
    }
  map_done(&nodes.made);
  map_done(&nodes.original_of);
  return STATUS_OK;
}

// ---- to the layers ----------------------------------------------------------------------------------------------------
struct added { // an item that is added to an observation
  uint32_t item;
  int32_t observation;
};
struct adding {
  VECTOR(struct added) added; // by observation
  struct map place_of;        // by observation and item: place in `added`
};

static uint32_t add(struct adding *adding, uint32_t item, uint32_t observation)
{
  bool is_new;
  uint64_t *place = map_at(&adding->place_of, (struct map_key){observation, item + UINT64_C(1)}, &is_new);
  if (is_new) {
    *place = adding->added.count;
    *vector_add(&adding->added) = (struct added){item, (int32_t)observation};
  }
  return (uint32_t)*place;
}

// Puts what was added after the items of its observation. `moved`: by item, then by what was added: its new place.
static void merge(const struct adding *adding, struct arena *arena, struct layer_rows *rows, uint32_t *moved)
{
  const size_t count = rows->count, more = adding->added.count;
  struct layer_row *items = arena_alloc_array(arena, count + more + 1, sizeof *items);
  struct layer_device_time *times = arena_alloc_array(arena, count + more + 1, sizeof *times);
  size_t from = 0, to = 0;
  for (size_t i = 0; i <= more; i++) {
    const struct added *next = i < more ? &adding->added.items[i] : NULL;
    for (; from < count && (next == NULL || (uint32_t)rows->items[from].observation <= (uint32_t)next->observation);
         from++) { // -1 is the largest
      items[to] = rows->items[from];
      times[to] = rows->device_times[from];
      moved[from] = (uint32_t)to++;
    }
    if (next == NULL)
      break;
    items[to] = rows->items[next->item];
    items[to].observation = next->observation;
    items[to].duration_ns = 0;
    items[to].kernels = 0;
    items[to].latency_ms = items[to].alloc_bytes = items[to].output_bytes = NAN;
    times[to] = (struct layer_device_time){.gpu_ns = -1};
    moved[count + i] = (uint32_t)to++;
  }
  rows->items = items;
  rows->device_times = times;
  rows->count = to;
}

void layers_captured_take(const struct layers_captured *captured, const uint32_t *item_of, struct arena *scratch,
                          struct arena *arena, struct layer_rows *rows)
{
  struct device_rows *devices = &rows->devices;
  struct adding adding = {0};
  if (captured->by == NULL)
    return;
  devices->launched = arena_alloc_array(arena, devices->count + 1, sizeof *devices->launched);
  for (size_t i = 0; i < devices->count; i++) {
    struct device_row *device = &devices->items[i];
    uint32_t by = captured->by[device->row], item = by == ROW_NONE ? ROW_NONE : item_of[by];
    devices->launched[i] = item == ROW_NONE ? ROW_NONE : device->item;
    if (item == ROW_NONE)
      continue;
    bool is_there = rows->items[item].observation == (int32_t)device->observation;
    device->item = is_there ? item : (uint32_t)rows->count + add(&adding, item, device->observation);
  }
  uint32_t *moved = arena_alloc_array(scratch, rows->count + adding.added.count + 1, sizeof *moved);
  merge(&adding, arena, rows, moved);
  for (size_t i = 0; i < devices->count; i++) {
    uint32_t *item = &devices->items[i].item, *launched = &devices->launched[i];
    *item = *item == ROW_NONE ? ROW_NONE : moved[*item];
    *launched = *launched == ROW_NONE ? ROW_NONE : moved[*launched];
  }
  vector_done(&adding.added);
  map_done(&adding.place_of);
}
