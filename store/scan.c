// SPDX-License-Identifier: Apache-2.0
// Row walks for the virtual tables. A part is decoded only where its minimum and maximum allow a match, and only in the
// columns that are filtered on or asked for. Must not know SQL.
#include "store/scan.h"

#include "store/key_list.h"
#include "store/problem.h"

#include <stdlib.h>
#include <string.h>

#define ORDER_BLOCK 2048u // rows gathered at a time

static void order_free(struct scan *scan);
static enum status order_need(struct scan *scan, unsigned column, struct error *err);

static void leave_part(struct scan *scan)
{
  for (uint32_t left = scan->pinned; left != 0; left &= left - 1) {
    unsigned column = (unsigned)__builtin_ctz(left);
    reader_unpin(scan->reader, scan->blocks[column]);
    scan->values[column] = NULL;
  }
  scan->pinned = 0;
}

void scan_done(struct scan *scan)
{
  leave_part(scan);
  order_free(scan);
  free(scan->selected);
  scan->selected = NULL;
  scan->is_selected = false;
  scan->at_end = true;
}

enum status scan_pin(struct scan *scan, unsigned column, struct error *err)
{
  if (scan->order != NULL && scan->is_ordered)
    return order_need(scan, column, err);
  struct block *block;
  XSP_TRY(reader_pin(scan->reader, scan->series, scan->part, column, &block, err));
  scan->blocks[column] = block;
  scan->values[column] = block->values;
  scan->pinned |= UINT32_C(1) << column;
  return STATUS_OK;
}

static int64_t value_at(const struct scan *scan, unsigned column, uint32_t row)
{
  switch (series_kinds[scan->name].columns[column].type) {
  case CHUNK_INT64:
    return ((const int64_t *)scan->values[column])[row];
  case CHUNK_UINT32:
    return ((const uint32_t *)scan->values[column])[row];
  default:
    return ((const uint8_t *)scan->values[column])[row];
  }
}

// ---- selecting within a part -----------------------------------------------------------------------------------------
static bool may_match(const struct scan *scan, const struct part *part)
{
  for (unsigned i = 0; i < scan->filter_count; i++) {
    const struct scan_filter *filter = &scan->filters[i];
    const struct slot *slot = &part->slot[filter->column];
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
  switch (series_kinds[scan->name].columns[filter->column].type) {
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
    int64_t value = value_at(scan, filter->column, scan->selected[i]);
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
    const struct slot *slot = &scan->part->slot[filter->column];
    if (slot->minimum >= filter->least && slot->maximum <= filter->most)
      continue;
    if (scan->selected == NULL) // one more: the last place is written, never used, by a branchless store
      scan->selected = malloc((STORE_CHUNK_ROWS + 1) * sizeof *scan->selected);
    if (scan->selected == NULL)
      return problem_memory(err, "cannot read trace", scan->reader->path);
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

static enum status find_part(struct scan *scan, struct error *err)
{
  while (next_run(scan)) {
    for (size_t i = scan->part_index; i < scan->series->part_count; i++) {
      bool has_match = false;
      scan->part = &scan->series->parts[i];
      XSP_TRY(enter_part(scan, &has_match, err));
      if (has_match) {
        scan->part_index = i;
        return STATUS_OK;
      }
      leave_part(scan);
    }
    scan->run_index++;
  }
  scan->at_end = true;
  return STATUS_OK;
}

static enum status next_plain(struct scan *scan, struct error *err)
{
  leave_part(scan);
  for (size_t i = scan->part_index + 1; i < scan->series->part_count; i++) {
    bool has_match = false;
    scan->part = &scan->series->parts[i];
    scan->part_index = i;
    XSP_TRY(enter_part(scan, &has_match, err));
    if (has_match)
      return STATUS_OK;
    leave_part(scan);
  }
  scan->run_index++;
  return find_part(scan, err);
}

// ---- rows of one key -------------------------------------------------------------------------------------------------
static void go_to(struct scan *scan, uint64_t row)
{
  struct part *part = scan->part;
  if (part == NULL || row < part->first_row || row - part->first_row >= part->row_count) {
    leave_part(scan);
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
      int64_t value = value_at(scan, filter->column, scan->row);
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
    leave_part(scan);
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

// ---- in an order -----------------------------------------------------------------------------------------------------
// Rows in another order than the file's lie far apart in the columns: taking them one by one would wait for memory at every
// cell. So blocks of rows are gathered per column, where the processor overlaps the waiting.
struct scan_order {
  const struct run_chunks **runs; // by number of the part
  struct part **parts;
  struct series **series;
  size_t part_count, part_capacity;
  uint32_t *places, *other; // number of the part << 16 | row within it
  size_t count, capacity;
  size_t block_from, block_rows, next; // of places; `next` within the block
  struct block **pins[STORE_COLUMNS];  // by number of the part, for columns in use; NULL: the part lacks it
  const void **bases[STORE_COLUMNS];   // their values
  uint64_t gathered[STORE_COLUMNS][ORDER_BLOCK];
};

static void order_free(struct scan *scan)
{
  struct scan_order *order = scan->order;
  if (order == NULL)
    return;
  for (unsigned column = 0; column < STORE_COLUMNS; column++) {
    for (size_t i = 0; i < order->part_count && order->pins[column] != NULL; i++)
      if (order->pins[column][i] != NULL)
        reader_unpin(scan->reader, order->pins[column][i]);
    free(order->pins[column]);
    free(order->bases[column]);
  }
  free(order->runs);
  free(order->parts);
  free(order->series);
  free(order->places);
  free(order->other);
  free(order);
  scan->order = NULL;
}

static bool add_order_part(struct scan_order *order, const struct scan *scan)
{
  if (order->part_count == order->part_capacity) {
    size_t capacity = 2 * order->part_capacity + 16;
    void *runs = realloc(order->runs, capacity * sizeof *order->runs);
    order->runs = runs != NULL ? runs : order->runs;
    void *parts = realloc(order->parts, capacity * sizeof *order->parts);
    order->parts = parts != NULL ? parts : order->parts;
    void *series = realloc(order->series, capacity * sizeof *order->series);
    order->series = series != NULL ? series : order->series;
    if (runs == NULL || parts == NULL || series == NULL)
      return false;
    order->part_capacity = capacity;
  }
  order->runs[order->part_count] = scan->run;
  order->parts[order->part_count] = scan->part;
  order->series[order->part_count] = scan->series;
  order->part_count++;
  return true;
}

static bool reserve_places(struct scan_order *order, uint32_t more)
{
  if (order->count + more <= order->capacity)
    return true;
  size_t capacity = 2 * order->capacity + STORE_CHUNK_ROWS;
  uint32_t *places = realloc(order->places, capacity * sizeof *places);
  if (places == NULL)
    return false;
  order->places = places;
  order->capacity = capacity;
  return true;
}

static enum status collect_places(struct scan *scan, struct error *err)
{
  struct scan_order *order = scan->order;
  XSP_TRY(find_part(scan, err));
  while (!scan->at_end) {
    uint32_t count = scan->is_selected ? scan->selected_count : scan->part->row_count;
    uint32_t base = (uint32_t)order->part_count << 16;
    if (order->part_count == SCAN_ORDER_PARTS_MAXIMUM || !reserve_places(order, count) || !add_order_part(order, scan))
      return problem_memory(err, "cannot read trace", scan->reader->path);
    uint32_t *to = order->places + order->count;
    for (uint32_t i = 0; i < count; i++)
      to[i] = base | (scan->is_selected ? scan->selected[i] : i);
    order->count += count;
    XSP_TRY(next_plain(scan, err));
  }
  return STATUS_OK;
}

// Decodes and pins a column in all parts.
static enum status order_pin(struct scan *scan, unsigned column, struct error *err)
{
  struct scan_order *order = scan->order;
  if (order->pins[column] != NULL)
    return STATUS_OK;
  order->pins[column] = calloc(order->part_count + 1, sizeof *order->pins[column]);
  order->bases[column] = calloc(order->part_count + 1, sizeof *order->bases[column]);
  if (order->pins[column] == NULL || order->bases[column] == NULL)
    return problem_memory(err, "cannot read trace", scan->reader->path);
  for (size_t i = 0; i < order->part_count; i++)
    if (order->parts[i]->slot[column].chunk_id != 0) {
      XSP_TRY(reader_pin(scan->reader, order->series[i], order->parts[i], column, &order->pins[column][i], err));
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
  switch (series_kinds[scan->name].columns[column].type) {
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
    for (size_t i = 0; i < order->count; i++)
      keys[i] = (uint32_t)(order->runs[order->places[i] >> 16] - scan->reader->runs);
  } else {
    XSP_TRY(order_pin(scan, column, err));
    bool is_byte = series_kinds[scan->name].columns[column].type == CHUNK_UINT8;
    for (size_t i = 0; i < order->count; i++) {
      const void *base = order->bases[column][order->places[i] >> 16];
      uint32_t row = order->places[i] & 0xffff;
      keys[i] = base == NULL ? 0 : 1 + (is_byte ? ((const uint8_t *)base)[row] : ((const uint32_t *)base)[row]);
    }
  }
  for (size_t i = 0; i < order->count; i++)
    largest = keys[i] > largest ? keys[i] : largest;
  *ret_largest = largest;
  return STATUS_OK;
}

struct ranked {
  const char *text; // NULL first
  size_t length;
  uint32_t key;
};

static int compare_ranked(const void *left, const void *right)
{
  const struct ranked *a = left;
  const struct ranked *b = right;
  if (a->text == NULL || b->text == NULL)
    return (a->text != NULL) - (b->text != NULL);
  int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

// Replaces keys by the rank of their texts. False: out of memory.
static bool rank_keys(const struct scan *scan, uint8_t column, uint32_t *keys, uint32_t *largest)
{
  uint32_t *ranks = calloc((size_t)*largest + 1, sizeof *ranks);
  struct ranked *used = malloc(((size_t)*largest + 1) * sizeof *used);
  uint32_t used_count = 0;
  for (size_t i = 0; ranks != NULL && used != NULL && i < scan->order->count; i++)
    if (ranks[keys[i]] == 0) {
      struct ranked *ranked = &used[used_count++];
      ranks[keys[i]] = 1;
      *ranked = (struct ranked){NULL, 0, keys[i]};
      if (keys[i] > 0)
        ranked->text = scan->order_text(scan, column, keys[i] - 1, &ranked->length);
    }
  if (ranks != NULL && used != NULL) {
    qsort(used, used_count, sizeof *used, compare_ranked);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < used_count; i++) {
      rank += i > 0 && compare_ranked(&used[i - 1], &used[i]) != 0;
      ranks[used[i].key] = rank;
    }
    for (size_t i = 0; i < scan->order->count; i++)
      keys[i] = ranks[keys[i]];
    *largest = rank;
  }
  bool is_good = ranks != NULL && used != NULL;
  free(ranks);
  free(used);
  return is_good;
}

static enum status make_keys(struct scan *scan, const struct scan_order_term *term, uint32_t *keys,
                             uint32_t *ret_largest, struct error *err)
{
  XSP_TRY(read_keys(scan, term->column, keys, ret_largest, err));
  if (term->column != SCAN_ORDER_RUN && !rank_keys(scan, term->column, keys, ret_largest))
    return problem_memory(err, "cannot read trace", scan->reader->path);
  for (size_t i = 0; i < scan->order->count && term->is_descending; i++)
    keys[i] = *ret_largest - keys[i];
  return STATUS_OK;
}

// One stable counting sort.
static bool sort_by(struct scan_order *order, const uint32_t *keys, uint32_t largest)
{
  size_t *next = calloc((size_t)largest + 2, sizeof *next);
  if (next == NULL)
    return false;
  for (size_t i = 0; i < order->count; i++)
    next[keys[i] + 1]++;
  for (size_t key = 1; key <= largest; key++)
    next[key] += next[key - 1];
  for (size_t i = 0; i < order->count; i++)
    order->other[next[keys[i]]++] = order->places[i];
  free(next);
  uint32_t *places = order->other;
  order->other = order->places;
  order->places = places;
  return true;
}

static enum status make_order(struct scan *scan, struct error *err)
{
  scan->order = calloc(1, sizeof *scan->order);
  if (scan->order == NULL)
    return problem_memory(err, "cannot read trace", scan->reader->path);
  enum status status = collect_places(scan, err);
  struct scan_order *order = scan->order;
  uint32_t *keys = malloc(order->count * sizeof *keys + 1);
  order->other = malloc(order->count * sizeof *order->other + 1);
  if (status == STATUS_OK && (keys == NULL || order->other == NULL))
    status = problem_memory(err, "cannot read trace", scan->reader->path);
  for (unsigned i = scan->order_count; i-- > 0 && status == STATUS_OK;) {
    uint32_t largest = 0;
    status = make_keys(scan, &scan->orders[i], keys, &largest, err);
    if (status == STATUS_OK && !sort_by(order, keys, largest))
      status = problem_memory(err, "cannot read trace", scan->reader->path);
  }
  free(keys);
  return status;
}

static enum status order_need(struct scan *scan, unsigned column, struct error *err)
{
  struct scan_order *order = scan->order;
  XSP_TRY(order_pin(scan, column, err));
  gather(scan, column, order->places + order->block_from, order->block_rows, order->gathered[column]);
  scan->values[column] = order->gathered[column];
  return STATUS_OK;
}

uint32_t scan_row_in_part(const struct scan *scan)
{
  const struct scan_order *order = scan->order;
  return scan->is_ordered ? order->places[order->block_from + scan->row] & 0xffff : scan->row;
}

static void next_ordered(struct scan *scan)
{
  struct scan_order *order = scan->order;
  if (order->next == order->block_rows) {
    order->block_from += order->block_rows;
    order->block_rows = order->count - order->block_from < ORDER_BLOCK ? order->count - order->block_from : ORDER_BLOCK;
    order->next = 0;
    memset(scan->values, 0, sizeof scan->values);
    scan->at_end = order->block_rows == 0;
    if (scan->at_end)
      return;
  }
  uint32_t part = order->places[order->block_from + order->next] >> 16;
  scan->run = order->runs[part];
  scan->part = order->parts[part];
  scan->row = (uint32_t)order->next++;
}

// ---- the walk --------------------------------------------------------------------------------------------------------
enum status scan_next_part(struct scan *scan, struct error *err)
{
  if (scan->order_count > 0) {
    next_ordered(scan);
    return STATUS_OK;
  }
  enum status status = scan->by_key ? next_by_key(scan, err) : next_plain(scan, err);
  scan->at_end |= status != STATUS_OK;
  return status;
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
  leave_part(scan);
  order_free(scan);
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
    status = make_order(scan, err);
    leave_part(scan);
    scan->at_end = false;
    scan->is_ordered = true;
    if (status == STATUS_OK)
      status = start_single_rows(scan, err);
  } else if (scan->by_key) {
    scan->run_index = SIZE_MAX; // next_by_key steps first
    scan->list_at = scan->list_count = 0;
    status = start_single_rows(scan, err);
  } else {
    status = find_part(scan, err);
  }
  scan->at_end |= status != STATUS_OK;
  return status;
}
