// SPDX-License-Identifier: Apache-2.0
// Writes and reads what is to be evaluated. Called by remote.c and evaluation_routes.c.
#include "agent/submission.h"

#include "base/json_read.h"

#include <string.h>

const struct submission_option submission_options[SUBMISSION_OPTIONS] = {
    {"batch", SUBMISSION_NUMBER},   {"limit", SUBMISSION_NUMBER}, {"warmup", SUBMISSION_NUMBER},
    {"threads", SUBMISSION_NUMBER}, {"levels", SUBMISSION_TEXT},  {"items", SUBMISSION_FLAG},
    {"publish", SUBMISSION_TEXT},
};

void submission_write(const struct submission *submission, struct json_writer *json)
{
  json_object(json);
  json_member_array(json, "models");
  for (size_t i = 0; i < submission->model_count; i++)
    json_string(json, submission->models[i]);
  json_array_end(json);
  if (submission->framework != NULL)
    json_member_string(json, "framework", submission->framework);
  json_member_string(json, "data", submission->data);
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++) {
    if (submission->values[i] == NULL)
      continue;
    json_key(json, submission_options[i].name);
    if (submission_options[i].kind == SUBMISSION_TEXT)
      json_string(json, submission->values[i]);
    else
      json_written(json, submission->values[i]);
  }
  json_object_end(json);
}

// ---- reading ---------------------------------------------------------------------------------------------------------
struct reading {
  struct arena *arena;
  struct submission *submission;
  const char *problem;
};

static bool fail(struct reading *reading, const char *problem)
{
  reading->problem = problem;
  return false;
}

// Options begin with "--", and are handed on as one argument with their value; so any text without control bytes is harmless.
static const char *take_text(struct reading *reading, const struct json_reader *json)
{
  if (json->event != JSON_STRING || json->length == 0 || json->length > 4096)
    return NULL;
  for (size_t i = 0; i < json->length; i++)
    if ((unsigned char)json->text[i] < 0x20 || json->text[i] == 0x7f)
      return NULL;
  return arena_copy(reading->arena, json->text, json->length);
}

static bool take_model(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct submission *submission = reading->submission;
  (void)key;
  if (submission->model_count == SUBMISSION_MODELS_MOST)
    return fail(reading, "there are too many models");
  const char *text = take_text(reading, json);
  submission->models[submission->model_count++] = text;
  return text != NULL || fail(reading, "a model is not a text");
}

static bool take_option(struct reading *reading, const struct json_reader *json, size_t number)
{
  const char **value = &reading->submission->values[number];
  int64_t integer;
  switch (submission_options[number].kind) {
  case SUBMISSION_NUMBER:
    if (!json_int64(json, &integer) || integer < 0)
      return fail(reading, "batch, limit, warmup and threads are whole numbers");
    *value = arena_copy(reading->arena, json->text, json->length);
    return true;
  case SUBMISSION_FLAG:
    if (json->event != JSON_TRUE && json->event != JSON_FALSE)
      return fail(reading, "items is true or false");
    *value = json->event == JSON_TRUE ? "true" : NULL;
    return true;
  case SUBMISSION_TEXT:
    *value = take_text(reading, json);
  }
  return *value != NULL || fail(reading, "levels and publish are texts");
}

static bool take_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct submission *submission = reading->submission;
  if (strcmp(key, "models") == 0)
    return json->event == JSON_ARRAY ? json_each(json, take_model, reading) : fail(reading, "models is not a list");
  if (strcmp(key, "data") == 0)
    return (submission->data = take_text(reading, json)) != NULL || fail(reading, "data is not a name");
  if (strcmp(key, "framework") == 0)
    return (submission->framework = take_text(reading, json)) != NULL || fail(reading, "framework is not a name");
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++)
    if (strcmp(key, submission_options[i].name) == 0)
      return take_option(reading, json, i);
  return fail(reading, "a member is unknown; known are models, framework, data, batch, limit, warmup, threads, levels, "
                       "items and publish");
}

const char *submission_read(struct slice text, struct arena *arena, struct submission *ret_submission)
{
  struct reading reading = {.arena = arena, .submission = ret_submission};
  *ret_submission = (struct submission){0};
  if (!json_each_of_text(text.data, text.length, take_member, &reading))
    return reading.problem != NULL ? reading.problem : "it is not a JSON object";
  const char *publish = ret_submission->values[SUBMISSION_OPTIONS - 1];
  if (publish != NULL && !text_begins_with(publish, "http://") && !text_begins_with(publish, "https://"))
    return "publish is not an http or https address";
  if (ret_submission->model_count == 0)
    return "models are missing";
  return ret_submission->data != NULL ? NULL : "data is missing";
}
