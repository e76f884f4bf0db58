// SPDX-License-Identifier: Apache-2.0
// Index over a column of ids, built in two passes. Dense ids (value = first + row) need no memory at all; ids in a narrow
// range are found by one array access; others share a bucket with few neighbours, sorted by value.
#include "store/key_list.h"

#include "base/memory.h"
#include "base/sorted.h"

#include <stdbool.h>
#include <stdlib.h>

struct pair {
  int64_t key;
  uint32_t row;
};
struct key_list {
  int64_t minimum;
  uint64_t range; // largest key - minimum
  unsigned shift; // bucket = (key - minimum) >> shift
  bool is_dense;
  uint32_t *first; // by bucket; one more than buckets
  uint32_t *rows;  // by bucket, then key, then row
  int64_t *keys;   // of `rows`; NULL where a bucket is one key
};

void key_list_free(struct key_list *list)
{
  if (list == NULL)
    return;
  free(list->first);
  free(list->rows);
  free(list->keys);
  free(list);
}

SORTED_BY(compare_pairs, struct pair, RISING(key) ?: RISING(row))

// Buckets hold rows in file order already.
static void sort_bucket(struct key_list *list, uint32_t from, uint32_t to)
{
  if (to - from < 2)
    return;
  struct pair *pairs SCOPED(scoped_free) = memory_new(to - from, sizeof *pairs);
  for (uint32_t i = from; i < to; i++)
    pairs[i - from] = (struct pair){list->keys[i], list->rows[i]};
  qsort(pairs, to - from, sizeof *pairs, compare_pairs);
  for (uint32_t i = from; i < to; i++) {
    list->keys[i] = pairs[i - from].key;
    list->rows[i] = pairs[i - from].row;
  }
}

// Returns how many rows have a key.
static size_t survey(struct key_list *list, const int64_t *values, size_t count)
{
  int64_t minimum = INT64_MAX;
  int64_t maximum = INT64_MIN;
  size_t used = 0;
  bool is_dense = true;
  for (size_t i = 0; i < count; i++) {
    if (values[i] == 0) {
      is_dense = false;
      continue;
    }
    minimum = values[i] < minimum ? values[i] : minimum;
    maximum = values[i] > maximum ? values[i] : maximum;
    is_dense &= (uint64_t)values[i] - (uint64_t)values[0] == i;
    used++;
  }
  list->minimum = minimum;
  list->range = used == 0 ? 0 : (uint64_t)maximum - (uint64_t)minimum;
  list->is_dense = is_dense && used > 0;
  return used;
}

static void fill(struct key_list *list, const int64_t *values, size_t count, size_t used)
{
  while (list->range >> list->shift > 4 * (uint64_t)used)
    list->shift++;
  size_t buckets = (size_t)(list->range >> list->shift) + 1;
  list->first = memory_new(buckets + 2, sizeof *list->first);
  list->rows = memory_resize(NULL, used, sizeof *list->rows);
  list->keys = list->shift > 0 ? memory_resize(NULL, used, sizeof *list->keys) : NULL;
  uint32_t *next = list->first + 2; // counts, then the next free place; ends as `first` shifted by one
  for (size_t i = 0; i < count; i++)
    if (values[i] != 0)
      next[((uint64_t)values[i] - (uint64_t)list->minimum) >> list->shift]++;
  for (size_t bucket = 1; bucket < buckets; bucket++)
    next[bucket] += next[bucket - 1];
  next--;
  for (size_t i = 0; i < count; i++) {
    if (values[i] == 0)
      continue;
    uint32_t at = next[((uint64_t)values[i] - (uint64_t)list->minimum) >> list->shift]++;
    list->rows[at] = (uint32_t)i;
    if (list->keys != NULL)
      list->keys[at] = values[i];
  }
  for (size_t bucket = 0; bucket < buckets && list->keys != NULL; bucket++)
    sort_bucket(list, list->first[bucket], list->first[bucket + 1]);
}

struct key_list *key_list_create(const int64_t *values, size_t count)
{
  struct key_list *list = memory_new(1, sizeof *list);
  size_t used = survey(list, values, count);
  if (!list->is_dense && used > 0)
    fill(list, values, count, used);
  return list;
}

struct key_list *key_list_create_counting(int64_t first, size_t count)
{
  struct key_list *list = memory_new(1, sizeof *list);
  *list = (struct key_list){.minimum = first, .range = count - 1, .is_dense = true};
  return list;
}

// First place in [from, to) whose key is at least `key`.
static uint32_t lower_bound(const struct key_list *list, uint32_t from, uint32_t to, int64_t key)
{
  return from + (uint32_t)sorted_lower_bound_i64(key, list->keys + from, to - from, sizeof *list->keys);
}

size_t key_list_find(const struct key_list *list, int64_t key, const uint32_t **ret_rows, uint32_t *ret_first)
{
  uint64_t offset = (uint64_t)key - (uint64_t)list->minimum;
  *ret_rows = NULL;
  *ret_first = 0;
  if (key < list->minimum || offset > list->range || key == 0)
    return 0;
  if (list->is_dense) {
    *ret_first = (uint32_t)offset;
    return 1;
  }
  uint32_t from = list->first[offset >> list->shift];
  uint32_t to = list->first[(offset >> list->shift) + 1];
  if (list->keys != NULL) {
    uint32_t end = to;
    from = lower_bound(list, from, end, key);
    to = key == INT64_MAX ? end : lower_bound(list, from, end, key + 1);
  }
  if (from == to)
    return 0;
  *ret_rows = list->rows + from;
  *ret_first = list->rows[from];
  return to - from;
}
