// SPDX-License-Identifier: Apache-2.0
// Writes and reads records of agents as JSON. Called by start.c and registry.c; fuzzed.
#include "agent/record.h"

#include "base/json_read.h"
#include "http/guard.h"

#include <ctype.h>
#include <string.h>

// clang-format off
static const struct record_field fields[] = { // ends with {0}
    {"name", false, offsetof(struct agent_record, name)},
    {"url", false, offsetof(struct agent_record, url)},
    {"jobs", true, offsetof(struct agent_record, jobs)},
    {"busy", true, offsetof(struct agent_record, busy)},
    {"architecture", false, offsetof(struct agent_record, architecture)},
    {"cpu_model", false, offsetof(struct agent_record, cpu_model)},
    {"cpus", true, offsetof(struct agent_record, cpus)},
    {"memory_bytes", true, offsetof(struct agent_record, memory_bytes)},
    {"gpu_model", false, offsetof(struct agent_record, gpu_model)},
    {"gpus", true, offsetof(struct agent_record, gpus)},
    {"gpu_memory_bytes", true, offsetof(struct agent_record, gpu_memory_bytes)},
    {"interconnect", false, offsetof(struct agent_record, interconnect)},
    {0},
};
// clang-format on

bool agent_name_is_valid(const char *name)
{
  return guard_is_name(slice_of(name)) && isalnum((unsigned char)name[0]);
}

bool agent_url_is_valid(const char *url)
{
  const char *host = text_begins_with(url, "http://") ? url + 7 : text_begins_with(url, "https://") ? url + 8 : "";
  size_t length = strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]");
  return length > 0 && length < 300 && host[length] == 0;
}

// ---- writing ---------------------------------------------------------------------------------------------------------
void agent_record_write_models(const struct agent_model *models, size_t count, struct json_writer *json)
{
  json_array(json);
  for (size_t i = 0; i < count; i++) {
    json_object(json);
    json_member_string(json, "file", models[i].file);
    json_member_string(json, "name", models[i].name);
    json_member_string(json, "version", models[i].version);
    json_member_string(json, "task", models[i].task);
    json_member_string(json, "framework", models[i].framework);
    json_member_string(json, "framework_version", models[i].framework_version);
    json_object_end(json);
  }
  json_array_end(json);
}

void agent_record_write(const struct agent_record *record, struct json_writer *json)
{
  json_object(json);
  for (const struct record_field *field = fields; field->key != NULL; field++) {
    if (!field->is_number)
      json_member_string(json, field->key, record_text(record, field->offset));
    else if (field->offset == offsetof(struct agent_record, busy))
      json_member_int(json, field->key, record->busy);
    else
      json_member_int_or_null(json, field->key, record_number(record, field->offset));
  }
  json_member_array(json, "frameworks");
  for (size_t i = 0; i < record->framework_count; i++) {
    json_object(json);
    json_member_string(json, "name", record->frameworks[i].name);
    json_member_string(json, "version", record->frameworks[i].version);
    json_object_end(json);
  }
  json_array_end(json);
  json_key(json, "models");
  agent_record_write_models(record->models, record->model_count, json);
  json_object_end(json);
}

// ---- reading ---------------------------------------------------------------------------------------------------------
struct reading {
  struct arena *arena;
  struct agent_record *record;
  size_t framework_capacity, model_capacity;
};

// A text without control bytes, or null. False: something else.
static bool take_text(struct arena *arena, const struct json_reader *json, const char **ret_text)
{
  *ret_text = NULL;
  if (json->event != JSON_STRING)
    return json->event == JSON_NULL;
  for (size_t i = 0; i < json->length; i++)
    if ((unsigned char)json->text[i] < 0x20 || json->text[i] == 0x7f)
      return false;
  *ret_text = arena_copy(arena, json->text, json->length);
  return true;
}

static bool take_number(const struct json_reader *json, int64_t *ret_number)
{
  *ret_number = 0;
  return json->event == JSON_NULL || (json_int64(json, ret_number) && *ret_number >= 0);
}

// Room for one more item, zeroed; NULL: there are too many.
static void *add_item(struct arena *arena, void *items_place, size_t *count, size_t *capacity, size_t item_bytes)
{
  void *items, *longer;
  memcpy(&items, items_place, sizeof items);
  if (*count == RECORD_LIST_MOST)
    return NULL;
  if (*count == *capacity) {
    *capacity = *capacity == 0 ? 8 : *capacity * 2;
    longer = arena_alloc_array(arena, *capacity, item_bytes);
    if (*count > 0)
      memcpy(longer, items, *count * item_bytes);
    items = longer;
    memcpy(items_place, &items, sizeof items);
  }
  return (char *)items + (*count)++ * item_bytes;
}

struct text_place {
  const char *key;
  const char **place;
};
struct texts {
  struct arena *arena;
  const struct text_place *places; // ends with {0}
};

static bool take_texts(void *context, struct json_reader *json, const char *key)
{
  const struct texts *texts = context;
  for (const struct text_place *one = texts->places; one->key != NULL; one++)
    if (strcmp(one->key, key) == 0)
      return take_text(texts->arena, json, one->place);
  return true;
}

static bool take_framework(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct agent_record *record = reading->record;
  struct agent_framework *framework = add_item(reading->arena, &record->frameworks, &record->framework_count,
                                               &reading->framework_capacity, sizeof *framework);
  if (framework == NULL || json->event != JSON_OBJECT)
    return false;
  const struct text_place places[] = {{"name", &framework->name}, {"version", &framework->version}, {0}};
  return json_each(json, take_texts, &(struct texts){reading->arena, places}) && framework->name != NULL;
}

static bool take_model(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct agent_record *record = reading->record;
  struct agent_model *model =
      add_item(reading->arena, &record->models, &record->model_count, &reading->model_capacity, sizeof *model);
  if (model == NULL || json->event != JSON_OBJECT)
    return false;
  const struct text_place places[] = {{"file", &model->file},
                                      {"name", &model->name},
                                      {"version", &model->version},
                                      {"task", &model->task},
                                      {"framework", &model->framework},
                                      {"framework_version", &model->framework_version},
                                      {0}};
  return json_each(json, take_texts, &(struct texts){reading->arena, places}) && model->name != NULL &&
         model->version != NULL && model->framework != NULL;
}

static bool take_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  char *record = (char *)reading->record;
  for (const struct record_field *field = fields; field->key != NULL; field++)
    if (strcmp(field->key, key) == 0)
      return field->is_number ? take_number(json, (int64_t *)(void *)(record + field->offset))
                              : take_text(reading->arena, json, (const char **)(void *)(record + field->offset));
  if (strcmp(key, "frameworks") == 0)
    return json->event == JSON_ARRAY && json_each(json, take_framework, reading);
  if (strcmp(key, "models") == 0)
    return json->event == JSON_ARRAY && json_each(json, take_model, reading);
  return true;
}

bool agent_record_read(struct slice text, struct arena *arena, struct agent_record *ret_record)
{
  struct reading reading = {.arena = arena, .record = ret_record};
  *ret_record = (struct agent_record){0};
  return json_each_of_text(text.data, text.length, take_member, &reading) && ret_record->name != NULL &&
         agent_name_is_valid(ret_record->name) && ret_record->url != NULL && agent_url_is_valid(ret_record->url);
}
