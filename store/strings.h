// SPDX-License-Identifier: Apache-2.0
// The interned strings of one file: id → text at array speed, text → id by hash. Texts never move. One thread.
#ifndef XSP_STORE_STRINGS_H
#define XSP_STORE_STRINGS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct strings { // starts as {0}
  struct arena arena;
  const char **text; // by id; [0] is ""
  size_t *length;
  uint32_t count; // ids are 1 … count - 1; 0 while nothing was ever loaded or interned
  uint32_t capacity;
  uint32_t *slots; // open addressing, ids; 0: free. Built when texts are looked up again and again.
  uint32_t slot_count;
  uint32_t searches; // without slots
  uint64_t seed;     // of the hash: a file may hold any texts
};

void strings_done(struct strings *strings);
bool strings_intern(struct strings *strings, const char *text, size_t length, uint32_t *ret_id); // false: memory
// A text that the caller knows is not there: no look-up. Later look-ups by text build the table anew.
bool strings_add(struct strings *strings, const char *text, size_t length, uint32_t *ret_id); // false: memory
bool strings_find(struct strings *strings, const char *text, size_t length, uint32_t *ret_id);
// Reads what the file has beyond what is already here.
enum status strings_load(struct strings *strings, struct sqlite3 *db, const char *path, struct error *err) MUST_CHECK;

#endif
