// SPDX-License-Identifier: Apache-2.0
// The table of jobs, and their reports. Called by services/serve/api/jobs.c.
#include "serve/jobs.h"

#include "base/json_read.h"
#include "base/vector.h"
#include "format/level.h"

#include <pthread.h>

struct jobs {
  pthread_mutex_t lock;
  VECTOR(struct job) known;
};

struct jobs *jobs_new(void)
{
  struct jobs *jobs = memory_new(1, sizeof *jobs);
  pthread_mutex_init(&jobs->lock, NULL);
  return jobs;
}

void jobs_free(struct jobs *jobs)
{
  if (jobs == NULL)
    return;
  vector_done(&jobs->known);
  pthread_mutex_destroy(&jobs->lock);
  free(jobs);
}

// ---- reading ---------------------------------------------------------------------------------------------------------
bool job_is_id(const char *text)
{
  return strspn(text, "0123456789abcdef") == JOB_ID_DIGITS && text[JOB_ID_DIGITS] == 0;
}

static void take_text(const struct json_reader *json, char *text, size_t size)
{
  size_t length = strnlen(json->text, json->length < size ? json->length : size - 1);
  memcpy(text, json->text, length);
  text[length] = 0;
}

static bool take_levels(const struct json_reader *json, uint32_t *ret_mask)
{
  return json->event == JSON_STRING && level_mask_parse(json->text, json->length, ret_mask);
}

// The value of `key` is current.
static bool take_member(const struct json_reader *json, const char *key, struct job *job, unsigned *seen)
{
  bool is_good = true;
  if (strcmp(key, "name") == 0 && json->event == JSON_STRING)
    take_text(json, job->name, sizeof job->name);
  else if (strcmp(key, "host") == 0 && json->event == JSON_STRING)
    take_text(json, job->host, sizeof job->host);
  else if (strcmp(key, "process_id") == 0)
    is_good = json_int64(json, &job->process_id);
  else if (strcmp(key, "possible") == 0)
    is_good = take_levels(json, &job->possible_mask);
  else if (strcmp(key, "levels") == 0)
    is_good = take_levels(json, &job->level_mask);
  *seen |= strcmp(key, "possible") == 0 ? 1u : strcmp(key, "levels") == 0 ? 2u : 0;
  return is_good;
}

static const char *read_members(struct slice text, unsigned needed, struct job *ret_job)
{
  struct json_reader json;
  char key[16];
  unsigned seen = 0;
  bool is_good = true;
  json_read_start(&json, text.data, text.length);
  json_next(&json);
  bool is_object = json.event == JSON_OBJECT;
  while (is_object && is_good && json_next(&json) == JSON_KEY) {
    take_text(&json, key, sizeof key);
    json_next(&json);
    is_good = take_member(&json, key, ret_job, &seen) && json_skip(&json);
  }
  is_good = is_good && is_object && json.event == JSON_OBJECT_END && json_next(&json) == JSON_END;
  json_read_done(&json);
  if (!is_good)
    return "not a JSON object of these members: levels are \"none\", or as in \"M/L/K\"";
  return (seen & needed) == needed ? NULL : "its levels are missing";
}

const char *job_read_report(struct slice text, struct job *ret_job)
{
  *ret_job = (struct job){0};
  const char *problem = read_members(text, 3, ret_job);
  if (problem == NULL && (ret_job->level_mask & ~ret_job->possible_mask) != 0)
    problem = "levels are on that are not possible";
  return problem;
}

const char *job_read_levels(struct slice text, uint32_t *ret_mask)
{
  struct job job = {0};
  const char *problem = read_members(text, 2, &job);
  *ret_mask = job.level_mask;
  return problem;
}

// ---- the table; locked -----------------------------------------------------------------------------------------------
static void forget_ended(struct jobs *jobs, uint64_t now_ns)
{
  size_t left = 0;
  for (size_t i = 0; i < jobs->known.count; i++)
    if (now_ns < jobs->known.items[i].reported_ns + JOB_GONE_NS)
      jobs->known.items[left++] = jobs->known.items[i];
  jobs->known.count = left;
}

static struct job *find(struct jobs *jobs, const char *id)
{
  for (size_t i = 0; i < jobs->known.count; i++)
    if (strcmp(jobs->known.items[i].id, id) == 0)
      return &jobs->known.items[i];
  return NULL;
}

bool jobs_report(struct jobs *jobs, const struct job *report, uint64_t now_ns, struct job *ret_job)
{
  SCOPED_LOCK(&jobs->lock);
  forget_ended(jobs, now_ns);
  struct job *job = find(jobs, report->id);
  bool has_room = job != NULL || jobs->known.count < JOBS_MOST;
  uint32_t wanted = job != NULL ? job->wanted_mask : report->level_mask;
  if (job == NULL && has_room)
    job = vector_add(&jobs->known);
  if (has_room) {
    *job = *report;
    job->wanted_mask = wanted & job->possible_mask;
    job->reported_ns = now_ns;
    *ret_job = *job;
  }
  return has_room;
}

size_t jobs_list(struct jobs *jobs, uint64_t now_ns, struct job *ret_jobs, size_t most)
{
  SCOPED_LOCK(&jobs->lock);
  forget_ended(jobs, now_ns);
  size_t count = jobs->known.count < most ? jobs->known.count : most;
  if (count > 0)
    memcpy(ret_jobs, jobs->known.items, count * sizeof *ret_jobs);
  return count;
}

bool jobs_find(struct jobs *jobs, const char *id, uint64_t now_ns, struct job *ret_job)
{
  SCOPED_LOCK(&jobs->lock);
  forget_ended(jobs, now_ns);
  const struct job *job = find(jobs, id);
  if (job != NULL)
    *ret_job = *job;
  return job != NULL;
}

bool jobs_want(struct jobs *jobs, const char *id, uint32_t mask, uint64_t now_ns, struct job *ret_job)
{
  SCOPED_LOCK(&jobs->lock);
  forget_ended(jobs, now_ns);
  struct job *job = find(jobs, id);
  if (job != NULL && (mask & ~job->possible_mask) == 0)
    job->wanted_mask = mask;
  if (job != NULL)
    *ret_job = *job;
  return job != NULL;
}
