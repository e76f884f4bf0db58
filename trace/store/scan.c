// SPDX-License-Identifier: Apache-2.0
// Row walks for the virtual tables. A part is decoded only where its minimum and maximum allow a match, and only in the
// columns that are filtered on or asked for. Must not know SQL.
#include "store/scan.h"

#include "base/memory.h"
#include "store/key_list.h"

#include <stdlib.h>
#include <string.h>

// Unpins the part's columns.
static void scan_leave_part(struct scan *scan)
{
  for (uint32_t left = scan->pinned; left != 0; left &= left - 1) {
    unsigned column = (unsigned)__builtin_ctz(left);
    scan->blocks[column]->pins--;
    scan->values[column] = NULL;
  }
  scan->pinned = 0;
}

void scan_done(struct scan *scan)
{
  scan_leave_part(scan);
  scan_order_free(scan);
  free(scan->selected);
  scan->selected = NULL;
  scan->is_selected = false;
  scan->at_end = true;
}

enum status scan_pin(struct scan *scan, unsigned column, struct error *err)
{
  if (scan->order != NULL && scan->is_ordered)
    return scan_order_need(scan, column, err);
  struct block *block;
  XSP_TRY(reader_pin(scan->reader, scan->series, scan->part, column, &block, err));
  scan->blocks[column] = block;
  scan->values[column] = block->values;
  scan->pinned |= UINT32_C(1) << column;
  return STATUS_OK;
}

// ---- selecting within a part -----------------------------------------------------------------------------------------
static bool may_match(const struct scan *scan, const struct reader_part *part)
{
  for (unsigned i = 0; i < scan->filter_count; i++) {
    const struct scan_filter *filter = &scan->filters[i];
    const struct reader_slot *slot = &part->slot[filter->column];
    if (slot->chunk_id == 0 || slot->maximum < filter->least || slot->minimum > filter->most)
      return false;
  }
  return true;
}

#define SELECT_FIRST(type)                                                                                             \
  do {                                                                                                                 \
    const type *values = scan->values[filter->column];                                                                 \
    for (uint32_t i = 0; i < rows; i++) {                                                                              \
      selected[count] = (uint16_t)i;                                                                                   \
      count += (int64_t)values[i] >= filter->least && (int64_t)values[i] <= filter->most;                              \
    }                                                                                                                  \
  } while (0)

static uint32_t select_first(struct scan *scan, const struct scan_filter *filter, uint32_t rows)
{
  uint16_t *restrict selected = scan->selected;
  uint32_t count = 0;
  switch (store_series_kinds[scan->name].columns[filter->column].type) {
  case CHUNK_INT64:
    SELECT_FIRST(int64_t);
    break;
  case CHUNK_UINT32:
    SELECT_FIRST(uint32_t);
    break;
  default:
    SELECT_FIRST(uint8_t);
  }
  return count;
}

static uint32_t select_again(struct scan *scan, const struct scan_filter *filter, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t value = scan_value_at(scan, filter->column, scan->selected[i]);
    scan->selected[kept] = scan->selected[i];
    kept += value >= filter->least && value <= filter->most;
  }
  return kept;
}

// Enters scan->part: false in *ret_any where no row of it matches.
static enum status enter_part(struct scan *scan, bool *ret_any, struct error *err)
{
  uint32_t count = scan->part->row_count;
  bool is_first = true;
  scan->is_selected = false;
  *ret_any = may_match(scan, scan->part);
  for (unsigned i = 0; i < scan->filter_count && *ret_any; i++) {
    const struct scan_filter *filter = &scan->filters[i];
    const struct reader_slot *slot = &scan->part->slot[filter->column];
    if (slot->minimum >= filter->least && slot->maximum <= filter->most)
      continue;
    if (scan->selected == NULL) // one more: the last place is written, never used, by a branchless store
      scan->selected = memory_resize(NULL, STORE_CHUNK_ROWS + 1, sizeof *scan->selected);
    XSP_TRY(scan_need(scan, filter->column, err));
    count = is_first ? select_first(scan, filter, scan->part->row_count) : select_again(scan, filter, count);
    is_first = false;
    scan->is_selected = true;
    *ret_any = count > 0;
  }
  scan->selected_count = count;
  scan->selected_at = 0;
  scan->row = scan->is_selected && *ret_any ? scan->selected[0] : 0;
  return STATUS_OK;
}

// ---- all matching rows, in file order ----------------------------------------------------------------------------
static bool next_run(struct scan *scan)
{
  if (scan->least_run == scan->most_run) { // one run: no walk over all of them
    const struct run_chunks *only = reader_run(scan->reader, scan->least_run);
    size_t index = only == NULL ? scan->reader->run_count : (size_t)(only - scan->reader->runs);
    if (scan->run_index > index)
      return false;
    scan->run_index = index;
  }
  while (scan->run_index < scan->reader->run_count) {
    struct run_chunks *run = &scan->reader->runs[scan->run_index];
    if (run->run_id >= scan->least_run && run->run_id <= scan->most_run && run->series[scan->name].part_count > 0) {
      scan->run = run;
      scan->series = &run->series[scan->name];
      scan->part_index = 0;
      return true;
    }
    scan->run_index++;
  }
  return false;
}

// The first part of the run with a match, from `part_index` on.
static enum status find_in_run(struct scan *scan, size_t part_index, bool *ret_any, struct error *err)
{
  *ret_any = false;
  for (size_t i = part_index; i < scan->series->part_count && !*ret_any; i++) {
    scan_leave_part(scan);
    scan->part = &scan->series->parts[i];
    scan->part_index = i;
    XSP_TRY(enter_part(scan, ret_any, err));
  }
  return STATUS_OK;
}

enum status scan_find_part(struct scan *scan, struct error *err)
{
  for (; next_run(scan); scan->run_index++) {
    bool has_match = false;
    XSP_TRY(find_in_run(scan, 0, &has_match, err));
    if (has_match)
      return STATUS_OK;
    scan_leave_part(scan);
  }
  scan->at_end = true;
  return STATUS_OK;
}

enum status scan_next_plain(struct scan *scan, struct error *err)
{
  bool has_match = false;
  XSP_TRY(find_in_run(scan, scan->part_index + 1, &has_match, err));
  if (has_match)
    return STATUS_OK;
  scan_leave_part(scan);
  scan->run_index++;
  return scan_find_part(scan, err);
}

// ---- rows of one key -------------------------------------------------------------------------------------------------
static void go_to(struct scan *scan, uint64_t row)
{
  struct reader_part *part = scan->part;
  if (part == NULL || row < part->first_row || row - part->first_row >= part->row_count) {
    scan_leave_part(scan);
    part = reader_part_of(scan->series, row);
    scan->part = part;
  }
  scan->row = (uint32_t)(row - part->first_row);
}

static enum status row_matches(struct scan *scan, bool *ret_matches, struct error *err)
{
  *ret_matches = true;
  for (unsigned i = 0; i < scan->filter_count && *ret_matches; i++) {
    const struct scan_filter *filter = &scan->filters[i];
    *ret_matches = scan_has_column(scan, filter->column);
    if (*ret_matches) {
      XSP_TRY(scan_need(scan, filter->column, err));
      int64_t value = scan_value(scan, filter->column);
      *ret_matches = value >= filter->least && value <= filter->most;
    }
  }
  return STATUS_OK;
}

static enum status next_by_key(struct scan *scan, struct error *err)
{
  for (;;) {
    while (scan->list_at < scan->list_count) {
      bool matches = false;
      go_to(scan, scan->list != NULL ? scan->list[scan->list_at] : scan->list_single);
      scan->list_at++;
      XSP_TRY(row_matches(scan, &matches, err));
      if (matches)
        return STATUS_OK;
    }
    scan_leave_part(scan);
    scan->part = NULL;
    scan->run_index++;
    scan->list_at = scan->list_count = 0;
    if (!next_run(scan)) {
      scan->at_end = true;
      return STATUS_OK;
    }
    const struct key_list *list = NULL;
    if (scan->series->parts[0].slot[scan->key_column].chunk_id != 0)
      XSP_TRY(reader_list(scan->reader, scan->series, scan->key_column, &list, err));
    else
      continue;
    if (list == NULL)
      return error_set(err, STATUS_MEMORY, "cannot read trace", scan->reader->path, NULL,
                       "run %lld has too many rows for an index", (long long)scan->run->run_id);
    scan->list_count = key_list_find(list, scan->key, &scan->list, &scan->list_single);
  }
}

// ---- the walk --------------------------------------------------------------------------------------------------------
enum status scan_next_part(struct scan *scan, struct error *err)
{
  if (scan->order_count > 0) {
    scan_order_next(scan);
    return STATUS_OK;
  }
  enum status status = scan->by_key ? next_by_key(scan, err) : scan_next_plain(scan, err);
  scan->at_end |= status != STATUS_OK;
  return status;
}

void scan_place(const struct scan *scan, uint64_t *ret_done, uint64_t *ret_total)
{
  if (scan->is_ordered) {
    scan_order_place(scan, ret_done, ret_total);
    return;
  }
  *ret_done = scan->part->first_row + scan->row;
  *ret_total = 0;
  for (size_t i = 0; i < scan->reader->run_count; i++) {
    const struct run_chunks *run = &scan->reader->runs[i];
    bool is_asked = run->run_id >= scan->least_run && run->run_id <= scan->most_run;
    uint64_t rows = is_asked ? run->series[scan->name].row_count : 0;
    *ret_done += run < scan->run ? rows : 0;
    *ret_total += rows;
  }
}

// The two walks that take single rows go through scan_next_part every time: "selected" is one row that is used up.
static enum status start_single_rows(struct scan *scan, struct error *err)
{
  scan->is_selected = true;
  scan->selected_count = scan->selected_at = 0;
  return scan_next_part(scan, err);
}

enum status scan_start(struct scan *scan, struct error *err)
{
  scan_leave_part(scan);
  scan_order_free(scan);
  memset(scan->values, 0, sizeof scan->values);
  scan->run_index = 0;
  scan->part = NULL;
  scan->run = NULL;
  scan->is_selected = scan->is_ordered = false;
  scan->at_end = scan->is_empty || scan->least_run > scan->most_run;
  if (scan->at_end)
    return STATUS_OK;
  enum status status;
  if (scan->order_count > 0) {
    status = scan_order_make(scan, err);
    scan_leave_part(scan);
    scan->at_end = false;
    scan->is_ordered = true;
    if (status == STATUS_OK)
      status = start_single_rows(scan, err);
  } else if (scan->by_key) {
    scan->run_index = SIZE_MAX; // next_by_key steps first
    scan->list_at = scan->list_count = 0;
    status = start_single_rows(scan, err);
  } else {
    status = scan_find_part(scan, err);
  }
  scan->at_end |= status != STATUS_OK;
  return status;
}
