// SPDX-License-Identifier: Apache-2.0
// The thread that sends while a program runs. It has a publisher of its own: the spool is made for several. A server that
// is slow or away costs its caller nothing; what is not sent stays in the spool, in order.
#include "publish/stream.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/scoped.h"
#include "http/client.h"
#include "publish/address.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#define LOOK_NS UINT64_C(1000000000) // between two tries, where nothing new comes
#define ANSWER_WITHIN_MS 2000
#define WAITING_BYTES_MOST ((size_t)64 << 20) // not packed yet

struct waiting_list {
  struct waiting {
    struct buf request;
    size_t span_count;
  } * items;
  size_t count, capacity;
};

struct publish_stream {
  struct publisher *publisher;
  struct arena arena;
  struct address address; // of the server's description
  struct http *http;      // NULL: it is the address of no xsp serve
  struct http_answer answer;
  struct publish_result result;
  struct error error;         // the first that lost requests; status STATUS_OK: none
  bool has_thread, is_unsent; // is_unsent: the last try to send failed
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  // locked
  bool is_over, is_wanted, is_foreign;
  struct waiting_list waiting;
  size_t waiting_bytes;
};

__attribute__((format(printf, 1, 2))) static void say_nothing(const char *format, ...)
{
}

enum status publish_stream_open(const struct publish_options *options, struct publish_stream **ret_stream,
                                struct error *err)
{
  static const char traces[] = "/v1/traces";
  struct publish_stream *stream = *ret_stream = memory_new(1, sizeof *stream);
  struct publish_options own = *options;
  pthread_mutex_init(&stream->lock, NULL);
  condition_init(&stream->changed);
  own.patience_s = 1;
  own.message = say_nothing;
  XSP_TRY(publish_open(&own, &stream->publisher, err));
  const char *url = publish_url(stream->publisher);
  stream->is_foreign = !text_ends_with(url, traces);
  if (stream->is_foreign)
    return STATUS_OK;
  stream->address = *address_of_publisher(stream->publisher);
  stream->address.url =
      arena_format(&stream->arena, "%.*s/api/v1/openapi.json", (int)(strlen(url) - strlen(traces)), url);
  return address_http(&stream->address, &stream->http, err);
}

// ---- the thread ------------------------------------------------------------------------------------------------------
// Any answer decides it; without one the server may come later.
static void ask_what_it_is(struct publish_stream *stream)
{
  const struct http_answer *answer = &stream->answer;
  const struct http_request request = {.method = "GET", .url = stream->address.url, .timeout_ms = ANSWER_WITHIN_MS};
  http_send(stream->http, &request, &stream->answer);
  bool is_xsp = answer->code == 200 && answer->body.data != NULL && strstr(answer->body.data, "\"xsp serve\"") != NULL;
  SCOPED_LOCK(&stream->lock);
  stream->is_wanted = is_xsp;
  stream->is_foreign = answer->code != 0 && !is_xsp;
}

static enum status fill(void *context, const struct report_otlp_sink *sink, struct error *err)
{
  const struct waiting_list *list = context;
  for (size_t i = 0; i < list->count; i++)
    XSP_TRY(sink->put(sink->context, &list->items[i].request, list->items[i].span_count, err));
  return STATUS_OK;
}

static void send(struct publish_stream *stream)
{
  struct publish_result sent;
  struct error err = {0};
  stream->is_unsent = publish_send(stream->publisher, &sent, &err) != STATUS_OK && sent.waiting_count > 0;
  stream->result.request_count += sent.request_count;
  stream->result.span_count += sent.span_count;
  stream->result.rejected_count += sent.rejected_count;
  stream->result.refused_count += sent.refused_count;
  if (sent.refused_count > 0 && stream->error.status == STATUS_OK)
    stream->error = err;
}

static void pass_on(struct publish_stream *stream, struct waiting_list *list)
{
  struct error err = {0};
  if (list->count > 0 && publish_add_from(stream->publisher, false, fill, list, &err) != STATUS_OK) {
    SCOPED_LOCK(&stream->lock);
    stream->is_wanted = false;
    stream->is_foreign = true; // it is not asked again
    stream->error = err;
  }
  for (size_t i = 0; i < list->count; i++)
    buf_done(&list->items[i].request);
  vector_done(list);
  send(stream);
}

static void *send_until_over(void *context)
{
  struct publish_stream *stream = context;
  SCOPED_LOCK(&stream->lock);
  while (!stream->is_over || stream->waiting.count > 0) {
    uint64_t next_ns = clock_now_ns(CLOCK_MONOTONIC) + LOOK_NS;
    bool is_unknown = !stream->is_wanted && !stream->is_foreign;
    struct waiting_list list = stream->waiting;
    stream->waiting = (struct waiting_list){0};
    stream->waiting_bytes = 0;
    pthread_mutex_unlock(&stream->lock);
    if (is_unknown)
      ask_what_it_is(stream);
    else if (list.count > 0 || stream->is_unsent)
      pass_on(stream, &list);
    pthread_mutex_lock(&stream->lock);
    while (!stream->is_over && stream->waiting.count == 0 && condition_wait(&stream->changed, &stream->lock, next_ns))
      continue;
  }
  return NULL;
}

// ---- its caller ------------------------------------------------------------------------------------------------------
bool publish_stream_wants(struct publish_stream *stream)
{
  if (stream->http == NULL)
    return false;
  if (!stream->has_thread) { // with all signals blocked: they are the program's
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    stream->has_thread = pthread_create(&stream->thread, NULL, send_until_over, stream) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  SCOPED_LOCK(&stream->lock);
  return stream->is_wanted && stream->waiting_bytes < WAITING_BYTES_MOST;
}

enum status publish_stream_put(void *context, struct buf *request, size_t span_count, struct error *err)
{
  struct publish_stream *stream = context;
  SCOPED_LOCK(&stream->lock);
  *vector_add(&stream->waiting) = (struct waiting){*request, span_count};
  stream->waiting_bytes += request->length;
  pthread_cond_signal(&stream->changed);
  buf_init(request, BUF_MAXIMUM_DEFAULT);
  return STATUS_OK;
}

void publish_stream_close(struct publish_stream *stream, struct publish_result *ret_result, struct error *ret_error)
{
  *ret_result = (struct publish_result){0};
  *ret_error = (struct error){0};
  if (stream == NULL)
    return;
  condition_raise(&stream->changed, &stream->lock, &stream->is_over);
  if (stream->has_thread)
    pthread_join(stream->thread, NULL);
  *ret_result = stream->result;
  *ret_error = stream->error;
  http_close(stream->http);
  publish_close(stream->publisher);
  buf_done(&stream->answer.body);
  pthread_cond_destroy(&stream->changed);
  pthread_mutex_destroy(&stream->lock);
  arena_done(&stream->arena);
  free(stream);
}
