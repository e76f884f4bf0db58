// SPDX-License-Identifier: Apache-2.0
// The job's side of remote control: reports itself to an xsp serve, takes the wanted levels. Called by `xsp run`.
#include "publish/control.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/hex.h"
#include "base/json_write.h"
#include "base/scoped.h"
#include "format/level.h"
#include "http/client.h"
#include "publish/address.h"
#include "publish/reply.h"

#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#define REPORT_EVERY_NS UINT64_C(1000000000)
#define ANSWER_WITHIN_MS 2000
#define JOB_BYTES 16

struct control {
  struct control_options options;
  char job[2 * JOB_BYTES + 1], host[256];
  struct arena arena;
  struct address address; // of the job
  struct http *http;
  struct http_answer answer;
  bool has_thread;
  uint32_t wanted_mask, taken_mask; // atomic; what the program was last given
  bool was_unanswered;              // the last report; the message is not repeated
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_over; // locked
};

enum status publish_control_open(const struct publisher *publisher, const struct control_options *options,
                                 struct control **ret_control, struct error *err)
{
  static const char traces[] = "/v1/traces";
  struct control *control = *ret_control = memory_new(1, sizeof *control);
  const char *url = publish_url(publisher);
  size_t base_length = strlen(url) - strlen(traces);
  uint8_t number[JOB_BYTES];
  pthread_mutex_init(&control->lock, NULL);
  condition_init(&control->changed);
  control->options = *options;
  control->wanted_mask = control->taken_mask = options->first_mask;
  if (!text_ends_with(url, traces))
    return error_set(err, STATUS_USE, "wrong use", "--remote-control", "--publish http(s)://HOST:PORT of an xsp serve",
                     "'%s' is not the address of an xsp serve", url);
  if (getrandom(number, sizeof number, 0) != (ssize_t)sizeof number)
    return error_set_errno(err, STATUS_SYSTEM, "cannot make the number of a job", NULL, NULL);
  hex_encode(control->job, number, sizeof number);
  if (gethostname(control->host, sizeof control->host - 1) != 0)
    control->host[0] = 0;
  control->address = *address_of_publisher(publisher);
  control->address.url = arena_format(&control->arena, "%.*s/api/v1/jobs/%s", (int)base_length, url, control->job);
  return address_http(&control->address, &control->http, err);
}

const char *publish_control_job(const struct control *control)
{
  return control->job;
}

// ---- one report ------------------------------------------------------------------------------------------------------
static void write_report(const struct control *control, struct buf *text)
{
  struct json_writer json;
  char levels[LEVEL_SET_TEXT_SIZE];
  json_start(&json, text);
  json_object(&json);
  json_member_string(&json, "name", control->options.name);
  json_member_string(&json, "host", control->host);
  json_member_int(&json, "process_id", getpid());
  level_mask_format(control->options.possible_mask, levels);
  json_member_string(&json, "possible", levels);
  level_mask_format(__atomic_load_n(&control->taken_mask, __ATOMIC_RELAXED), levels);
  json_member_string(&json, "levels", levels);
  json_object_end(&json);
}

static void report(struct control *control)
{
  struct buf text = {0};
  uint32_t mask;
  write_report(control, &text);
  const struct http_request request = {.method = "POST",
                                       .url = control->address.url,
                                       .body = text.data,
                                       .length = text.length,
                                       .timeout_ms = ANSWER_WITHIN_MS};
  http_send(control->http, &request, &control->answer);
  buf_done(&text);
  const struct http_answer *answer = &control->answer;
  bool is_answered =
      answer->code == 200 && publish_reply_read_levels((struct slice){answer->body.data, answer->body.length}, &mask);
  if (is_answered)
    __atomic_store_n(&control->wanted_mask, mask & control->options.possible_mask, __ATOMIC_RELAXED);
  if (!is_answered && !control->was_unanswered && answer->code == 0)
    control->options.message("xsp: %s: %s; the levels stay as they are", control->address.url, answer->problem);
  else if (!is_answered && !control->was_unanswered)
    control->options.message("xsp: %s: status %ld; the levels stay as they are", control->address.url, answer->code);
  control->was_unanswered = !is_answered;
}

// ---- the thread ------------------------------------------------------------------------------------------------------
static void *report_until_over(void *context)
{
  struct control *control = context;
  SCOPED_LOCK(&control->lock);
  while (!control->is_over) {
    uint64_t next_ns = clock_now_ns(CLOCK_MONOTONIC) + REPORT_EVERY_NS;
    pthread_mutex_unlock(&control->lock);
    report(control);
    pthread_mutex_lock(&control->lock);
    while (!control->is_over && condition_wait(&control->changed, &control->lock, next_ns))
      continue;
  }
  return NULL;
}

uint32_t publish_control_wanted(void *context)
{
  struct control *control = context;
  if (!control->has_thread) { // with all signals blocked: they are the program's
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    control->has_thread = pthread_create(&control->thread, NULL, report_until_over, control) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  uint32_t mask = __atomic_load_n(&control->wanted_mask, __ATOMIC_RELAXED);
  __atomic_store_n(&control->taken_mask, mask, __ATOMIC_RELAXED);
  return mask;
}

void publish_control_close(struct control *control)
{
  if (control == NULL)
    return;
  condition_raise(&control->changed, &control->lock, &control->is_over);
  if (control->has_thread)
    pthread_join(control->thread, NULL);
  http_close(control->http);
  buf_done(&control->answer.body);
  pthread_cond_destroy(&control->changed);
  pthread_mutex_destroy(&control->lock);
  arena_done(&control->arena);
  free(control);
}
