// SPDX-License-Identifier: Apache-2.0
// Walks over the rows of a series: which rows, in which order, and their columns, decoded only when asked for. What the
// virtual tables have in common. One thread.
#ifndef XSP_STORE_SCAN_H
#define XSP_STORE_SCAN_H

#include "store/reader.h"

#define SCAN_FILTERS 16u
#define SCAN_ORDERS 3u
#define SCAN_ORDER_RUN UINT8_MAX // by run
// More rows or parts than this are not reordered: whole columns are held meanwhile, and a place has 32 bits.
#define SCAN_ORDER_ROWS_MAXIMUM (UINT64_C(32) << 20)
#define SCAN_ORDER_PARTS_MAXIMUM 65536u

struct scan_order_term {
  uint8_t column; // string ids or bytes; SCAN_ORDER_RUN
  bool is_descending;
};
struct scan_filter { // least <= value <= most
  unsigned column;
  int64_t least, most;
};

struct scan {
  // what is asked for; set before scan_start
  struct reader *reader;
  enum series_name name;
  int64_t least_run, most_run;
  struct scan_filter filters[SCAN_FILTERS];
  unsigned filter_count;
  bool is_empty; // no row can match
  bool by_key;   // rows of `key` in `key_column`, by index
  unsigned key_column;
  int64_t key;
  struct scan_order_term orders[SCAN_ORDERS];
  unsigned order_count;
  const void *owner; // for order_text
  // The text of a stored value; NULL sorts first. Texts sort by their bytes.
  const char *(*order_text)(const struct scan *scan, uint8_t column, uint32_t value, size_t *ret_length);

  // where it stands; valid while not at_end
  bool at_end;
  const struct run_chunks *run;
  struct reader_part *part;
  uint32_t row; // into values[]: within the part, or within what was gathered for an order

  // private
  size_t run_index, part_index;
  struct reader_series *series;
  uint16_t *selected; // room for one part
  bool is_selected;   // `selected` lists the part's matching rows; else all match
  uint32_t selected_count, selected_at;
  const uint32_t *list; // by_key
  uint32_t list_single;
  size_t list_count, list_at;
  struct scan_order *order; // orders
  bool is_ordered;          // the order is made: values come from it
  const void *values[STORE_COLUMNS];
  struct block *blocks[STORE_COLUMNS];
  uint32_t pinned; // columns that have a block
};

// Positions on the first row. Errors leave the scan at_end; scan_done is due in any case.
enum status scan_start(struct scan *scan, struct error *err) MUST_CHECK;
enum status scan_next_part(struct scan *scan, struct error *err) MUST_CHECK; // the uncommon part of scan_next
enum status scan_pin(struct scan *scan, unsigned column, struct error *err) MUST_CHECK;
uint32_t scan_row_in_part(const struct scan *scan);
// Rows, unless by key; while not at_end.
void scan_place(const struct scan *scan, uint64_t *ret_done, uint64_t *ret_total);
void scan_done(struct scan *scan); // unpins and frees; the question may be changed and asked again

static inline enum status scan_next(struct scan *scan, struct error *err)
{
  if (!scan->is_selected && scan->row + 1 < scan->part->row_count) {
    scan->row++;
    return STATUS_OK;
  }
  if (scan->is_selected && scan->selected_at + 1 < scan->selected_count) {
    scan->row = scan->selected[++scan->selected_at];
    return STATUS_OK;
  }
  return scan_next_part(scan, err);
}

static inline bool scan_has_column(const struct scan *scan, unsigned column)
{
  return scan->part->slot[column].chunk_id != 0;
}

// Makes values[column] valid for the present row. The column must exist.
static inline enum status scan_need(struct scan *scan, unsigned column, struct error *err)
{
  return scan->values[column] != NULL ? STATUS_OK : scan_pin(scan, column, err);
}
static inline int64_t scan_value_at(const struct scan *scan, unsigned column, uint32_t row)
{
  const void *values = scan->values[column];
  switch (store_series_kinds[scan->name].columns[column].type) {
  case CHUNK_INT64:
    return ((const int64_t *)values)[row];
  case CHUNK_UINT32:
    return ((const uint32_t *)values)[row];
  default:
    return ((const uint8_t *)values)[row];
  }
}
static inline int64_t scan_value(const struct scan *scan, unsigned column)
{
  return scan_value_at(scan, column, scan->row);
}

// ---- between scan.c and scan_order.c ---------------------------------------------------------------------------------
enum status scan_find_part(struct scan *scan, struct error *err) MUST_CHECK;  // the first part with a match
enum status scan_next_plain(struct scan *scan, struct error *err) MUST_CHECK; // the next one
enum status scan_order_make(struct scan *scan, struct error *err) MUST_CHECK; // sorts all matching rows
enum status scan_order_need(struct scan *scan, unsigned column, struct error *err) MUST_CHECK;
void scan_order_next(struct scan *scan);
void scan_order_place(const struct scan *scan, uint64_t *ret_done, uint64_t *ret_total);
void scan_order_free(struct scan *scan);

#endif
