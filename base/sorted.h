// SPDX-License-Identifier: Apache-2.0
// Orders for qsort, and binary searches in sorted arrays. Of equal items the first is found; `items` may be NULL where there
// are none.
//
//   SORTED_BY(compare_spans, struct span, RISING(start_ns) ?: FALLING(duration_ns) ?: RISING(row))
//
// defines the order of an array of struct span: by start, of equal starts the longer first, of those by row. Keys are
// expressions of the items `a` and `b`; the first that is not 0 decides.
#ifndef XSP_BASE_SORTED_H
#define XSP_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ORDER(left, right) (((left) > (right)) - ((left) < (right))) // -1: left comes first, 0: they are equal, 1
#define RISING(member) ORDER(a->member, b->member)
#define FALLING(member) ORDER(b->member, a->member)

#define SORTED_BY(name, type, keys)                                                                                    \
  static int name(const void *first, const void *second)                                                               \
  {                                                                                                                    \
    const type *a = first;                                                                                             \
    const type *b = second;                                                                                            \
    return keys;                                                                                                       \
  }

// The same for qsort_r, of numbers of rows: `a` and `b` are numbers, `of` is a pointer to `context_type`, qsort_r's last argument.
#define ROWS_SORTED_BY(name, number_type, context_type, keys)                                                          \
  static int name(const void *first, const void *second, void *context)                                                \
  {                                                                                                                    \
    const context_type *of = context;                                                                                  \
    const number_type a = *(const number_type *)first, b = *(const number_type *)second;                               \
    return keys;                                                                                                       \
  }

// The first place of [first, end) at which `is_before`, an expression of `place`, is false; `end`: there is none. It is true up to
// that place, and false from there on:
//
//   size_t after = PARTITION_POINT(place, 0, count, starts_ns[place] <= time_ns);
#define PARTITION_POINT(place, first, end, is_before)                                                                  \
  __extension__({                                                                                                      \
    size_t low_ = (first), high_ = (end);                                                                              \
    while (low_ < high_) {                                                                                             \
      size_t place = low_ + (high_ - low_) / 2;                                                                        \
      if (is_before)                                                                                                   \
        low_ = place + 1;                                                                                              \
      else                                                                                                             \
        high_ = place;                                                                                                 \
    }                                                                                                                  \
    low_;                                                                                                              \
  })

typedef int sorted_compare(const void *key, const void *item); // < 0: `key` belongs before `item`

// How many items are before `key`: the first that is not less, or `count`.
static inline size_t sorted_lower_bound(const void *key, const void *items, size_t count, size_t item_bytes,
                                        sorted_compare *compare)
{
  return PARTITION_POINT(i, 0, count, compare(key, (const char *)items + i * item_bytes) > 0);
}

// NULL: no equal item.
static inline void *sorted_find(const void *key, const void *items, size_t count, size_t item_bytes,
                                sorted_compare *compare)
{
  size_t at = sorted_lower_bound(key, items, count, item_bytes, compare);
  if (at == count)
    return NULL; // `items` may be NULL: no pointer is made from it
  const char *item = (const char *)items + at * item_bytes;
  return compare(key, item) == 0 ? (void *)item : NULL;
}

// Of two int64_t; also for qsort.
static inline int sorted_compare_i64(const void *left, const void *right)
{
  return ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

// Of two doubles that are numbers.
static inline int sorted_compare_double(const void *left, const void *right)
{
  return ORDER(*(const double *)left, *(const double *)right);
}

// Of two texts, which the items point to.
static inline int sorted_compare_text(const void *left, const void *right)
{
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// Numbers that are `stride_bytes` apart, the first at `keys`: a member of an array's items, say.
static inline size_t sorted_lower_bound_i64(int64_t key, const int64_t *keys, size_t count, size_t stride_bytes)
{
  return PARTITION_POINT(i, 0, count, *(const int64_t *)(const void *)((const char *)keys + i * stride_bytes) < key);
}

#endif
