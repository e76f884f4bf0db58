// SPDX-License-Identifier: Apache-2.0
// Writes and reads what is kept of an evaluation. Called by job_folder.c; states also by answer.c.
#include "agent/job_record.h"

#include "agent/submission.h"
#include "base/json_read.h"
#include "http/guard.h"

#define VERSION 1

const char *const job_state_names[] = {"queued", "running", "done", "failed", "cancelled"};

bool job_state_read(const char *name, enum job_state *ret_state)
{
  for (unsigned state = JOB_QUEUED; state <= JOB_CANCELLED; state++)
    if (strcmp(name, job_state_names[state]) == 0) {
      *ret_state = (enum job_state)state;
      return true;
    }
  return false;
}

void job_record_write(const struct job_record *record, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  json_member_int(&json, "version", VERSION);
  json_member_int(&json, "number", (int64_t)record->number);
  json_member_string(&json, "user", record->user);
  json_member_string(&json, "state", job_state_names[record->state]);
  json_member_int(&json, "starts", (int64_t)record->starts);
  json_member_string(&json, "error", record->error);
  json_key(&json, "request");
  json_written(&json, record->request);
  json_object_end(&json);
  buf_text(out, "\n");
}

// ---- reading ---------------------------------------------------------------------------------------------------------
struct reading {
  struct arena *arena;
  struct job_record *record;
  const char *problem;
  bool has_version, has_state;
};

static bool take_number(const struct json_reader *json, uint64_t *ret_number)
{
  int64_t number;
  if (!json_int64(json, &number) || number < 0)
    return false;
  *ret_number = (uint64_t)number;
  return true;
}

static const char *take_text(const struct reading *reading, const struct json_reader *json)
{
  return json->event == JSON_STRING ? arena_copy(reading->arena, json->text, strlen(json->text)) : NULL;
}

// As it would be written now: who wrote the file may have written it otherwise.
static bool take_request(struct reading *reading, struct json_reader *json)
{
  struct submission submission;
  struct json_writer writer;
  struct buf text SCOPED(buf_done) = {0};
  reading->problem = submission_take(json, reading->arena, &submission);
  if (reading->problem != NULL)
    return false;
  json_start(&writer, &text);
  submission_write(&submission, &writer);
  reading->record->request = arena_copy(reading->arena, text.data, text.length);
  return true;
}

static bool take_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct job_record *record = reading->record;
  uint64_t version;
  if (strcmp(key, "version") == 0) {
    reading->has_version = take_number(json, &version) && version == VERSION;
    return reading->has_version;
  }
  if (strcmp(key, "number") == 0)
    return take_number(json, &record->number);
  if (strcmp(key, "user") == 0)
    return (record->user = take_text(reading, json)) != NULL;
  if (strcmp(key, "state") == 0) {
    reading->has_state = json->event == JSON_STRING && job_state_read(json->text, &record->state);
    return reading->has_state;
  }
  if (strcmp(key, "starts") == 0)
    return take_number(json, &record->starts);
  if (strcmp(key, "error") == 0)
    return json->event == JSON_NULL || (record->error = take_text(reading, json)) != NULL;
  return strcmp(key, "request") != 0 || take_request(reading, json);
}

const char *job_record_read(struct slice text, struct arena *arena, struct job_record *ret_record)
{
  struct reading reading = {.arena = arena, .record = ret_record};
  *ret_record = (struct job_record){0};
  if (!json_each_of_text(text.data, text.length, take_member, &reading))
    return reading.problem != NULL ? reading.problem : "it is damaged, or of another version of xsp";
  if (!reading.has_version || !reading.has_state || ret_record->number == 0 || ret_record->request == NULL ||
      ret_record->user == NULL || (ret_record->user[0] != 0 && !guard_is_name(slice_of(ret_record->user))))
    return "it is not complete";
  return NULL;
}
