// SPDX-License-Identifier: Apache-2.0
// Replies of etcd: 64-bit numbers are texts, keys and values are base64. Called by etcd.c.
#include "agent/etcd_reply.h"

#include "base/base64.h"
#include "base/json_read.h"

#include <string.h>

static bool take_number(const struct json_reader *json, int64_t *number)
{
  return (json->event == JSON_STRING || json->event == JSON_NUMBER) &&
         slice_int64((struct slice){json->text, json->length}, number);
}

static bool take_reply(void *context, struct json_reader *json, const char *key)
{
  struct etcd_reply *reply = context;
  if (strcmp(key, "ID") == 0)
    return take_number(json, &reply->id);
  if (strcmp(key, "TTL") == 0)
    return take_number(json, &reply->ttl_s);
  if (strcmp(key, "succeeded") == 0)
    reply->has_succeeded = json->event == JSON_TRUE;
  return strcmp(key, "result") != 0 || json->event != JSON_OBJECT || json_each(json, take_reply, reply);
}

bool etcd_reply_read(struct slice body, struct etcd_reply *ret_reply)
{
  *ret_reply = (struct etcd_reply){0};
  return json_each_of_text(body.data, body.length, take_reply, ret_reply);
}

// ---- entries ---------------------------------------------------------------------------------------------------------
struct reading {
  struct arena *arena;
  struct etcd_entries *entries;
  size_t capacity;
};

static bool take_bytes(struct arena *arena, const struct json_reader *json, struct slice *ret_bytes)
{
  char *bytes = arena_alloc(arena, json->length / 4 * 3 + 1);
  int length = json->event == JSON_STRING
                   ? base64_decode((struct slice){json->text, json->length}, (uint8_t *)bytes, json->length / 4 * 3)
                   : -1;
  *ret_bytes = (struct slice){bytes, length >= 0 ? (size_t)length : 0};
  return length >= 0;
}

static bool take_entry_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct etcd_entry *entry = &reading->entries->items[reading->entries->count - 1];
  if (strcmp(key, "key") == 0)
    return take_bytes(reading->arena, json, &entry->key);
  return strcmp(key, "value") != 0 || take_bytes(reading->arena, json, &entry->value);
}

static bool take_entry(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct etcd_entries *entries = reading->entries;
  if (entries->count == ETCD_ENTRIES_MOST)
    return false;
  if (entries->count == reading->capacity) {
    reading->capacity = reading->capacity == 0 ? 16 : 2 * reading->capacity;
    struct etcd_entry *longer = arena_alloc_array(reading->arena, reading->capacity, sizeof *longer);
    if (entries->count > 0)
      memcpy(longer, entries->items, entries->count * sizeof *longer);
    entries->items = longer;
  }
  entries->count++;
  return json->event == JSON_OBJECT && json_each(json, take_entry_member, reading);
}

static bool take_range(void *context, struct json_reader *json, const char *key)
{
  return strcmp(key, "kvs") != 0 || (json->event == JSON_ARRAY && json_each(json, take_entry, context));
}

bool etcd_reply_entries(struct slice body, struct arena *arena, struct etcd_entries *ret_entries)
{
  struct reading reading = {.arena = arena, .entries = ret_entries};
  *ret_entries = (struct etcd_entries){0};
  return json_each_of_text(body.data, body.length, take_range, &reading);
}

// ---- texts -----------------------------------------------------------------------------------------------------------
struct wanted {
  const char *key, *or_key;
  char *text;
  size_t size;
};

static bool take_wanted(void *context, struct json_reader *json, const char *key)
{
  struct wanted *wanted = context;
  if (json->event == JSON_STRING && (strcmp(key, wanted->key) == 0 || strcmp(key, wanted->or_key) == 0)) {
    size_t length = json->length < wanted->size ? json->length : wanted->size - 1;
    memcpy(wanted->text, json->text, length);
    wanted->text[length] = 0;
  }
  return true;
}

bool etcd_reply_token(struct slice body, char *text, size_t size)
{
  size_t length = 0;
  text[0] = 0;
  if (!json_each_of_text(body.data, body.length, take_wanted, &(struct wanted){"token", "token", text, size}))
    return false;
  while (text[length] > ' ' && text[length] <= '~')
    length++;
  return length > 0 && text[length] == 0 && length + 1 < size; // a cut one fills it
}

void etcd_reply_problem(struct slice body, char *text, size_t size)
{
  text[0] = 0;
  (void)json_each_of_text(body.data, body.length, take_wanted, &(struct wanted){"error", "message", text, size});
}
