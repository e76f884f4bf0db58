// SPDX-License-Identifier: Apache-2.0
// Takes, shows and ends evaluations. Called through agent/routes.c.
#include "agent/evaluation_routes.h"

#include "agent/agent_private.h"
#include "agent/submission.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_FULL_S 10u
#define TABLE_BYTES_MOST ((uint64_t)64 << 20)
static const char json_type[] = "application/json";

// ---- adding ----------------------------------------------------------------------------------------------------------
// A data set: a name below the folder of data, links resolved. NULL: there is none of this name there.
static const char *find_data(const struct agent *agent, const char *name, struct arena *arena)
{
  if (agent->data == NULL)
    return NULL;
  size_t length = strlen(agent->data);
  char *found = realpath(arena_format(arena, "%s/%s", agent->data, name), NULL);
  const char *path = NULL;
  if (found != NULL && strncmp(found, agent->data, length) == 0 && found[length] == '/')
    path = arena_format(arena, "%s", found);
  free(found);
  return path;
}

struct arguments {
  VECTOR(const char *) list; // of xsp evaluate
};

static void put_option(const struct submission_option *option, const char *value, struct arena *arena,
                       struct arguments *arguments)
{
  struct slice rest = slice_of(value), part;
  if (option->kind == SUBMISSION_FLAG)
    *vector_add(&arguments->list) = arena_format(arena, "--%s", option->name);
  else if (option->kind != SUBMISSION_TEXTS)
    *vector_add(&arguments->list) = arena_format(arena, "--%s=%s", option->name, value);
  else
    while (slice_cut(&rest, ',', &part))
      *vector_add(&arguments->list) = arena_format(arena, "--%s=%.*s", option->name, (int)part.length, part.data);
}

// False: refused.
static bool put_arguments(struct exchange *exchange, const struct submission *submission, struct arena *arena,
                          struct arguments *arguments)
{
  struct agent *agent = agent_of(exchange);
  const char *data = find_data(agent, submission->data, arena);
  for (size_t i = 0; i < submission->model_count; i++) {
    bool is_forbidden;
    const char *path =
        models_find(agent->models, submission->models[i], submission->framework, exchange->user, arena, &is_forbidden);
    *vector_add(&arguments->list) = path;
    if (is_forbidden)
      exchange_refuse(exchange, 403, "%s may not use %s: its manifest has permissions", exchange->user,
                      submission->models[i]);
    else if (path == NULL)
      exchange_refuse(exchange, 404, "there is no model %s%s%s; /models lists all", submission->models[i],
                      submission->framework != NULL ? " for " : "",
                      submission->framework != NULL ? submission->framework : "");
    if (path == NULL)
      return false;
  }
  if (data == NULL) {
    exchange_refuse(exchange, 404, "there is no data set %s", submission->data);
    return false;
  }
  *vector_add(&arguments->list) = arena_format(arena, "--data=%s", data);
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++)
    if (submission->values[i] != NULL)
      put_option(&submission_options[i], submission->values[i], arena, arguments);
  if (agent->options.isolates)
    *vector_add(&arguments->list) = "--isolate";
  *vector_add(&arguments->list) = NULL;
  return true;
}

static void put_job(struct json_writer *json, const struct job_view *job)
{
  json_member_string(json, "id", job->id);
  json_member_string(json, "state", job_state_names[job->state]);
  json_member_int_or_null(json, "place", (int64_t)job->place);
  json_member_string(json, "progress", job->state == JOB_RUNNING && job->line[0] != 0 ? job->line : NULL);
  json_member_string(json, "error", job->state == JOB_FAILED ? job->line : NULL);
}

void evaluation_add(struct exchange *exchange)
{
  struct arena arena = {0};
  struct submission submission;
  struct arguments arguments = {0};
  struct job_view job;
  const char *problem =
      submission_read((struct slice){exchange->body.data, exchange->body.length}, &arena, &submission);
  if (problem != NULL) {
    exchange_refuse(exchange, 400, "not an evaluation: %s", problem);
  } else if (!put_arguments(exchange, &submission, &arena, &arguments)) {
    // refused
  } else if (!queue_add(agent_of(exchange)->queue, exchange->user, arguments.list.items, &job)) {
    exchange_refuse_for_now(exchange, RETRY_FULL_S, "%u evaluations wait already", QUEUE_WAITING_MOST);
  } else {
    struct json_writer json;
    struct buf *text = exchange_reply(exchange, 202, json_type);
    exchange_add_header(exchange, MHD_HTTP_HEADER_LOCATION, "/evaluations/%s", job.id);
    json_start(&json, text);
    json_object(&json);
    put_job(&json, &job);
    json_object_end(&json);
    buf_text(text, "\n");
  }
  vector_done(&arguments.list);
  arena_done(&arena);
}

// ---- looking ---------------------------------------------------------------------------------------------------------
static bool may_see(const struct exchange *exchange, const struct job_view *job)
{
  return exchange->user == NULL || strcmp(exchange->user, job->user) == 0;
}

// False: refused. Others' evaluations are as none to a user.
static bool find_job(struct exchange *exchange, struct job_view *ret_job)
{
  if (queue_find(agent_of(exchange)->queue, exchange->parts[0], ret_job) && may_see(exchange, ret_job))
    return true;
  exchange_refuse(exchange, 404, "there is no evaluation %s: the agent was started again, or it has been removed",
                  exchange->parts[0]);
  return false;
}

// The table that xsp evaluate printed, as it is.
static void put_table(struct exchange *exchange, struct json_writer *json, const struct job_view *job)
{
  uint64_t bytes = 0;
  int file = job->state == JOB_DONE ? queue_open(agent_of(exchange)->queue, job->id, QUEUE_TABLE, &bytes) : -1;
  struct buf text = {0};
  bool is_read = file >= 0 && bytes > 0 && bytes <= TABLE_BYTES_MOST && buf_reserve(&text, bytes) &&
                 read(file, text.data, bytes) == (ssize_t)bytes;
  if (is_read)
    text.data[bytes] = 0;
  json_key(json, "result");
  if (is_read)
    json_written(json, text.data);
  else
    json_null(json);
  if (file >= 0)
    close(file);
  buf_done(&text);
}

void evaluation_show(struct exchange *exchange)
{
  struct job_view job;
  if (!find_job(exchange, &job))
    return;
  struct json_writer json;
  struct buf *text = exchange_reply(exchange, 200, json_type);
  json_start(&json, text);
  json_object(&json);
  put_job(&json, &job);
  put_table(exchange, &json, &job);
  json_object_end(&json);
  buf_text(text, "\n");
}

void evaluations_show(struct exchange *exchange)
{
  struct arena arena = {0};
  struct job_view *jobs;
  size_t count;
  struct json_writer json;
  queue_list(agent_of(exchange)->queue, &arena, &jobs, &count);
  struct buf *text = exchange_reply(exchange, 200, json_type);
  json_start(&json, text);
  json_object(&json);
  json_member_array(&json, "evaluations");
  for (size_t i = 0; i < count; i++) {
    if (!may_see(exchange, &jobs[i]))
      continue;
    json_object(&json);
    put_job(&json, &jobs[i]);
    json_object_end(&json);
  }
  json_array_end(&json);
  json_object_end(&json);
  buf_text(text, "\n");
  arena_done(&arena);
}

void evaluation_file(struct exchange *exchange)
{
  struct job_view job;
  uint64_t bytes;
  if (!find_job(exchange, &job))
    return;
  int file = job.state == JOB_DONE ? queue_open(agent_of(exchange)->queue, job.id, QUEUE_OUTPUT, &bytes) : -1;
  if (file < 0)
    exchange_refuse(exchange, 409, "the evaluation has no file: it is %s", job_state_names[job.state]);
  else
    exchange_reply_file(exchange, 200, "application/vnd.sqlite3", file, 0, bytes);
}

void evaluation_remove(struct exchange *exchange)
{
  struct job_view job;
  if (!find_job(exchange, &job))
    return;
  queue_remove(agent_of(exchange)->queue, job.id); // it may be gone by now
  exchange_reply(exchange, 204, json_type);
}
