// SPDX-License-Identifier: Apache-2.0
// Jobs by HTTP. Called through services/serve/routes.c.
#include "serve/api/jobs.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "format/level.h"
#include "http/exchange.h"
#include "serve/jobs.h"
#include "serve/server.h"

#include <stdlib.h>

#define RETRY_S 10u

static uint64_t now_ns(void)
{
  return clock_now_ns(CLOCK_MONOTONIC);
}

static void put_levels(struct json_writer *json, const char *key, uint32_t mask)
{
  char text[LEVEL_SET_TEXT_SIZE];
  level_mask_format(mask, text);
  json_member_string(json, key, text);
}

static void put_job(struct json_writer *json, const struct job *job)
{
  json_object(json);
  json_member_string(json, "id", job->id);
  json_member_string(json, "name", job->name);
  json_member_string(json, "host", job->host);
  json_member_int(json, "process_id", job->process_id);
  put_levels(json, "possible", job->possible_mask);
  put_levels(json, "levels", job->level_mask);
  put_levels(json, "wanted", job->wanted_mask);
  json_object_end(json);
}

static void reply_job(struct exchange *exchange, const struct job *job)
{
  struct json_writer json;
  struct buf *text = exchange_reply(exchange, 200, "application/json");
  json_start(&json, text);
  put_job(&json, job);
  buf_text(text, "\n");
}

static void refuse_unknown(struct exchange *exchange)
{
  exchange_refuse(exchange, 404, "there is no job %s: it has ended, or was started without --remote-control",
                  exchange->parts[0]);
}

void jobs_answer_list(struct exchange *exchange)
{
  struct json_writer json;
  struct job *jobs SCOPED(scoped_free) = memory_new(JOBS_MOST, sizeof *jobs);
  size_t count = jobs_list(serve_of(exchange)->jobs, now_ns(), jobs, JOBS_MOST);
  struct buf *text = exchange_reply(exchange, 200, "application/json");
  json_start(&json, text);
  json_object(&json);
  json_member_array(&json, "jobs");
  for (size_t i = 0; i < count; i++)
    put_job(&json, &jobs[i]);
  json_array_end(&json);
  json_object_end(&json);
  buf_text(text, "\n");
}

void jobs_answer_one(struct exchange *exchange)
{
  struct job job;
  if (jobs_find(serve_of(exchange)->jobs, exchange->parts[0], now_ns(), &job))
    reply_job(exchange, &job);
  else
    refuse_unknown(exchange);
}

void jobs_answer_report(struct exchange *exchange)
{
  struct job report, job;
  const char *problem = job_read_report((struct slice){exchange->body.data, exchange->body.length}, &report);
  if (problem == NULL && !job_is_id(exchange->parts[0]))
    problem = "the job's number is not 32 hex digits";
  if (problem != NULL) {
    exchange_refuse(exchange, 400, "not a report of a job: %s", problem);
    return;
  }
  memcpy(report.id, exchange->parts[0], sizeof report.id);
  if (jobs_report(serve_of(exchange)->jobs, &report, now_ns(), &job))
    reply_job(exchange, &job);
  else
    exchange_refuse_for_now(exchange, RETRY_S, "there are %u jobs", JOBS_MOST);
}

void jobs_answer_levels(struct exchange *exchange)
{
  struct job job;
  uint32_t mask;
  const char *problem = job_read_levels((struct slice){exchange->body.data, exchange->body.length}, &mask);
  if (problem != NULL) {
    exchange_refuse(exchange, 400, "not levels: %s", problem);
  } else if (!jobs_want(serve_of(exchange)->jobs, exchange->parts[0], mask, now_ns(), &job)) {
    refuse_unknown(exchange);
  } else if (job.wanted_mask != mask) {
    char possible[LEVEL_SET_TEXT_SIZE];
    level_mask_format(job.possible_mask, possible);
    exchange_refuse(exchange, 400, "this job offers no other levels than %s", possible);
  } else {
    reply_job(exchange, &job);
  }
}
