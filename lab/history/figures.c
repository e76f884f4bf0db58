// SPDX-License-Identifier: Apache-2.0
// Sorts, finds, writes and reads the figures of a record. Called by record.c, tables.c and database.c; the JSON may be anything.
#include "history/figures.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/sorted.h"

#include <math.h>

SORTED_BY(by_key, struct store_system_value, strcmp(a->key, b->key))

void figures_sort(struct store_system_value *figures, size_t count)
{
  if (count > 0)
    qsort(figures, count, sizeof *figures, by_key);
}

const struct store_system_value *figures_find(const struct store_system_value *figures, size_t count, const char *key)
{
  const struct store_system_value wanted = {.key = key};
  return count > 0 ? bsearch(&wanted, figures, count, sizeof *figures, by_key) : NULL;
}

void figures_write(const struct history_record *record, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  for (size_t i = 0; i < record->figure_count; i++)
    if (record->figures[i].is_number)
      json_member_double(&json, record->figures[i].key, record->figures[i].number);
    else
      json_member_string(&json, record->figures[i].key, record->figures[i].text);
  json_object_end(&json);
}

bool figures_read(const char *text, size_t length, struct arena *arena, struct history_record *record)
{
  struct json_reader json;
  VECTOR(struct store_system_value) figures SCOPED(vector_end) = {0};
  json_read_start(&json, text, length);
  bool is_object = json_next(&json) == JSON_OBJECT;
  while (is_object && json_next(&json) == JSON_KEY) {
    struct store_system_value value = {.key = arena_copy(arena, json.text, json.length)};
    enum json_event event = json_next(&json);
    value.is_number = event == JSON_NUMBER;
    if (value.is_number)
      value.number = strtod(json.text, NULL);
    else if (event == JSON_STRING)
      value.text = arena_copy(arena, json.text, json.length);
    if (value.text != NULL || (value.is_number && isfinite(value.number)))
      *vector_add(&figures) = value;
    is_object = json_skip(&json);
  }
  is_object = is_object && json.event == JSON_OBJECT_END && json_next(&json) == JSON_END;
  json_read_done(&json);
  if (is_object && figures.count > 0) {
    struct store_system_value *copy = arena_alloc_array(arena, figures.count, sizeof *copy);
    memcpy(copy, figures.items, figures.count * sizeof *copy);
    figures_sort(copy, figures.count);
    record->figures = copy;
    record->figure_count = figures.count;
  }
  return is_object;
}
