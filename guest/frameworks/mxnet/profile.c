// SPDX-License-Identifier: Apache-2.0
// Reads the profile that MXNet wrote; see profile.h. Each operator is there twice: as B and E of category "operator" on
// its thread, and as b and e of the same as a task; the first pair is read.
#include "frameworks/mxnet/profile.h"

#include "frameworks/common/json_file.h"

#include "base/sorted.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MOST 64u // operators open at once, on all threads

struct open_event {
  int64_t thread, start_us;
  const char *name;
};
struct reading {
  struct json_file file; // first
  struct pool *pool;
  struct mxnet_event *events;
  size_t count, capacity;
  struct open_event open[OPEN_MOST];
  size_t open_count;
};

static enum status broken(struct reading *reading, const char *why, struct error *err)
{
  return json_file_broken(&reading->file, why, err);
}

static enum status no_memory(struct reading *reading, struct error *err)
{
  return error_set(err, STATUS_MEMORY, reading->file.what, reading->file.path, NULL, "out of memory");
}

static enum status close_event(struct reading *reading, int64_t thread, int64_t end_us, const char *name,
                               struct error *err)
{
  size_t at = reading->open_count;
  while (at > 0 && (reading->open[at - 1].thread != thread || strcmp(reading->open[at - 1].name, name) != 0))
    at--;
  if (at == 0 || end_us < reading->open[at - 1].start_us)
    return STATUS_OK;
  const struct open_event open = reading->open[--at];
  memmove(&reading->open[at], &reading->open[at + 1], (reading->open_count - at - 1) * sizeof reading->open[0]);
  reading->open_count--;
  reading->events = framework_pool_grow(reading->pool, reading->events, reading->count, &reading->capacity, 1,
                                        sizeof *reading->events);
  if (reading->events == NULL)
    return no_memory(reading, err);
  reading->events[reading->count] =
      (struct mxnet_event){open.name, open.start_us, end_us, (uint64_t)thread, reading->count};
  reading->count++;
  return STATUS_OK;
}

struct raw {
  char name[256], category[32], phase[4];
  int64_t time_us, thread;
};

static enum status read_field(struct reading *reading, struct raw *raw, struct error *err)
{
  struct json_reader *json = &reading->file.json;
  const struct {
    const char *key;
    char *text;
    size_t size;
  } texts[] = {{"name", raw->name, sizeof raw->name},
               {"cat", raw->category, sizeof raw->category},
               {"ph", raw->phase, sizeof raw->phase}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(json->text, texts[i].key) == 0) {
      if (json_next(json) == JSON_STRING) {
        snprintf(texts[i].text, texts[i].size, "%s", json->text);
        return STATUS_OK;
      }
      return json_skip(json) ? STATUS_OK : broken(reading, "not a text", err);
    }
  int64_t *number = strcmp(json->text, "ts") == 0    ? &raw->time_us
                    : strcmp(json->text, "tid") == 0 ? &raw->thread
                                                     : NULL;
  bool is_hash = number == &raw->thread; // of a thread's id: up to 64 bits without a sign
  json_next(json);
  if (number != NULL && json->event == JSON_NUMBER && is_hash)
    *number = (int64_t)strtoull(json->text, NULL, 10);
  else if (number != NULL && json->event == JSON_NUMBER && !json_int64(json, number))
    return broken(reading, "a time is not a number of microseconds", err);
  return json_skip(json) ? STATUS_OK : broken(reading, "a value is missing", err);
}

static enum status read_event(struct json_file *file, void *target, struct error *err)
{
  struct reading *reading = target;
  struct json_reader *json = &file->json;
  struct raw raw = {.time_us = -1};
  while (json_next(json) == JSON_KEY)
    XSP_TRY(read_field(reading, &raw, err));
  if (strcmp(raw.category, "operator") != 0 || raw.time_us < 0 || raw.time_us > INT64_MAX / 4000)
    return STATUS_OK;
  if (strcmp(raw.phase, "E") == 0)
    return close_event(reading, raw.thread, raw.time_us, raw.name, err);
  if (strcmp(raw.phase, "B") != 0 || reading->open_count == OPEN_MOST)
    return STATUS_OK;
  const char *name = framework_pool_text(reading->pool, raw.name, strlen(raw.name));
  if (name == NULL)
    return no_memory(reading, err);
  reading->open[reading->open_count++] = (struct open_event){raw.thread, raw.time_us, name};
  return STATUS_OK;
}

static enum status read_events(struct json_file *file, void *target, struct error *err)
{
  return json_file_objects(file, read_event, target, err);
}

SORTED_BY(compare_events, struct mxnet_event, RISING(start_us) ?: RISING(order))

// `[ , {` as `[   {`.
static void drop_first_comma(char *text, size_t length)
{
  char *at = memchr(text, '[', length), *end = text + length;
  if (at == NULL)
    return;
  for (at++; at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'); at++)
    ;
  if (at < end && *at == ',')
    *at = ' ';
}

enum status mxnet_profile_read(char *text, size_t length, const char *path, struct pool *pool,
                               struct mxnet_profile *ret_profile, struct error *err)
{
  *ret_profile = (struct mxnet_profile){0};
  drop_first_comma(text, length);
  struct reading reading = {.file = {.path = path, .what = "cannot read MXNet's profile"}, .pool = pool};
  const struct json_member members[] = {{"traceEvents", read_events, &reading}};
  enum status status = json_file_read(&reading.file, text, length, members, 1, err);
  if (status != STATUS_OK || reading.count == 0)
    return status;
  qsort(reading.events, reading.count, sizeof *reading.events, compare_events);
  *ret_profile = (struct mxnet_profile){reading.events, reading.count};
  return STATUS_OK;
}
