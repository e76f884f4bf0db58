// SPDX-License-Identifier: Apache-2.0
// Reads the tags of layers into their rows, part by part: a run may have several for each of its spans. Called by rows.c.
#include "analyze/layers/row_tags.h"

#include <math.h>
#include <string.h>

enum layer_tag {
  TAG_INDEX,
  TAG_TYPE,
  TAG_SHAPE,
  TAG_ALLOC,
  TAG_OPERATOR,
  TAG_ALLOC_OWN,
  TAG_MODULE,
  TAG_OUTPUTS,
  TAG_SOURCE,
  TAG_ITERATIONS,
  TAG_SOURCES,
  LAYER_TAGS
};
struct reading_tags {
  const struct run_columns *columns;
  const uint32_t *item_of, *counts_as;
  struct layer_rows *rows;
  uint32_t keys[LAYER_TAGS]; // string ids; 0: no tag has it
};

static void read_tag(struct layer_row *item, const struct store_tag *tag, const uint32_t *keys)
{
  if (tag->key == keys[TAG_INDEX] && tag->type == STORE_INT) {
    item->is_indexed = true;
    item->index = tag->value.integer;
  } else if (tag->key == keys[TAG_TYPE] && tag->type == STORE_TEXT) {
    item->type = tag->value.string;
  } else if (tag->key == keys[TAG_SHAPE] && tag->type == STORE_TEXT) {
    item->shape = tag->value.string;
  } else if (tag->key == keys[TAG_OPERATOR] && tag->type == STORE_TEXT) {
    item->operation = tag->value.string;
  } else if (tag->key == keys[TAG_MODULE] && tag->type == STORE_TEXT) {
    item->module = tag->value.string;
  } else if (tag->key == keys[TAG_OUTPUTS] && tag->type == STORE_INT) {
    item->output_bytes = (double)tag->value.integer;
  } else if (tag->key == keys[TAG_SOURCE] && tag->type == STORE_TEXT) {
    item->source = tag->value.string;
  } else if (tag->key == keys[TAG_ITERATIONS] && tag->type == STORE_INT) {
    item->turns = tag->value.integer;
  } else if (tag->key == keys[TAG_SOURCES] && tag->type == STORE_TEXT) {
    item->source_layers = tag->value.string;
  }
}

static enum status visit_tags(void *context, const struct store_tag *tags, size_t count, struct error *err)
{
  struct reading_tags *reading = context;
  for (size_t i = 0; i < count; i++) {
    const struct store_tag *tag = &tags[i];
    uint32_t row = run_columns_row(reading->columns, tag->span_id);
    if (row == ROW_NONE || reading->item_of[row] == ROW_NONE)
      continue;
    struct layer_row *item = &reading->rows->items[reading->item_of[row]];
    bool counts_itself = reading->counts_as[row] == row;
    // Sources whose layers report what no layer within them allocated say so by a second tag: then nested layers add theirs.
    if (tag->key == reading->keys[counts_itself ? TAG_ALLOC : TAG_ALLOC_OWN] && tag->type != STORE_TEXT) {
      double bytes = tag->type == STORE_INT ? (double)tag->value.integer : tag->value.real;
      item->alloc_bytes = isnan(item->alloc_bytes) ? bytes : item->alloc_bytes + bytes;
    }
    if (counts_itself)
      read_tag(item, tag, reading->keys);
  }
  return STATUS_OK;
}

enum status layer_row_tags_read(const struct run_columns *columns, const uint32_t *item_of, const uint32_t *counts_as,
                                struct layer_rows *rows, struct error *err)
{
  static const char *const names[LAYER_TAGS] = {"layer_index", "layer_type",      "layer_shape",  "alloc_bytes",
                                                "operator",    "alloc_own_bytes", "module",       "output_bytes",
                                                "source",      "iterations",      "source_layers"};
  struct store *store = columns->store;
  struct reading_tags reading = {.columns = columns, .item_of = item_of, .counts_as = counts_as, .rows = rows};
  for (size_t i = 0; i < LAYER_TAGS; i++)
    if (!store_find_string(store, names[i], strlen(names[i]), &reading.keys[i]))
      reading.keys[i] = 0;
  XSP_TRY(store_walk_tags_of(store, columns->run->run->run_id, reading.keys, LAYER_TAGS, visit_tags, &reading, err));
  for (size_t i = 0; i < rows->count; i++) {
    rows->has_alloc |= !isnan(rows->items[i].alloc_bytes);
    rows->has_outputs |= !isnan(rows->items[i].output_bytes);
  }
  return STATUS_OK;
}
