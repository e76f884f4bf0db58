// SPDX-License-Identifier: Apache-2.0
// Numbers, texts and StringIds of the Nsight Systems importer; see reader.h.
#include "importers/nsys/reader.h"

#include "base/buf.h"
#include "base/json_scan.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

// ---- numbers ---------------------------------------------------------------------------------------------------------
bool nsys_map_find(struct nsys_map *map, struct nsys_key key, uint32_t *ret_value)
{
  uint32_t id;
  bool is_there = interner_find(&map->keys, (const char *)&key, sizeof key, &id);
  if (is_there)
    *ret_value = map->values.items[id];
  return is_there;
}

void nsys_map_put(struct nsys_map *map, struct nsys_key key, uint32_t value)
{
  uint32_t id = interner_at(&map->keys, (const char *)&key, sizeof key);
  if (id == map->values.count)
    (void)vector_add(&map->values);
  map->values.items[id] = value;
}

struct nsys_key nsys_map_key(const struct nsys_map *map, uint32_t id)
{
  struct nsys_key key;
  memcpy(&key, interner_text(&map->keys, id).data, sizeof key);
  return key;
}

void nsys_map_done(struct nsys_map *map)
{
  interner_done(&map->keys);
  vector_done(&map->values);
}

// ---- texts -----------------------------------------------------------------------------------------------------------
const char *nsys_copy(struct import *import, struct slice text)
{
  if (utf8_is_valid(text.data, text.length))
    return arena_copy(import->arena, text.data, text.length);
  char *copy = arena_alloc(import->arena, 3 * text.length + 1);
  json_repair_utf8(text.data, text.length, copy);
  return copy;
}

// Of several rows with one id the first counts.
static enum status add_row(void *context, struct import_scan *scan, struct error *err)
{
  struct nsys_strings *strings = context;
  struct nsys_key key = {import_scan_int(scan, 0, 0), 0, 0};
  struct slice text = import_scan_text(scan, 1);
  uint32_t place;
  if (text.data == NULL || nsys_map_find(&strings->found, key, &place))
    return STATUS_OK;
  nsys_map_put(&strings->found, key, (uint32_t)strings->texts.count);
  *vector_add(&strings->texts) =
      (struct slice){arena_copy(strings->import->arena, text.data, text.length), text.length};
  return STATUS_OK;
}

enum status nsys_strings_open(struct nsys_strings *ret_strings, struct import *import, struct import_database *database,
                              struct error *err)
{
  static const struct import_column columns[] = {{"id", true}, {"value", true}};
  *ret_strings = (struct nsys_strings){.import = import};
  struct import_scan scan;
  enum status status = import_scan_begin(database, "StringIds", columns, 2, &scan, err);
  if (status == STATUS_OK && scan.statement != NULL)
    status = import_lookup_begin(database, "StringIds", "id", "value", &ret_strings->lookup, err);
  if (status == STATUS_OK && ret_strings->lookup.statement == NULL)
    status = import_scan_rows(&scan, add_row, ret_strings, err);
  import_scan_end(&scan);
  return status;
}

enum status nsys_string(struct nsys_strings *strings, int64_t id, uint32_t *ret_string, struct error *err)
{
  struct nsys_key key = {id, 0, 0};
  if (nsys_map_find(&strings->known, key, ret_string))
    return STATUS_OK;
  struct slice text = {NULL, 0};
  char missing[48];
  uint32_t place;
  if (nsys_map_find(&strings->found, key, &place))
    text = strings->texts.items[place];
  if (strings->lookup.statement != NULL)
    XSP_TRY(import_lookup_text(&strings->lookup, id, &text, err));
  if (text.data == NULL) {
    snprintf(missing, sizeof missing, "[string %lld missing]", (long long)id);
    text = slice_of(missing);
    strings->missing++;
  }
  *ret_string = import_repaired(strings->import, text);
  nsys_map_put(&strings->known, key, *ret_string);
  return STATUS_OK;
}

void nsys_strings_close(struct nsys_strings *strings)
{
  import_lookup_end(&strings->lookup);
  nsys_map_done(&strings->known);
  nsys_map_done(&strings->found);
  vector_done(&strings->texts);
}
