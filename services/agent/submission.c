// SPDX-License-Identifier: Apache-2.0
// Writes and reads what is to be evaluated. Called by remote.c and evaluation_routes.c.
#include "agent/submission.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// No option that names a file or a folder: of the agent's machine, a client names data and models only.
// clang-format off
const struct submission_option submission_options[SUBMISSION_OPTIONS] = {
    {"batch", SUBMISSION_INTEGERS},
    {"limit", SUBMISSION_INTEGER},
    {"warmup", SUBMISSION_INTEGER},
    {"runs", SUBMISSION_INTEGER},
    {"cold", SUBMISSION_INTEGER},
    {"serialize", SUBMISSION_FLAG},
    {"precision", SUBMISSION_TEXT},
    {"max-runs", SUBMISSION_INTEGER},
    {"threads", SUBMISSION_INTEGER},
    {"scenario", SUBMISSION_TEXTS},
    {"duration", SUBMISSION_NUMBER},
    {"queries", SUBMISSION_INTEGER},
    {"qps", SUBMISSION_NUMBER},
    {"latency-bound", SUBMISSION_NUMBER},
    {"samples", SUBMISSION_INTEGER},
    {"levels", SUBMISSION_TEXT},
    {"device", SUBMISSION_TEXT},
    {"tracer", SUBMISSION_NAMES},
    {"cuda", SUBMISSION_TEXT},
    {"call-paths", SUBMISSION_TEXT},
    {"items", SUBMISSION_FLAG},
    {"keep-outputs", SUBMISSION_FLAG},
    {"data-sha256", SUBMISSION_TEXT},
    {"isolate", SUBMISSION_FLAG},
    {"cpus", SUBMISSION_NUMBER},
    {"memory", SUBMISSION_INTEGER},
    {"time-limit", SUBMISSION_INTEGER},
    {"publish", SUBMISSION_URL},
};
// clang-format on

static void write_value(enum submission_kind kind, const char *value, struct json_writer *json)
{
  struct slice rest = slice_of(value), part;
  switch (kind) {
  case SUBMISSION_INTEGER:
  case SUBMISSION_FLAG:
    json_written(json, value);
    break;
  case SUBMISSION_NUMBER:
    json_double(json, strtod(value, NULL));
    break;
  case SUBMISSION_TEXTS:
  case SUBMISSION_NAMES:
    json_array(json);
    while (slice_cut(&rest, ',', &part))
      json_string_n(json, part.data, part.length);
    json_array_end(json);
    break;
  case SUBMISSION_INTEGERS:
  case SUBMISSION_TEXT:
  case SUBMISSION_URL:
    json_string(json, value);
  }
}

void submission_write(const struct submission *submission, struct json_writer *json)
{
  json_object(json);
  if (submission->is_profile)
    json_member_string(json, "verb", "profile");
  json_member_array(json, "models");
  for (size_t i = 0; i < submission->model_count; i++)
    json_string(json, submission->models[i]);
  json_array_end(json);
  if (submission->framework != NULL)
    json_member_string(json, "framework", submission->framework);
  if (submission->data != NULL)
    json_member_string(json, "data", submission->data);
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++) {
    if (submission->values[i] == NULL)
      continue;
    json_key(json, submission_options[i].name);
    bool is_one = submission_options[i].kind == SUBMISSION_INTEGERS && !submission->is_profile;
    write_value(is_one ? SUBMISSION_INTEGER : submission_options[i].kind, submission->values[i], json);
  }
  json_object_end(json);
}

// ---- reading ---------------------------------------------------------------------------------------------------------
struct reading {
  struct arena *arena;
  struct submission *submission;
  const char *problem;
  const char **list;    // of SUBMISSION_TEXTS
  const char *integers; // the option of SUBMISSION_INTEGERS that is a text, as only a profile may have it
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
  if (submission->model_count == SUBMISSION_MODELS_MOST)
    return fail(reading, "there are too many models");
  const char *text = take_text(reading, json);
  submission->models[submission->model_count++] = text;
  return text != NULL || fail(reading, "a model is not a text");
}

static bool take_one_of(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  const char **value = reading->list, *text = take_text(reading, json);
  if (text == NULL || strlen(*value) + strlen(text) > 4096)
    return false;
  *value = arena_format(reading->arena, "%s%s%s", *value, **value != 0 ? "," : "", text);
  return true;
}

static bool are_names(const char *list)
{
  return strspn(list, "abcdefghijklmnopqrstuvwxyz0123456789_,") == strlen(list);
}

bool submission_are_integers(const char *list)
{
  bool is_good = list[0] != 0 && strlen(list) < 1000 && strspn(list, "0123456789,") == strlen(list);
  for (size_t i = 0; is_good && list[i] != 0; i++)
    is_good = list[i] != ',' || (i > 0 && list[i - 1] != ',' && list[i + 1] != 0);
  return is_good;
}

static bool take_option(struct reading *reading, struct json_reader *json, size_t number)
{
  const struct submission_option *option = &submission_options[number];
  const char **value = &reading->submission->values[number];
  int64_t integer;
  bool is_good = false;
  switch (option->kind) {
  case SUBMISSION_INTEGER:
    is_good = json_int64(json, &integer) && integer >= 0;
    *value = is_good ? arena_copy(reading->arena, json->text, json->length) : NULL;
    break;
  case SUBMISSION_INTEGERS:
    is_good = json->event == JSON_STRING || (json_int64(json, &integer) && integer >= 0);
    *value = is_good ? arena_copy(reading->arena, json->text, json->length) : NULL;
    is_good = is_good && submission_are_integers(*value);
    reading->integers = json->event == JSON_STRING ? option->name : reading->integers;
    break;
  case SUBMISSION_NUMBER:
    is_good = json->event == JSON_NUMBER && isfinite(strtod(json->text, NULL));
    *value = is_good ? arena_copy(reading->arena, json->text, json->length) : NULL;
    break;
  case SUBMISSION_TEXTS:
  case SUBMISSION_NAMES:
    *value = "";
    reading->list = value;
    is_good = json->event == JSON_ARRAY && json_each(json, take_one_of, reading) && **value != 0;
    is_good = is_good && (option->kind == SUBMISSION_TEXTS || are_names(*value));
    break;
  case SUBMISSION_FLAG:
    is_good = json->event == JSON_TRUE || json->event == JSON_FALSE;
    *value = json->event == JSON_TRUE ? "true" : NULL;
    break;
  case SUBMISSION_TEXT:
    is_good = (*value = take_text(reading, json)) != NULL;
    break;
  case SUBMISSION_URL:
    *value = take_text(reading, json);
    is_good = *value != NULL && (text_begins_with(*value, "http://") || text_begins_with(*value, "https://"));
    break;
  }
  static const char *const kinds[] = {
      "a whole number",           "whole numbers", "a number", "a text", "a list of texts", "a list of names",
      "an http or https address", "true or false"};
  return is_good || fail(reading, arena_format(reading->arena, "%s is not %s", option->name, kinds[option->kind]));
}

static const char *unknown(const struct reading *reading, const char *key)
{
  const char *text = arena_format(reading->arena, "%s is unknown; known are verb, models, framework, data", key);
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++)
    text = arena_format(reading->arena, "%s, %s", text, submission_options[i].name);
  return text;
}

static bool take_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct submission *submission = reading->submission;
  if (strcmp(key, "models") == 0)
    return json->event == JSON_ARRAY ? json_each(json, take_model, reading) : fail(reading, "models is not a list");
  if (strcmp(key, "verb") == 0) {
    reading->submission->is_profile = json->event == JSON_STRING && strcmp(json->text, "profile") == 0;
    return submission->is_profile || (json->event == JSON_STRING && strcmp(json->text, "evaluate") == 0) ||
           fail(reading, "verb is neither evaluate nor profile");
  }
  if (strcmp(key, "data") == 0)
    return (submission->data = take_text(reading, json)) != NULL || fail(reading, "data is not a name");
  if (strcmp(key, "framework") == 0)
    return (submission->framework = take_text(reading, json)) != NULL || fail(reading, "framework is not a name");
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++)
    if (strcmp(key, submission_options[i].name) == 0)
      return take_option(reading, json, i);
  return fail(reading, unknown(reading, key));
}

static const char not_an_object[] = "it is not a JSON object";

const char *submission_take(struct json_reader *json, struct arena *arena, struct submission *ret_submission)
{
  struct reading reading = {.arena = arena, .submission = ret_submission};
  *ret_submission = (struct submission){0};
  if (json->event != JSON_OBJECT || !json_each(json, take_member, &reading))
    return reading.problem != NULL ? reading.problem : not_an_object;
  if (ret_submission->model_count == 0)
    return "models are missing";
  if (ret_submission->is_profile)
    return ret_submission->data != NULL       ? "a profile has no data"
           : ret_submission->model_count == 1 ? NULL
                                              : "a profile is of one model";
  if (reading.integers != NULL)
    return arena_format(arena, "%s is not a whole number", reading.integers);
  return ret_submission->data != NULL ? NULL : "data is missing";
}

const char *submission_read(struct slice text, struct arena *arena, struct submission *ret_submission)
{
  struct json_reader json SCOPED(json_read_done);
  json_read_start(&json, text.data, text.length);
  json_next(&json);
  const char *problem = submission_take(&json, arena, ret_submission);
  if (problem == NULL && json_next(&json) != JSON_END)
    problem = not_an_object;
  return problem;
}
