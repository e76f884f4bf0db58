// SPDX-License-Identifier: Apache-2.0
// Scans in the order of texts: a counting sort of rows by the ranks of the few texts that a column has. Called by scan.c.
//
// Rows in another order than the file's lie far apart in the columns: taking them one by one would wait for memory at every
// cell. So blocks of rows are gathered per column, where the processor overlaps the waiting.
#include "store/scan.h"

#include "base/memory.h"
#include "base/slice.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

#define ORDER_BLOCK 2048u // rows gathered at a time

struct ordered_part {
  const struct run_chunks *run;
  struct reader_part *part;
  struct reader_series *series;
};

struct scan_order {
  VECTOR(struct ordered_part) parts;
  VECTOR(uint32_t) places;             // number of the part << 16 | row within it
  uint32_t *other;                     // room for as many
  size_t block_from, block_rows, next; // of places; `next` within the block
  struct block **pins[STORE_COLUMNS];  // by number of the part, for columns in use; NULL: the part lacks it
  const void **bases[STORE_COLUMNS];   // their values
  uint64_t gathered[STORE_COLUMNS][ORDER_BLOCK];
};

void scan_order_free(struct scan *scan)
{
  struct scan_order *order = scan->order;
  if (order == NULL)
    return;
  for (unsigned column = 0; column < STORE_COLUMNS; column++) {
    for (size_t i = 0; i < order->parts.count && order->pins[column] != NULL; i++)
      if (order->pins[column][i] != NULL)
        order->pins[column][i]->pins--;
    free(order->pins[column]);
    free(order->bases[column]);
  }
  vector_done(&order->parts);
  vector_done(&order->places);
  free(order->other);
  free(order);
  scan->order = NULL;
}

static enum status collect_places(struct scan *scan, struct error *err)
{
  struct scan_order *order = scan->order;
  XSP_TRY(scan_find_part(scan, err));
  while (!scan->at_end) {
    uint32_t count = scan->is_selected ? scan->selected_count : scan->part->row_count;
    uint32_t base = (uint32_t)order->parts.count << 16;
    if (order->parts.count == SCAN_ORDER_PARTS_MAXIMUM)
      return error_set(err, STATUS_MEMORY, "cannot read trace", scan->reader->path, NULL, "too many rows to sort");
    vector_reserve(&order->places, count);
    *vector_add(&order->parts) = (struct ordered_part){scan->run, scan->part, scan->series};
    uint32_t *to = order->places.items + order->places.count;
    for (uint32_t i = 0; i < count; i++)
      to[i] = base | (scan->is_selected ? scan->selected[i] : i);
    order->places.count += count;
    XSP_TRY(scan_next_plain(scan, err));
  }
  return STATUS_OK;
}

// Decodes and pins a column in all parts.
static enum status order_pin(struct scan *scan, unsigned column, struct error *err)
{
  struct scan_order *order = scan->order;
  if (order->pins[column] != NULL)
    return STATUS_OK;
  order->pins[column] = memory_new(order->parts.count, sizeof *order->pins[column]);
  order->bases[column] = memory_new(order->parts.count, sizeof *order->bases[column]);
  for (size_t i = 0; i < order->parts.count; i++)
    if (order->parts.items[i].part->slot[column].chunk_id != 0) {
      const struct ordered_part *one = &order->parts.items[i];
      XSP_TRY(reader_pin(scan->reader, one->series, one->part, column, &order->pins[column][i], err));
      order->bases[column][i] = order->pins[column][i]->values;
    }
  return STATUS_OK;
}

#define GATHER(type)                                                                                                   \
  do {                                                                                                                 \
    type *to = ret_values;                                                                                             \
    for (size_t i = 0; i < count; i++) {                                                                               \
      const type *base = bases[places[i] >> 16];                                                                       \
      to[i] = base == NULL ? 0 : base[places[i] & 0xffff];                                                             \
    }                                                                                                                  \
  } while (0)

// Parts that lack the column give 0.
static void gather(const struct scan *scan, unsigned column, const uint32_t *places, size_t count, void *ret_values)
{
  const void *const *bases = scan->order->bases[column];
  switch (store_series_kinds[scan->name].columns[column].type) {
  case CHUNK_INT64:
    GATHER(int64_t);
    break;
  case CHUNK_UINT32:
    GATHER(uint32_t);
    break;
  default:
    GATHER(uint8_t);
  }
}

// For every collected row its value + 1, 0 where the part lacks the column; of SCAN_ORDER_RUN the run's index.
static enum status read_keys(struct scan *scan, uint8_t column, uint32_t *keys, uint32_t *ret_largest,
                             struct error *err)
{
  const struct scan_order *order = scan->order;
  uint32_t largest = 0;
  if (column == SCAN_ORDER_RUN) {
    for (size_t i = 0; i < order->places.count; i++)
      keys[i] = (uint32_t)(order->parts.items[order->places.items[i] >> 16].run - scan->reader->runs);
  } else {
    XSP_TRY(order_pin(scan, column, err));
    bool is_byte = store_series_kinds[scan->name].columns[column].type == CHUNK_UINT8;
    for (size_t i = 0; i < order->places.count; i++) {
      const void *base = order->bases[column][order->places.items[i] >> 16];
      uint32_t row = order->places.items[i] & 0xffff;
      keys[i] = base == NULL ? 0 : 1 + (is_byte ? ((const uint8_t *)base)[row] : ((const uint32_t *)base)[row]);
    }
  }
  for (size_t i = 0; i < order->places.count; i++)
    largest = keys[i] > largest ? keys[i] : largest;
  *ret_largest = largest;
  return STATUS_OK;
}

struct ranked {
  const char *text; // NULL first
  size_t length;
  uint32_t key;
};

SORTED_BY(compare_ranked, struct ranked,
          ORDER(a->text != NULL, b->text != NULL)
              ?: slice_compare((struct slice){a->text, a->length}, (struct slice){b->text, b->length}))

// Replaces keys by the rank of their texts.
static void rank_keys(const struct scan *scan, uint8_t column, uint32_t *keys, uint32_t *largest)
{
  uint32_t *ranks SCOPED(scoped_free) = memory_new((size_t)*largest + 1, sizeof *ranks);
  struct ranked *used SCOPED(scoped_free) = memory_new((size_t)*largest + 1, sizeof *used);
  uint32_t used_count = 0;
  for (size_t i = 0; i < scan->order->places.count; i++)
    if (ranks[keys[i]] == 0) {
      struct ranked *ranked = &used[used_count++];
      ranks[keys[i]] = 1;
      *ranked = (struct ranked){NULL, 0, keys[i]};
      if (keys[i] > 0)
        ranked->text = scan->order_text(scan, column, keys[i] - 1, &ranked->length);
    }
  qsort(used, used_count, sizeof *used, compare_ranked);
  uint32_t rank = 0;
  for (uint32_t i = 0; i < used_count; i++) {
    rank += i > 0 && compare_ranked(&used[i - 1], &used[i]) != 0;
    ranks[used[i].key] = rank;
  }
  for (size_t i = 0; i < scan->order->places.count; i++)
    keys[i] = ranks[keys[i]];
  *largest = rank;
}

static enum status make_keys(struct scan *scan, const struct scan_order_term *term, uint32_t *keys,
                             uint32_t *ret_largest, struct error *err)
{
  XSP_TRY(read_keys(scan, term->column, keys, ret_largest, err));
  if (term->column != SCAN_ORDER_RUN)
    rank_keys(scan, term->column, keys, ret_largest);
  for (size_t i = 0; i < scan->order->places.count && term->is_descending; i++)
    keys[i] = *ret_largest - keys[i];
  return STATUS_OK;
}

// One stable counting sort.
static void sort_by(struct scan_order *order, const uint32_t *keys, uint32_t largest)
{
  size_t *next = memory_new((size_t)largest + 2, sizeof *next);
  for (size_t i = 0; i < order->places.count; i++)
    next[keys[i] + 1]++;
  for (size_t key = 1; key <= largest; key++)
    next[key] += next[key - 1];
  for (size_t i = 0; i < order->places.count; i++)
    order->other[next[keys[i]]++] = order->places.items[i];
  free(next);
  uint32_t *sorted = order->other;
  order->other = order->places.items;
  order->places.items = sorted;
}

enum status scan_order_make(struct scan *scan, struct error *err)
{
  scan->order = memory_new(1, sizeof *scan->order);
  enum status status = collect_places(scan, err);
  struct scan_order *order = scan->order;
  uint32_t *keys SCOPED(scoped_free) = memory_resize(NULL, order->places.count, sizeof *keys);
  order->other = memory_resize(NULL, order->places.capacity, sizeof *order->other);
  for (unsigned i = scan->order_count; i-- > 0 && status == STATUS_OK;) {
    uint32_t largest = 0;
    status = make_keys(scan, &scan->orders[i], keys, &largest, err);
    if (status == STATUS_OK)
      sort_by(order, keys, largest);
  }
  return status;
}

enum status scan_order_need(struct scan *scan, unsigned column, struct error *err)
{
  struct scan_order *order = scan->order;
  XSP_TRY(order_pin(scan, column, err));
  gather(scan, column, order->places.items + order->block_from, order->block_rows, order->gathered[column]);
  scan->values[column] = order->gathered[column];
  return STATUS_OK;
}

uint32_t scan_row_in_part(const struct scan *scan)
{
  const struct scan_order *order = scan->order;
  return scan->is_ordered ? order->places.items[order->block_from + scan->row] & 0xffff : scan->row;
}

void scan_order_place(const struct scan *scan, uint64_t *ret_done, uint64_t *ret_total)
{
  *ret_done = scan->order->block_from + scan->order->next;
  *ret_total = scan->order->places.count;
}

void scan_order_next(struct scan *scan)
{
  struct scan_order *order = scan->order;
  if (order->next == order->block_rows) {
    order->block_from += order->block_rows;
    order->block_rows =
        order->places.count - order->block_from < ORDER_BLOCK ? order->places.count - order->block_from : ORDER_BLOCK;
    order->next = 0;
    memset(scan->values, 0, sizeof scan->values);
    scan->at_end = order->block_rows == 0;
    if (scan->at_end)
      return;
  }
  uint32_t part = order->places.items[order->block_from + order->next] >> 16;
  scan->run = order->parts.items[part].run;
  scan->part = order->parts.items[part].part;
  scan->row = (uint32_t)order->next++;
}
