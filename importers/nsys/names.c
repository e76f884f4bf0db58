// SPDX-License-Identifier: Apache-2.0
// The hash table, texts and StringIds of the Nsight Systems importer; see names.h.
#include "importers/nsys/names.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void grow(struct nsys_map *map)
{
  struct nsys_map bigger = {.capacity = map->capacity == 0 ? 64 : 2 * map->capacity, .count = map->count};
  bigger.slots = memory_new(bigger.capacity, sizeof *bigger.slots);
  bigger.seed = hash_new_seed();
  for (size_t i = 0; i < map->capacity; i++)
    if (map->slots[i].is_used)
      *slot_of(&bigger, map->slots[i].key) = map->slots[i];
  free(map->slots);
  *map = bigger;
}

void nsys_map_put(struct nsys_map *map, struct nsys_key key, uint32_t value)
{
  if (2 * map->count >= map->capacity)
    grow(map);
  struct nsys_map_slot *slot = slot_of(map, key);
  map->count += !slot->is_used;
  *slot = (struct nsys_map_slot){key, value, true};
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

uint32_t nsys_intern(struct import *import, const char *text, size_t length)
{
  if (well_formed(text, length) == length)
    return import_string(import, text, length);
  struct buf clean;
  buf_init(&clean, 3 * length + 1);
  buf_utf8(&clean, text, length);
  uint32_t string = import_string(import, clean.data, clean.length);
  buf_done(&clean);
  return string;
}

const char *nsys_copy(struct import *import, const char *text, size_t length)
{
  if (well_formed(text, length) == length)
    return arena_copy(import->arena, text, length);
  struct buf clean;
  buf_init(&clean, 3 * length + 1);
  buf_utf8(&clean, text, length);
  const char *copy = arena_copy(import->arena, clean.data, clean.length);
  buf_done(&clean);
  return copy;
}

static struct nsys_key id_key(int64_t id)
{
  return (struct nsys_key){id, 0, 0};
}

// Of several rows with one id the first counts.
static void add_row(struct nsys_strings *strings, int64_t id, const char *text, size_t length)
{
  uint32_t place;
  if (nsys_map_find(&strings->found, id_key(id), &place))
    return;
  nsys_map_put(&strings->found, id_key(id), (uint32_t)strings->texts.count);
  *vector_add(&strings->texts) = (struct nsys_text_row){arena_copy(strings->import->arena, text, length), length};
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
      add_row(strings, id, text, length);
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
    text = strings->texts.items[place].text;
    length = strings->texts.items[place].length;
  }
  if (strings->lookup.statement != NULL)
    XSP_TRY(nsys_lookup_text(&strings->lookup, id, &text, &length, err));
  if (text == NULL) {
    length = (size_t)snprintf(missing, sizeof missing, "[string %lld missing]", (long long)id);
    text = missing;
    strings->missing++;
  }
  *ret_string = nsys_intern(strings->import, text, length);
  nsys_map_put(&strings->known, id_key(id), *ret_string);
  return STATUS_OK;
}

void nsys_strings_close(struct nsys_strings *strings)
{
  nsys_lookup_end(&strings->lookup);
  nsys_map_done(&strings->known);
  nsys_map_done(&strings->found);
  vector_done(&strings->texts);
}
