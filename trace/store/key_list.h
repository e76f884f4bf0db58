// SPDX-License-Identifier: Apache-2.0
// From a value to the rows that hold it, for one column of ids: a directory over rows sorted by value. Pure.
#ifndef XSP_STORE_KEY_LIST_H
#define XSP_STORE_KEY_LIST_H

#include <stddef.h>
#include <stdint.h>

struct key_list;
// Rows of value 0 are left out: it means "none". `count` < UINT32_MAX. Copies what it needs.
struct key_list *key_list_create(const int64_t *values, size_t count);
struct key_list *key_list_create_counting(int64_t first, size_t count); // of first, first + 1 …; first >= 1
void key_list_free(struct key_list *list);                              // NULL is fine
// The rows of `key` in file order. *ret_rows NULL with a count of 1: the one row is *ret_first.
size_t key_list_find(const struct key_list *list, int64_t key, const uint32_t **ret_rows, uint32_t *ret_first);

#endif
