// SPDX-License-Identifier: Apache-2.0
// Front door: spans into the spool, what waits there to the server, by the retry rules of OTLP/HTTP. Called by the verbs that
// have --publish. Prints nothing itself.
#include "publish/publish.h"

#include "base/clock.h"
#include "http/client.h"
#include "publish/address.h"
#include "publish/gzip.h"
#include "publish/reply.h"
#include "publish/split.h"
#include "publish/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_WAIT_MS 250
#define LONGEST_WAIT_MS 30000
#define NS_PER_MS UINT64_C(1000000)

struct publisher {
  struct publish_options options;
  struct arena arena;
  struct address address;
  struct http *http;
  struct spool spool;
  struct http_answer answer;
  struct publish_result result;
  uint64_t progress_ns; // when the last request was accepted, or sending began
  bool has_waited;      // since then; reported once
  char refusal[320];    // why the first refused request was refused
};

enum status publish_open(const struct publish_options *options, struct publisher **ret_publisher, struct error *err)
{
  struct publisher *publisher = *ret_publisher = memory_new(1, sizeof *publisher);
  publisher->options = *options;
  publisher->spool = SPOOL_CLOSED;
  XSP_TRY(address_find(options->address, options->token_file, &publisher->arena, &publisher->address, err));
  XSP_TRY(address_http(&publisher->address, &publisher->http, err));
  return spool_open(options->spool, publisher->address.url, &publisher->spool, err);
}

void publish_close(struct publisher *publisher)
{
  if (publisher == NULL)
    return;
  spool_close(&publisher->spool);
  http_close(publisher->http);
  buf_done(&publisher->answer.body);
  address_done(&publisher->address);
  arena_done(&publisher->arena);
  free(publisher);
}

const char *publish_url(const struct publisher *publisher)
{
  return publisher->address.url;
}

const struct address *address_of_publisher(const struct publisher *publisher)
{
  return &publisher->address;
}

// ---- add -------------------------------------------------------------------------------------------------------------
struct adding {
  struct spool *spool;
  struct buf packed;
  bool is_json;
};

static enum status put_request(void *context, struct buf *request, size_t span_count, struct error *err)
{
  struct adding *adding = context;
  buf_clear(&adding->packed);
  if (request->failed || !gzip_pack((struct slice){request->data, request->length}, &adding->packed))
    return error_set(err, STATUS_INPUT, "cannot publish", NULL, NULL, "a span is larger than 1 GiB");
  const struct spool_head head = {.length = (uint32_t)adding->packed.length,
                                  .raw_length = (uint32_t)request->length,
                                  .span_count = (uint32_t)span_count,
                                  .is_json = adding->is_json};
  return spool_put(adding->spool, &head, adding->packed.data, err);
}

enum status publish_add_from(struct publisher *publisher, bool is_json, publish_fill *fill, void *context,
                             struct error *err)
{
  struct adding adding = {.spool = &publisher->spool, .is_json = is_json};
  const struct report_otlp_sink sink = {put_request, &adding};
  buf_init(&adding.packed, BUF_MAXIMUM_DEFAULT);
  enum status status = spool_begin(&publisher->spool, err);
  if (status == STATUS_OK)
    status = fill(context, &sink, err);
  if (status == STATUS_OK)
    status = spool_commit(&publisher->spool, err);
  buf_done(&adding.packed);
  return status;
}

struct whole {
  struct store *store;
  bool is_json;
};

static enum status fill_whole(void *context, const struct report_otlp_sink *sink, struct error *err)
{
  const struct whole *whole = context;
  return report_otlp_requests(whole->store, whole->is_json, sink, err);
}

enum status publish_add(struct publisher *publisher, struct store *store, bool is_json, struct error *err)
{
  struct whole whole = {store, is_json};
  return publish_add_from(publisher, is_json, fill_whole, &whole, err);
}

// ---- wait ------------------------------------------------------------------------------------------------------------
// Half of it to all of it, so that publishers that lost the same server do not come back together.
static uint64_t with_jitter(uint64_t wait_ms)
{
  uint64_t random = 0;
  (void)!getrandom(&random, sizeof random, GRND_NONBLOCK); // without randomness: the shortest wait
  return wait_ms / 2 + random % (wait_ms / 2 + 1);
}

static void wait_ms(uint64_t ms)
{
  struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * NS_PER_MS)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
    continue;
}

static uint64_t patience_left_ms(const struct publisher *publisher)
{
  uint64_t passed_ms = (clock_now_ns(CLOCK_MONOTONIC) - publisher->progress_ns) / NS_PER_MS;
  uint64_t whole_ms = (uint64_t)publisher->options.patience_s * 1000;
  return passed_ms < whole_ms ? whole_ms - passed_ms : 0;
}

// ---- one request -----------------------------------------------------------------------------------------------------
struct request {
  struct slice body; // gzip'ed
  uint32_t raw_length, span_count;
  uint32_t first, settled; // of the spool's request: the number of its first span here; spans that are not sent again
  bool is_json;
};

// What the last answer was, for a person.
static void describe(const struct publisher *publisher, const struct reply *reply, char *text, size_t size)
{
  const struct http_answer *answer = &publisher->answer;
  if (answer->code == 0)
    snprintf(text, size, "%s", answer->problem);
  else if (answer->location != NULL)
    snprintf(text, size, "status %ld, to %s, which is not followed", answer->code, answer->location);
  else if (answer->retry_after_s > 0)
    snprintf(text, size, "status %ld, ask again after %" PRId64 " s%s%s", answer->code, answer->retry_after_s,
             reply->message[0] != 0 ? ": " : "", reply->message);
  else
    snprintf(text, size, "status %ld%s%s", answer->code, reply->message[0] != 0 ? ": " : "", reply->message);
}

static enum status stop(const struct publisher *publisher, const char *why, const char *advice, struct error *err)
{
  return error_set(err, STATUS_SYSTEM, "cannot publish", publisher->address.url, advice, "%s", why);
}

static const char *stop_advice(const struct http_answer *answer)
{
  if (answer->location != NULL)
    return "that address, if you trust it";
  if (answer->code == 401 || answer->code == 403)
    return "--publish-token-file FILE";
  if (answer->code == 415)
    return "--to otlp-proto, after removing the spool's folder";
  if (answer->code == 404 || answer->code == 405)
    return "the address of a receiver of OTLP/HTTP, with its path";
  return answer->code == 0 ? "another address, or OTEL_EXPORTER_OTLP_CERTIFICATE=FILE" : "another address";
}

// Sends until it is decided. REPLY_RETRY: patience has run out.
static enum reply_verdict post(struct publisher *publisher, const struct request *request, struct reply *ret_reply)
{
  struct http_answer *answer = &publisher->answer;
  uint64_t backoff_ms = FIRST_WAIT_MS;
  char why[512];
  for (;;) {
    uint64_t left_ms = patience_left_ms(publisher);
    const struct http_request post = {.method = "POST",
                                      .url = publisher->address.url,
                                      .body = request->body.data,
                                      .length = request->body.length,
                                      .form = request->is_json ? HTTP_JSON_PACKED : HTTP_PROTOBUF_PACKED,
                                      .timeout_ms = (int64_t)(left_ms > 1000 ? left_ms : 1000)};
    http_send(publisher->http, &post, answer);
    enum reply_verdict verdict = answer->code != 0 ? publish_reply_verdict_of(answer->code)
                                 : answer->is_lost ? REPLY_RETRY
                                                   : REPLY_STOP;
    const struct slice body = {answer->body.data, answer->body.length};
    bool is_read = publish_reply_read(body, publish_reply_form_of(answer->type), verdict == REPLY_ACCEPTED, ret_reply);
    if (verdict == REPLY_ACCEPTED && !is_read)
      return REPLY_STOP;
    if (verdict != REPLY_RETRY)
      return verdict;
    left_ms = patience_left_ms(publisher);
    uint64_t pause_ms = with_jitter(backoff_ms);
    if (answer->retry_after_s > 0)
      pause_ms = (uint64_t)answer->retry_after_s * 1000;
    else if (pause_ms > left_ms)
      pause_ms = left_ms; // for a last try
    if (left_ms == 0 || pause_ms > left_ms)
      return REPLY_RETRY;
    describe(publisher, ret_reply, why, sizeof why);
    if (!publisher->has_waited)
      publisher->options.message("xsp: %s: %s; trying again for %u s", publisher->address.url, why,
                                 publisher->options.patience_s);
    publisher->has_waited = true;
    wait_ms(pause_ms);
    backoff_ms = backoff_ms * 2 < LONGEST_WAIT_MS ? backoff_ms * 2 : LONGEST_WAIT_MS;
  }
}

static void note_accepted(struct publisher *publisher, const struct request *request, const struct reply *reply)
{
  uint64_t rejected = (uint64_t)reply->rejected_count;
  rejected = rejected < request->span_count ? rejected : request->span_count;
  publisher->result.request_count++;
  publisher->result.span_count += request->span_count - rejected;
  publisher->result.rejected_count += rejected;
  publisher->progress_ns = clock_now_ns(CLOCK_MONOTONIC);
  publisher->has_waited = false;
  if (reply->message[0] != 0 || rejected > 0) // a message without rejected spans is a warning
    publisher->options.message("xsp: %s: rejected %" PRIu64 " of %u spans: %s", publisher->address.url, rejected,
                               request->span_count, reply->message[0] != 0 ? reply->message : "no reason was given");
}

static void note_refused(struct publisher *publisher, const struct request *request, const struct reply *reply)
{
  publisher->result.refused_count += request->span_count;
  if (publisher->refusal[0] == 0)
    describe(publisher, reply, publisher->refusal, sizeof publisher->refusal);
}

static enum status send_request(struct publisher *publisher, const struct request *request, struct error *err);

// Both halves in order; *ret_is_split: false where it has no two spans. The depth is the logarithm of a request's spans. Notes each
// settled half in the spool, so that it is not sent again.
static enum status send_halves(struct publisher *publisher, const struct request *request, bool *ret_is_split,
                               struct error *err)
{
  enum status status = STATUS_OK;
  struct buf raw = {0}, halves[2] = {{0}, {0}}, packed SCOPED(buf_done) = {0};
  *ret_is_split = request->span_count >= 2 && gzip_unpack(request->body, request->raw_length, &raw) &&
                  publish_request_split((struct slice){raw.data, raw.length}, request->is_json, &halves[0], &halves[1]);
  buf_done(&raw);
  for (int i = 0; i < 2 && *ret_is_split && status == STATUS_OK; i++) {
    uint32_t first_count = request->span_count / 2;
    buf_clear(&packed);
    *ret_is_split = gzip_pack((struct slice){halves[i].data, halves[i].length}, &packed);
    const struct request half = {.body = {packed.data, packed.length},
                                 .raw_length = (uint32_t)halves[i].length,
                                 .span_count = i == 0 ? first_count : request->span_count - first_count,
                                 .first = i == 0 ? request->first : request->first + first_count,
                                 .settled = request->settled,
                                 .is_json = request->is_json};
    if (*ret_is_split)
      status = send_request(publisher, &half, err);
    uint32_t settled = half.first + half.span_count;
    if (*ret_is_split && status == STATUS_OK && settled > request->settled)
      status = spool_settle(&publisher->spool, settled, err);
  }
  buf_done(&halves[0]);
  buf_done(&halves[1]);
  return status;
}

// STATUS_OK: it is settled, accepted or not. One that was settled in part had been too large.
static enum status send_request(struct publisher *publisher, const struct request *request, struct error *err)
{
  struct reply reply = {0};
  char why[512];
  bool is_split = false;
  bool is_begun = request->settled > request->first;
  if (is_begun && request->settled >= request->first + request->span_count)
    return STATUS_OK;
  enum reply_verdict verdict = is_begun ? REPLY_TOO_LARGE : post(publisher, request, &reply);
  describe(publisher, &reply, why, sizeof why);
  switch (verdict) {
  case REPLY_ACCEPTED:
    note_accepted(publisher, request, &reply);
    return STATUS_OK;
  case REPLY_RETRY:
    return stop(publisher, why, "the same --publish again, later", err);
  case REPLY_TOO_LARGE:
    XSP_TRY(send_halves(publisher, request, &is_split, err));
    if (!is_split)
      note_refused(publisher, request, &reply);
    return STATUS_OK;
  case REPLY_STOP:
    if (publisher->answer.code >= 200 && publisher->answer.code < 300)
      return stop(publisher, "it answered, but not as a receiver of OTLP/HTTP does",
                  "the address of a receiver of OTLP/HTTP, with its path", err);
    return stop(publisher, why, stop_advice(&publisher->answer), err);
  case REPLY_REFUSED:
    note_refused(publisher, request, &reply);
    return STATUS_OK;
  }
  return STATUS_OK;
}

// ---- all that waits --------------------------------------------------------------------------------------------------
static enum status send_waiting(struct publisher *publisher, struct buf *body, struct error *err)
{
  struct spool_head head = {0};
  for (;;) {
    bool is_empty = false;
    XSP_TRY(spool_next(&publisher->spool, &head, body, &is_empty, err));
    if (is_empty)
      return STATUS_OK;
    const struct request request = {.body = {body->data, body->length},
                                    .raw_length = head.raw_length,
                                    .span_count = head.span_count,
                                    .settled = head.settled_count,
                                    .is_json = head.is_json != 0};
    XSP_TRY(send_request(publisher, &request, err));
    XSP_TRY(spool_advance(&publisher->spool, err));
  }
}

enum status publish_send(struct publisher *publisher, struct publish_result *ret_result, struct error *err)
{
  struct buf body SCOPED(buf_done) = {0};
  enum status status = STATUS_OK;
  publisher->result = (struct publish_result){0};
  if (!spool_try_lock(&publisher->spool)) {
    publisher->options.message("xsp: waiting for another xsp, which publishes to %s", publisher->address.url);
    status = spool_lock(&publisher->spool, err);
  }
  publisher->progress_ns = clock_now_ns(CLOCK_MONOTONIC);
  if (status == STATUS_OK)
    status = send_waiting(publisher, &body, err);
  publisher->result.waiting_count = status == STATUS_OK ? 0 : spool_waiting(&publisher->spool);
  if (status != STATUS_OK && publisher->result.waiting_count > 0)
    publisher->options.message("xsp: %" PRIu64 " spans wait in %s", publisher->result.waiting_count,
                               publisher->spool.path);
  if (status != STATUS_OK && publisher->result.refused_count > 0)
    publisher->options.message("xsp: %s: %" PRIu64 " spans were refused, the first with %s", publisher->address.url,
                               publisher->result.refused_count, publisher->refusal);
  else if (publisher->result.refused_count > 0)
    status = error_set(err, STATUS_SYSTEM, "spans were refused", publisher->address.url,
                       "the server's log; they are not sent again", "%" PRIu64 " spans, the first with %s",
                       publisher->result.refused_count, publisher->refusal);
  spool_unlock(&publisher->spool);
  *ret_result = publisher->result;
  return status;
}
