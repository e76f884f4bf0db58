// SPDX-License-Identifier: Apache-2.0
// The interned strings of one file: id to text at array speed, text to id by hash. Id 0 is "". Texts never move. One thread.
#ifndef XSP_STORE_STRINGS_H
#define XSP_STORE_STRINGS_H

#include "base/error.h"
#include "base/interner.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct strings { // starts as {0}
  struct interner texts;
  uint32_t searches; // look-ups without the interner's index
};

static inline uint32_t strings_count(const struct strings *strings) // ids are below it; at least 1
{
  return strings->texts.texts.count == 0 ? 1 : interner_count(&strings->texts);
}

void strings_done(struct strings *strings);
uint32_t strings_intern(struct strings *strings, const char *text, size_t length);
// Adds a text that the caller knows to be new, without a look-up. The next look-up by text builds the index anew.
uint32_t strings_add(struct strings *strings, const char *text, size_t length);
bool strings_find(struct strings *strings, const char *text, size_t length, uint32_t *ret_id);
// Reads what the file has beyond what is already here.
enum status strings_load(struct strings *strings, struct sqlite3 *db, const char *path, struct error *err) MUST_CHECK;

#endif
