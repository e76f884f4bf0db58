// SPDX-License-Identifier: Apache-2.0
// The hash table, texts and StringIds of the Nsight Systems importer; see nsys_names.h.
#include "importers/nsys/names.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// ---- the hash table --------------------------------------------------------------------------------------------------
static uint64_t mix(uint64_t hash, int64_t number)
{
  hash = (hash ^ (uint64_t)number) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

static struct nsys_map_slot *slot_of(const struct nsys_map *map, struct nsys_key key)
{
  uint64_t hash = mix(mix(mix(mix(map->seed, key.a), key.b), key.c), (int64_t)map->seed);
  size_t at = (size_t)(hash >> 16) & (map->capacity - 1);
  while (map->slots[at].is_used &&
         (map->slots[at].key.a != key.a || map->slots[at].key.b != key.b || map->slots[at].key.c != key.c))
    at = (at + 1) & (map->capacity - 1);
  return &map->slots[at];
}

bool nsys_map_find(const struct nsys_map *map, struct nsys_key key, uint32_t *ret_value)
{
  if (map->count == 0)
    return false;
  const struct nsys_map_slot *slot = slot_of(map, key);
  if (slot->is_used)
    *ret_value = slot->value;
  return slot->is_used;
}

static bool grow(struct nsys_map *map)
{
  struct nsys_map bigger = {.capacity = map->capacity == 0 ? 64 : 2 * map->capacity, .count = map->count};
  bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
  if (bigger.slots == NULL)
    return false;
  if (getrandom(&bigger.seed, sizeof bigger.seed, GRND_NONBLOCK) != sizeof bigger.seed)
    bigger.seed = (uint64_t)(uintptr_t)bigger.slots;
  for (size_t i = 0; i < map->capacity; i++)
    if (map->slots[i].is_used)
      *slot_of(&bigger, map->slots[i].key) = map->slots[i];
  free(map->slots);
  *map = bigger;
  return true;
}

bool nsys_map_put(struct nsys_map *map, struct nsys_key key, uint32_t value)
{
  if (2 * map->count >= map->capacity && !grow(map))
    return false;
  struct nsys_map_slot *slot = slot_of(map, key);
  map->count += !slot->is_used;
  *slot = (struct nsys_map_slot){key, value, true};
  return true;
}

void nsys_map_done(struct nsys_map *map)
{
  free(map->slots);
  *map = (struct nsys_map){0};
}

// ---- texts -----------------------------------------------------------------------------------------------------------
static size_t well_formed(const char *text, size_t length)
{
  size_t at = 0;
  while (at < length) {
    size_t bytes = utf8_sequence((const unsigned char *)text + at, length - at);
    if (bytes == 0)
      break;
    at += bytes;
  }
  return at;
}

// *ret_clean: `text` with U+FFFD for every byte that belongs to no character.
static bool clean_text(const char *text, size_t length, struct buf *ret_clean)
{
  buf_init(ret_clean, 3 * length + 1);
  for (size_t at = 0; at < length;) {
    size_t good = well_formed(text + at, length - at);
    buf_put(ret_clean, text + at, good);
    if (at + good < length)
      buf_text(ret_clean, "\xef\xbf\xbd");
    at += good + 1;
  }
  return !ret_clean->failed;
}

enum status nsys_intern(struct import *import, const char *text, size_t length, uint32_t *ret_string, struct error *err)
{
  if (well_formed(text, length) == length) {
    *ret_string = import_string(import, text, length);
    return STATUS_OK;
  }
  struct buf clean;
  bool is_clean = clean_text(text, length, &clean);
  *ret_string = is_clean ? import_string(import, clean.data, clean.length) : 0;
  buf_done(&clean);
  return is_clean ? STATUS_OK : import_no_memory(import, err);
}

enum status nsys_copy(struct import *import, const char *text, size_t length, const char **ret_copy, struct error *err)
{
  struct buf clean;
  if (well_formed(text, length) == length) {
    *ret_copy = arena_copy(import->arena, text, length);
    return *ret_copy != NULL ? STATUS_OK : import_no_memory(import, err);
  }
  *ret_copy = clean_text(text, length, &clean) ? arena_copy(import->arena, clean.data, clean.length) : NULL;
  buf_done(&clean);
  return *ret_copy != NULL ? STATUS_OK : import_no_memory(import, err);
}

static struct nsys_key id_key(int64_t id)
{
  return (struct nsys_key){id, 0, 0};
}

static enum status keep(struct nsys_strings *strings, int64_t id, const char *text, size_t length, uint32_t *ret_string,
                        struct error *err)
{
  XSP_TRY(nsys_intern(strings->import, text, length, ret_string, err));
  if (!nsys_map_put(&strings->known, id_key(id), *ret_string))
    return import_no_memory(strings->import, err);
  return STATUS_OK;
}

// Of several rows with one id the first counts.
static enum status add_row(struct nsys_strings *strings, int64_t id, const char *text, size_t length, struct error *err)
{
  uint32_t place;
  if (nsys_map_find(&strings->found, id_key(id), &place))
    return STATUS_OK;
  if (strings->text_count == strings->text_capacity) {
    size_t capacity = strings->text_capacity == 0 ? 256 : 2 * strings->text_capacity;
    struct nsys_text_row *texts = realloc(strings->texts, capacity * sizeof *texts);
    if (texts == NULL || capacity > UINT32_MAX)
      return import_no_memory(strings->import, err);
    strings->texts = texts;
    strings->text_capacity = capacity;
  }
  const char *copy = arena_copy(strings->import->arena, text, length);
  if (copy == NULL || !nsys_map_put(&strings->found, id_key(id), (uint32_t)strings->text_count))
    return import_no_memory(strings->import, err);
  strings->texts[strings->text_count++] = (struct nsys_text_row){copy, length};
  return STATUS_OK;
}

static enum status read_all(struct nsys_strings *strings, struct nsys_scan *scan, struct error *err)
{
  bool has_row = false;
  XSP_TRY(nsys_scan_next(scan, &has_row, err));
  while (has_row) {
    int64_t id = nsys_int(scan, 0, 0);
    size_t length;
    const char *text = nsys_text(scan, 1, &length);
    if (text != NULL)
      XSP_TRY(add_row(strings, id, text, length, err));
    XSP_TRY(nsys_scan_next(scan, &has_row, err));
  }
  return STATUS_OK;
}

enum status nsys_strings_open(struct nsys_strings *ret_strings, struct import *import, struct nsys_database *database,
                              struct error *err)
{
  static const struct nsys_column columns[] = {{"id", true}, {"value", true}};
  *ret_strings = (struct nsys_strings){.import = import};
  struct nsys_scan scan;
  enum status status = nsys_scan_begin(database, "StringIds", columns, 2, &scan, err);
  if (status == STATUS_OK && scan.statement != NULL)
    status = nsys_lookup_begin(database, "StringIds", "id", "value", &ret_strings->lookup, err);
  if (status == STATUS_OK && ret_strings->lookup.statement == NULL)
    status = read_all(ret_strings, &scan, err);
  nsys_scan_end(&scan);
  return status;
}

enum status nsys_string(struct nsys_strings *strings, int64_t id, uint32_t *ret_string, struct error *err)
{
  if (nsys_map_find(&strings->known, id_key(id), ret_string))
    return STATUS_OK;
  const char *text = NULL;
  size_t length = 0;
  char missing[48];
  uint32_t place;
  if (nsys_map_find(&strings->found, id_key(id), &place)) {
    text = strings->texts[place].text;
    length = strings->texts[place].length;
  }
  if (strings->lookup.statement != NULL)
    XSP_TRY(nsys_lookup_text(&strings->lookup, id, &text, &length, err));
  if (text == NULL) {
    length = (size_t)snprintf(missing, sizeof missing, "[string %lld missing]", (long long)id);
    text = missing;
    strings->missing++;
  }
  return keep(strings, id, text, length, ret_string, err);
}

void nsys_strings_close(struct nsys_strings *strings)
{
  nsys_lookup_end(&strings->lookup);
  nsys_map_done(&strings->known);
  nsys_map_done(&strings->found);
  free(strings->texts);
  strings->texts = NULL;
}
