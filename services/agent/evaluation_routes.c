// SPDX-License-Identifier: Apache-2.0
// Takes, shows and ends evaluations. Called through services/agent/routes.c.
#include "agent/evaluation_routes.h"

#include "agent/agent_private.h"
#include "agent/command.h"
#include "base/scoped.h"

#include <string.h>
#include <unistd.h>

#define RETRY_FULL_S 10u
#define TABLE_BYTES_MOST ((uint64_t)64 << 20)
static const char json_type[] = "application/json";

// ---- adding ----------------------------------------------------------------------------------------------------------
static void put_job(struct json_writer *json, const struct job_view *job)
{
  json_member_string(json, "id", job->id);
  json_member_string(json, "state", job_state_names[job->state]);
  json_member_int_or_null(json, "place", (int64_t)job->place);
  json_member_string(json, "progress", job->state == JOB_RUNNING && job->line[0] != 0 ? job->line : NULL);
  json_member_string(json, "error", job->state == JOB_FAILED ? job->line : NULL);
}

static void reply_added(struct exchange *exchange, const struct job_view *job)
{
  struct json_writer json;
  struct buf *text = exchange_reply(exchange, 202, json_type);
  exchange_add_header(exchange, MHD_HTTP_HEADER_LOCATION, "/evaluations/%s", job->id);
  json_start(&json, text);
  json_object(&json);
  put_job(&json, job);
  json_object_end(&json);
  buf_text(text, "\n");
}

static void add(struct exchange *exchange, const struct submission *submission)
{
  struct agent *agent = agent_of(exchange);
  struct buf request SCOPED(buf_done) = {0};
  struct json_writer json;
  struct job_view job;
  struct error error = {0};
  char line[sizeof exchange->message];
  json_start(&json, &request);
  submission_write(submission, &json);
  switch (queue_add(agent->queue, exchange->user, request.data, &job, &error)) {
  case QUEUE_ADDED:
    reply_added(exchange, &job);
    break;
  case QUEUE_FULL:
    exchange_refuse_for_now(exchange, RETRY_FULL_S, "%u evaluations wait already, as many as xsp agent --queue permits",
                            agent->options.waiting_most);
    break;
  case QUEUE_FULL_FOR_USER:
    exchange_refuse(exchange, 429, "%u of your evaluations wait already, as many as xsp agent --queue-each permits",
                    agent->options.waiting_most_each);
    exchange_add_header(exchange, MHD_HTTP_HEADER_RETRY_AFTER, "%u", RETRY_FULL_S);
    break;
  case QUEUE_NOT_KEPT:
    error_line(&error, line, sizeof line);
    exchange_refuse_for_now(exchange, RETRY_FULL_S, "%s", line);
  }
}

void agent_evaluation_add(struct exchange *exchange)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct submission submission;
  const char *const *ignored;
  char why[512];
  const char *problem =
      submission_read((struct slice){exchange->body.data, exchange->body.length}, &arena, &submission);
  if (problem != NULL) {
    exchange_refuse(exchange, 400, "not an evaluation: %s", problem);
  } else {
    unsigned refusal = agent_command_make(agent_of(exchange), exchange->user, &submission, &arena, &ignored, why);
    if (refusal != 0)
      exchange_refuse(exchange, refusal, "%s", why);
    else
      add(exchange, &submission);
  }
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
  exchange_refuse(exchange, 404, "there is no evaluation %s: it has been removed, or another agent has it",
                  exchange->parts[0]);
  return false;
}

// The table that xsp printed, as it is.
static void put_table(struct exchange *exchange, struct json_writer *json, const struct job_view *job)
{
  uint64_t bytes = 0;
  int file SCOPED(scoped_close) =
      job->state == JOB_DONE ? queue_open(agent_of(exchange)->queue, job->id, QUEUE_TABLE, &bytes) : -1;
  struct buf text SCOPED(buf_done) = {0};
  bool is_read = file >= 0 && bytes > 0 && bytes <= TABLE_BYTES_MOST && buf_reserve(&text, bytes) &&
                 read(file, text.data, bytes) == (ssize_t)bytes;
  if (is_read)
    text.data[bytes] = 0;
  json_key(json, "result");
  if (is_read)
    json_written(json, text.data);
  else
    json_null(json);
}

void agent_evaluation_show(struct exchange *exchange)
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

void agent_evaluations_show(struct exchange *exchange)
{
  struct arena arena SCOPED(arena_done) = {0};
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
}

void agent_evaluation_file(struct exchange *exchange)
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

void agent_evaluation_remove(struct exchange *exchange)
{
  struct job_view job;
  if (!find_job(exchange, &job))
    return;
  queue_remove(agent_of(exchange)->queue, job.id); // it may be gone by now
  exchange_reply(exchange, 204, json_type);
}
