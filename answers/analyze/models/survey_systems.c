// SPDX-License-Identifier: Apache-2.0
// Tells the systems of a survey apart by what they compute with, not by host or time: two files of one kind of machine
// are of one system. Called by survey.c and the tables that compare systems.
#include "analyze/models/survey_systems.h"

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

bool survey_system_values_are_equal(const struct store_system_value *a, const struct store_system_value *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  if (a->is_number != b->is_number)
    return false;
  if (a->is_number)
    return a->number == b->number;
  return a->text == NULL || b->text == NULL ? a->text == b->text : strcmp(a->text, b->text) == 0;
}

// The first key of the identity in which they differ; IDENTITY_COUNT: they are one system.
static size_t first_difference(const struct survey_item *a, const struct survey_item *b)
{
  for (size_t i = 0; i < IDENTITY_COUNT; i++)
    if (!survey_system_values_are_equal(find(a, identity[i]), find(b, identity[i])))
      return i;
  return IDENTITY_COUNT;
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

static void put_value(struct buf *text, const char *key, const struct store_system_value *value)
{
  if (value == NULL)
    buf_format(text, "no %s", key);
  else if (value->is_number)
    buf_format(text, "%s %.6g", key, value->number);
  else
    buf_format(text, "%s %s", key, value->text != NULL ? value->text : "");
}

// The name, with what differs from earlier systems of the same name: "Tesla P4 (gpu_count 2, cpus 8)". NULL: no name.
static const char *distinct_name(struct survey *survey, size_t index)
{
  const struct survey_item *item = &survey->items[index];
  const char *name = own_name(item);
  bool differs[IDENTITY_COUNT] = {false};
  for (size_t i = 0; name != NULL && i < index; i++) {
    const char *other = own_name(&survey->items[i]);
    size_t key = first_difference(item, &survey->items[i]);
    if (key < IDENTITY_COUNT && other != NULL && strcmp(name, other) == 0)
      differs[key] = true;
  }
  struct buf text SCOPED(buf_done) = {0};
  for (size_t key = 0; key < IDENTITY_COUNT; key++)
    if (differs[key]) {
      buf_text(&text, text.length > 0 ? ", " : "");
      put_value(&text, identity[key], find(item, identity[key]));
    }
  if (text.length > 0)
    name = arena_format(survey->arena, "%s (%.*s)", name, (int)text.length, text.data);
  return name;
}

void survey_systems_name(struct survey *survey)
{
  size_t systems = 0;
  for (size_t i = 0; i < survey->count; i++) {
    struct survey_item *item = &survey->items[i];
    size_t same = 0;
    while (same < i && first_difference(item, &survey->items[same]) < IDENTITY_COUNT)
      same++;
    if (same < i) {
      item->system_number = survey->items[same].system_number;
      item->system_name = survey->items[same].system_name;
      continue;
    }
    item->system_number = systems++;
    item->system_name = distinct_name(survey, i);
  }
}

void survey_systems_note(struct survey *survey, const struct survey_item *a, const struct survey_item *b)
{
  struct buf keys SCOPED(buf_done) = {0};
  for (size_t i = 0; i < a->system_count; i++)
    if (!survey_system_values_are_equal(&a->system[i], find(b, a->system[i].key)))
      buf_format(&keys, "%s%s", keys.length > 0 ? ", " : "", a->system[i].key);
  for (size_t i = 0; i < b->system_count; i++)
    if (find(a, b->system[i].key) == NULL)
      buf_format(&keys, "%s%s", keys.length > 0 ? ", " : "", b->system[i].key);
  if (keys.length > 0)
    table_note(&survey->table, "%s and %s differ in %s", a->system_name != NULL ? a->system_name : "a system",
               b->system_name != NULL ? b->system_name : "a system of which nothing is known", keys.data);
}
