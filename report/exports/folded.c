// SPDX-License-Identifier: Apache-2.0
// Folded stacks, as flame graph tools read them: "model;layer;kernel NANOSECONDS", one line a context. A context is the
// chain of names from the top level down; its time is its own spans' time without that of spans nested in them on their
// track. Executions count in full, launches not at all (their time is their execution's). Where a file has several runs,
// the outermost name is the run's level set and batch size: level sets never pool.
#include "base/hash.h"
#include "report/exports/exports.h"
#include "report/exports/file.h"
#include "report/exports/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)1 << 18)
#define NO_NODE UINT32_MAX
#define DEPTH_MOST 512 // longer chains are cut at the top

struct node {
  uint32_t parent, name; // name: string id of the store
  int64_t own_ns;
};
struct folded {
  struct timeline timeline;
  struct export_file file;
  struct buf out;
  struct node *nodes; // 0 is the root
  uint32_t count, room;
  uint32_t *table; // node + 1 by hash of (parent, name)
  uint32_t table_size;
  uint64_t seed;
  char run_name[LEVEL_SET_TEXT_SIZE + 32]; // of the lines being written; "": the file has one run
};

static enum status out_of_memory(struct error *err)
{
  return error_set(err, STATUS_MEMORY, "cannot export", NULL, NULL, "out of memory");
}

static uint32_t slot_of(const struct folded *folded, uint32_t parent, uint32_t name)
{
  uint64_t hash = hash_number((uint64_t)parent << 32 | name, folded->seed);
  uint32_t slot = (uint32_t)hash & (folded->table_size - 1);
  while (folded->table[slot] != 0) {
    const struct node *node = &folded->nodes[folded->table[slot] - 1];
    if (node->parent == parent && node->name == name)
      break;
    slot = (slot + 1) & (folded->table_size - 1);
  }
  return slot;
}

static bool grow(struct folded *folded)
{
  uint32_t room = folded->room == 0 ? 1024 : folded->room * 2;
  if (room < folded->room)
    return false;
  struct node *nodes = realloc(folded->nodes, room * sizeof *nodes);
  uint32_t *table = nodes == NULL ? NULL : calloc((size_t)room * 2, sizeof *table);
  if (nodes != NULL)
    folded->nodes = nodes;
  if (table == NULL)
    return false;
  free(folded->table);
  folded->table = table;
  folded->room = room;
  folded->table_size = room * 2;
  for (uint32_t i = 1; i < folded->count; i++)
    folded->table[slot_of(folded, folded->nodes[i].parent, folded->nodes[i].name)] = i + 1;
  return true;
}

static uint32_t child_of(struct folded *folded, uint32_t parent, uint32_t name)
{
  if (folded->count == folded->room && !grow(folded))
    return NO_NODE;
  uint32_t slot = slot_of(folded, parent, name);
  if (folded->table[slot] != 0)
    return folded->table[slot] - 1;
  folded->nodes[folded->count] = (struct node){parent, name, 0};
  folded->table[slot] = ++folded->count;
  return folded->count - 1;
}

struct run_rows {
  const struct timeline_run *run;
  uint32_t *parent; // row of the parent; TIMELINE_NO_ROW: none
  uint32_t *node;   // of the row; NO_NODE: not known yet
  int64_t *own_ns;
};

// Spans of tracks with a clock of their own lie in no lane: their times may not be added to the others'.
static void find_own_times(struct run_rows *rows)
{
  const struct timeline_run *run = rows->run;
  for (size_t lane = 0; lane < run->lane_count; lane++)
    for (size_t i = run->lanes[lane].first; i < run->lanes[lane].first + run->lanes[lane].count; i++) {
      uint32_t row = run->order[i];
      uint8_t kind = run->derived.kind != NULL ? run->derived.kind[row] : run->spans.kind[row];
      bool counts = kind != XSP_KIND_LAUNCH && !timeline_is_open(run, row) && run->derived.self_ns[row] > 0;
      rows->own_ns[row] = counts ? run->derived.self_ns[row] : 0;
    }
}

// Parents may stand anywhere: climbs to the first row whose node is known, then comes down.
static enum status fold_row(struct folded *folded, struct run_rows *rows, uint32_t row, struct error *err)
{
  uint32_t chain[DEPTH_MOST];
  uint32_t depth = 0, at = row;
  while (at != TIMELINE_NO_ROW && rows->node[at] == NO_NODE && depth < DEPTH_MOST) {
    chain[depth++] = at;
    at = rows->parent[at];
  }
  uint32_t node = at != TIMELINE_NO_ROW && rows->node[at] != NO_NODE ? rows->node[at] : 0;
  while (depth > 0) {
    uint32_t next = chain[--depth];
    node = child_of(folded, node, rows->run->spans.name[next]);
    if (node == NO_NODE)
      return out_of_memory(err);
    rows->node[next] = node;
  }
  int64_t *own_ns = &folded->nodes[rows->node[row]].own_ns;
  if (__builtin_add_overflow(*own_ns, rows->own_ns[row], own_ns))
    *own_ns = INT64_MAX;
  return STATUS_OK;
}

static enum status fold_run(struct folded *folded, size_t index, struct error *err)
{
  struct arena arena = {0};
  struct timeline_run run;
  enum status status = timeline_load(&folded->timeline, index, &arena, &run, err);
  size_t count = status == STATUS_OK ? run.spans.count : 0;
  struct run_rows rows = {&run, arena_alloc_array(&arena, count + 1, sizeof(uint32_t)),
                          arena_alloc_array(&arena, count + 1, sizeof(uint32_t)),
                          arena_alloc_array(&arena, count + 1, sizeof(int64_t))};
  uint32_t *by_id = status == STATUS_OK ? timeline_order_by_id(&run, &arena) : NULL;
  if (status == STATUS_OK && (by_id == NULL || rows.parent == NULL || rows.node == NULL || rows.own_ns == NULL))
    status = out_of_memory(err);
  if (status == STATUS_OK) {
    for (size_t i = 0; i < count; i++) {
      rows.parent[i] = timeline_row_of(&run, by_id, run.derived.parent_id[i]);
      rows.node[i] = NO_NODE;
    }
    find_own_times(&rows);
  }
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    status = fold_row(folded, &rows, (uint32_t)i, err);
  arena_done(&arena);
  return status;
}

// A name as the format can carry it: ';' separates, a line break ends.
static void put_name(struct folded *folded, uint32_t name)
{
  size_t length = 0;
  const char *text = store_text(folded->timeline.store, name, &length);
  size_t from = folded->out.length;
  buf_utf8(&folded->out, text, length);
  for (size_t i = from; i < folded->out.length; i++)
    if (folded->out.data[i] == ';' || folded->out.data[i] == '\n' || folded->out.data[i] == '\r')
      folded->out.data[i] = folded->out.data[i] == ';' ? ':' : ' ';
}

static void name_run(struct folded *folded, const struct store_run *run)
{
  char levels[LEVEL_SET_TEXT_SIZE];
  folded->run_name[0] = '\0';
  if (folded->timeline.run_count < 2)
    return;
  level_set_format(run->levels, levels);
  if (run->batch_size != 0)
    snprintf(folded->run_name, sizeof folded->run_name, "%s batch %" PRId64 ";", levels, run->batch_size);
  else
    snprintf(folded->run_name, sizeof folded->run_name, "%s;", levels);
}

static enum status put_lines(struct folded *folded, struct error *err)
{
  for (uint32_t i = 1; i < folded->count; i++) {
    if (folded->nodes[i].own_ns <= 0)
      continue;
    uint32_t chain[DEPTH_MOST + 1], depth = 0;
    for (uint32_t at = i; at != 0 && depth <= DEPTH_MOST; at = folded->nodes[at].parent)
      chain[depth++] = at;
    buf_text(&folded->out, folded->run_name);
    while (depth > 0) {
      put_name(folded, folded->nodes[chain[--depth]].name);
      buf_text(&folded->out, depth > 0 ? ";" : "");
    }
    buf_format(&folded->out, " %" PRId64 "\n", folded->nodes[i].own_ns);
    if (folded->out.length >= FLUSH_BYTES || folded->out.failed)
      XSP_TRY(export_file_flush_buf(&folded->file, &folded->out, err));
  }
  return export_file_flush_buf(&folded->file, &folded->out, err);
}

static enum status put_run(struct folded *folded, size_t index, struct error *err)
{
  memset(folded->table, 0, folded->table_size * sizeof *folded->table);
  folded->nodes[0] = (struct node){0};
  folded->count = 1;
  name_run(folded, &folded->timeline.runs[index]);
  XSP_TRY(fold_run(folded, index, err));
  return put_lines(folded, err);
}

static enum status write_folded(struct store *store, const char *path, struct error *err)
{
  struct folded folded = {.seed = hash_new_seed()};
  XSP_TRY(timeline_open(store, &folded.timeline, err));
  buf_init(&folded.out, BUF_MAXIMUM_DEFAULT);
  enum status status = grow(&folded) ? export_file_open(path, &folded.file, err) : out_of_memory(err);
  for (size_t i = 0; i < folded.timeline.run_count && status == STATUS_OK; i++)
    status = put_run(&folded, i, err);
  if (status == STATUS_OK)
    status = export_file_close(&folded.file, err);
  export_file_abandon(&folded.file);
  free(folded.nodes);
  free(folded.table);
  buf_done(&folded.out);
  timeline_done(&folded.timeline);
  return status;
}

const struct report_export report_export_folded = {
    .name = "folded",
    .summary = "folded stacks for flame graph tools: one line a context, own time in ns",
    .extension = "folded",
    .write = write_folded,
};
