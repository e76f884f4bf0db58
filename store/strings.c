// SPDX-License-Identifier: Apache-2.0
// String table. Used by the writer (interning) and by every reader (names of spans, keys of tags).
#include "store/strings.h"

#include "base/hash.h"
#include "store/problem.h"
#include "store/sqlite_api.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256u
#define STRINGS_MAXIMUM (UINT32_C(1) << 30)
#define SEARCHES_MOST 4 // from one end to the other, before building slots pays: it costs some 50 of them

void strings_done(struct strings *strings)
{
  arena_done(&strings->arena);
  free(strings->text);
  free(strings->length);
  free(strings->slots);
  *strings = (struct strings){0};
}

// Where `text` is, or the free slot where it belongs.
static uint32_t *find_slot(const struct strings *strings, const char *text, size_t length)
{
  uint32_t mask = strings->slot_count - 1;
  for (uint32_t at = (uint32_t)hash_text(text, length, strings->seed) & mask;; at = (at + 1) & mask) {
    uint32_t id = strings->slots[at];
    if (id == 0 || (strings->length[id] == length && memcmp(strings->text[id], text, length) == 0))
      return &strings->slots[at];
  }
}

// Keeps at least half of the slots free. A text that a broken file holds twice is found under its first id.
static bool build_slots(struct strings *strings)
{
  uint32_t wanted = 2 * strings->capacity;
  uint32_t *slots = calloc(wanted, sizeof *slots);
  if (slots == NULL)
    return false;
  if (strings->seed == 0)
    strings->seed = hash_new_seed();
  free(strings->slots);
  strings->slots = slots;
  strings->slot_count = wanted;
  for (uint32_t id = 1; id < strings->count; id++) {
    uint32_t *slot = find_slot(strings, strings->text[id], strings->length[id]);
    if (*slot == 0)
      *slot = id;
  }
  return true;
}

// Room for one more. `capacity` stays a power of two.
static bool make_room(struct strings *strings)
{
  if (strings->count < strings->capacity)
    return true;
  if (strings->capacity >= STRINGS_MAXIMUM)
    return false;
  uint32_t capacity = strings->capacity == 0 ? FIRST_CAPACITY : 2 * strings->capacity;
  const char **text = realloc(strings->text, capacity * sizeof *text);
  if (text != NULL)
    strings->text = text;
  size_t *lengths = realloc(strings->length, capacity * sizeof *lengths);
  if (lengths != NULL)
    strings->length = lengths;
  if (text == NULL || lengths == NULL)
    return false;
  strings->capacity = capacity;
  if (strings->count == 0) {
    text[0] = "";
    lengths[0] = 0;
    strings->count = 1;
  }
  return strings->slots == NULL || build_slots(strings);
}

static bool append(struct strings *strings, const char *text, size_t length)
{
  if (!make_room(strings))
    return false;
  char *copy = arena_copy(&strings->arena, text, length);
  if (copy == NULL)
    return false;
  strings->text[strings->count] = copy;
  strings->length[strings->count] = length;
  strings->count++;
  return true;
}

bool strings_intern(struct strings *strings, const char *text, size_t length, uint32_t *ret_id)
{
  *ret_id = 0;
  if (length == 0)
    return true;
  if (!make_room(strings) || (strings->slots == NULL && !build_slots(strings)))
    return false;
  uint32_t *slot = find_slot(strings, text, length);
  if (*slot == 0) {
    if (!append(strings, text, length))
      return false;
    *slot = strings->count - 1;
  }
  *ret_id = *slot;
  return true;
}

bool strings_add(struct strings *strings, const char *text, size_t length, uint32_t *ret_id)
{
  *ret_id = 0;
  if (length == 0)
    return true;
  free(strings->slots);
  strings->slots = NULL;
  if (!append(strings, text, length))
    return false;
  *ret_id = strings->count - 1;
  return true;
}

// Once or twice, comparing lengths is far cheaper than hashing all texts.
static uint32_t search(const struct strings *strings, const char *text, size_t length)
{
  for (uint32_t id = 1; id < strings->count; id++)
    if (strings->length[id] == length && memcmp(strings->text[id], text, length) == 0)
      return id;
  return 0;
}

bool strings_find(struct strings *strings, const char *text, size_t length, uint32_t *ret_id)
{
  *ret_id = 0;
  if (length == 0)
    return true;
  if (strings->count == 0)
    return false;
  if (strings->slots == NULL && strings->searches < SEARCHES_MOST) {
    strings->searches++;
    *ret_id = search(strings, text, length);
    return *ret_id != 0;
  }
  if (strings->slots == NULL && !build_slots(strings))
    return false;
  *ret_id = *find_slot(strings, text, length);
  return *ret_id != 0;
}

enum status strings_load(struct strings *strings, struct sqlite3 *db, const char *path, struct error *err)
{
  if (!make_room(strings))
    return problem_memory(err, "cannot read trace", path);
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(db, "SELECT string_id, text FROM main.string WHERE string_id >= ?1 ORDER BY string_id",
                                -1, &statement, NULL);
  if (code != SQLITE_OK)
    return problem_sqlite(err, "cannot read trace", path, db);
  sqlite3_bind_int64(statement, 1, strings->count);
  enum status status = STATUS_OK;
  while (status == STATUS_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(statement, 1);
    size_t length = (size_t)sqlite3_column_bytes(statement, 1);
    if (sqlite3_column_int64(statement, 0) != strings->count)
      status = problem_broken(err, path, "the ids of its strings have gaps");
    else if (!append(strings, text != NULL ? text : "", text != NULL ? length : 0))
      status = problem_memory(err, "cannot read trace", path);
  }
  if (status == STATUS_OK && code != SQLITE_DONE)
    status = problem_sqlite(err, "cannot read trace", path, db);
  sqlite3_finalize(statement);
  if (status == STATUS_OK && strings->slots != NULL && !build_slots(strings))
    status = problem_memory(err, "cannot read trace", path);
  return status;
}
