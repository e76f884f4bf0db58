// SPDX-License-Identifier: Apache-2.0
// Tells the systems of a survey apart by what they compute with, not by host or time: two files of one kind of machine
// are of one system. Called by survey.c and the tables that compare systems.
#include "analyze/survey_systems.h"

#include "base/buf.h"

#include <string.h>

// Two systems are the same where all of these are. The first one that is known is the system's name.
static const char *const identity[] = {"gpu",       "name",         "cpu_model",    "cpu",  "machine",
                                       "gpu_count", "architecture", "cpus_allowed", "cpus", "cpu_quota"};
enum { IDENTITY_COUNT = sizeof identity / sizeof identity[0], NAME_COUNT = 5 };

static const struct store_system_value *find(const struct survey_item *item, const char *key)
{
  for (size_t i = 0; i < item->system_count; i++)
    if (strcmp(item->system[i].key, key) == 0)
      return &item->system[i];
  return NULL;
}

static bool are_equal(const struct store_system_value *a, const struct store_system_value *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  if (a->is_number != b->is_number)
    return false;
  if (a->is_number)
    return a->number == b->number;
  return a->text == NULL || b->text == NULL ? a->text == b->text : strcmp(a->text, b->text) == 0;
}

// The first key of the identity in which they differ; NULL: they are one system.
static const char *first_difference(const struct survey_item *a, const struct survey_item *b)
{
  for (size_t i = 0; i < IDENTITY_COUNT; i++)
    if (!are_equal(find(a, identity[i]), find(b, identity[i])))
      return identity[i];
  return NULL;
}

static const char *own_name(const struct survey_item *item)
{
  for (size_t i = 0; i < NAME_COUNT; i++) {
    const struct store_system_value *value = find(item, identity[i]);
    if (value != NULL && !value->is_number && value->text != NULL && value->text[0] != 0)
      return value->text;
  }
  return NULL;
}

// A system of the same name as one before it says what is different: "Tesla P4 (gpu_count 2)".
static const char *distinct_name(struct survey *survey, size_t index)
{
  const struct survey_item *item = &survey->items[index];
  const char *name = own_name(item);
  for (size_t i = 0; name != NULL && i < index; i++) {
    const char *other = own_name(&survey->items[i]);
    const char *key = first_difference(item, &survey->items[i]);
    if (other == NULL || key == NULL || strcmp(name, other) != 0)
      continue;
    const struct store_system_value *value = find(item, key);
    if (value == NULL)
      return arena_format(survey->arena, "%s (no %s)", name, key);
    return value->is_number ? arena_format(survey->arena, "%s (%s %.6g)", name, key, value->number)
                            : arena_format(survey->arena, "%s (%s %s)", name, key, value->text);
  }
  return name;
}

bool survey_systems_name(struct survey *survey)
{
  size_t systems = 0;
  for (size_t i = 0; i < survey->count; i++) {
    struct survey_item *item = &survey->items[i];
    size_t same = 0;
    while (same < i && first_difference(item, &survey->items[same]) != NULL)
      same++;
    if (same < i) {
      item->system_number = survey->items[same].system_number;
      item->system_name = survey->items[same].system_name;
      continue;
    }
    item->system_number = systems++;
    item->system_name = distinct_name(survey, i);
    if (item->system_name == NULL && own_name(item) != NULL)
      return false;
  }
  return true;
}

void survey_systems_note(struct survey *survey, const struct survey_item *a, const struct survey_item *b)
{
  struct buf keys;
  buf_init(&keys, BUF_MAXIMUM_DEFAULT);
  for (size_t i = 0; i < a->system_count; i++)
    if (!are_equal(&a->system[i], find(b, a->system[i].key)))
      buf_format(&keys, "%s%s", keys.length > 0 ? ", " : "", a->system[i].key);
  for (size_t i = 0; i < b->system_count; i++)
    if (find(a, b->system[i].key) == NULL)
      buf_format(&keys, "%s%s", keys.length > 0 ? ", " : "", b->system[i].key);
  survey->table.failed |= keys.failed;
  if (keys.length > 0)
    table_note(&survey->table, "%s and %s differ in %s", a->system_name != NULL ? a->system_name : "a system",
               b->system_name != NULL ? b->system_name : "a system of which nothing is known", keys.data);
  buf_done(&keys);
}
