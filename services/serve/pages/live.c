// SPDX-License-Identifier: Apache-2.0
// Keeps the newest requests, and makes a page's parts of them: journal, importer, correlate and tables as for files, so that
// the figures are the same. Requests come from the threads of connections, parts are made on a thread of its own.
//
// Requests that are no longer here may have had spans of observations that are: such an observation counts as a warm-up, which
// is in no statistic. It is one that began before the last span of a dropped request ended, since a span is sent after its end.
#include "serve/pages/live.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/debug.h"
#include "base/transfer.h"
#include "base/vector.h"
#include "correlate/correlate.h"
#include "importers/import.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define BYTES_MOST ((size_t)64 << 20) // of all requests
#define WAIT_NS (5 * SECOND_NS)       // of a client for the next version
#define WATCHED_NS (15 * SECOND_NS)   // after a client's question
#define VERSIONS_KEPT 12u             // some seconds: a page asks for columns after the document
#define LIVE_NAME "live"

struct live_request {
  char *body; // owned
  size_t length;
  enum otlp_encoding encoding;
  uint64_t spans;
  int64_t last_end_ns;
};
struct live {
  const char *folder;
  uint64_t spans_least;
  message_fn message;
  pthread_t thread;
  bool has_thread;
  bool has_failed; // the last time, and it was reported; of the thread

  pthread_mutex_t lock;                 // guards all that follows
  pthread_cond_t changed;               // by CLOCK_MONOTONIC
  VECTOR(struct live_request) requests; // from `first` on, oldest first
  size_t first, bytes;
  uint64_t spans, received;                     // spans that are here; requests that ever came
  int64_t cut_ns;                               // no span of a dropped request ended later; INT64_MIN: none was dropped
  uint64_t made_of;                             // `received` of the newest version
  uint64_t watched_ns;                          // until then somebody looks
  struct live_version *versions[VERSIONS_KEPT]; // newest first
  uint64_t last_number;
  bool is_ending;
};

// ---- requests ----------------------------------------------------------------------------------------------------------
// Locked.
static void drop_first(struct live *live)
{
  struct live_request *request = &live->requests.items[live->first++];
  int64_t now_ns = (int64_t)clock_now_ns(CLOCK_REALTIME); // a client's clock may be years ahead
  int64_t end_ns = request->last_end_ns < now_ns ? request->last_end_ns : now_ns;
  live->cut_ns = end_ns > live->cut_ns ? end_ns : live->cut_ns;
  live->spans -= request->spans;
  live->bytes -= request->length;
  free(request->body);
  if (live->first > live->requests.count / 2) { // moves each request once on average
    live->requests.count -= live->first;
    memmove(live->requests.items, live->requests.items + live->first,
            live->requests.count * sizeof live->requests.items[0]);
    live->first = 0;
  }
}

void live_add(struct live *live, enum otlp_encoding encoding, struct slice body, uint64_t spans, int64_t last_end_ns)
{
  if (body.length > BYTES_MOST)
    return;
  char *copy = memory_new(body.length, 1);
  memcpy(copy, body.data, body.length);
  SCOPED_LOCK(&live->lock);
  *vector_add(&live->requests) = (struct live_request){copy, body.length, encoding, spans, last_end_ns};
  live->spans += spans;
  live->bytes += body.length;
  live->received++;
  while (live->bytes > BYTES_MOST || live->spans - live->requests.items[live->first].spans >= live->spans_least)
    drop_first(live);
  pthread_cond_broadcast(&live->changed);
}

// Locked. What a journal of the requests holds.
static void write_journal(const struct live *live, struct buf *out)
{
  buf_put(out, OTLP_JOURNAL_MAGIC, OTLP_JOURNAL_MAGIC_BYTES);
  for (size_t i = live->first; i < live->requests.count; i++) {
    const struct live_request *request = &live->requests.items[i];
    const struct slice body = {request->body, request->length};
    const struct otlp_journal_head head = otlp_journal_head_of(request->encoding, body);
    buf_put(out, &head, sizeof head);
    buf_put(out, body.data, body.length);
  }
}

// ---- making a version --------------------------------------------------------------------------------------------------
static enum status write_file(const char *path, const struct buf *bytes, struct error *err)
{
  (void)unlink(path);
  int file SCOPED(scoped_close) = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool is_written = file >= 0 && transfer_write(file, bytes->data, bytes->length);
  return is_written ? STATUS_OK
                    : error_set_errno(err, STATUS_SYSTEM, "cannot make the live page", path, "freeing space");
}

// Observations that may lack spans become warm-ups.
static enum status mark_cut(struct store *store, int64_t cut_ns, struct arena *arena, struct error *err)
{
  struct store_run *runs;
  size_t run_count;
  XSP_TRY(store_runs(store, arena, &runs, &run_count, err));
  for (size_t i = 0; i < run_count; i++) {
    struct store_observation *observations;
    size_t count, marked = 0;
    XSP_TRY(store_observations(store, runs[i].run_id, arena, &observations, &count, err));
    for (size_t j = 0; j < count; j++) {
      bool is_cut = runs[i].epoch_is_unix && observations[j].start_ns < cut_ns && !observations[j].warmup;
      observations[j].warmup |= is_cut;
      marked += is_cut;
    }
    if (marked > 0)
      XSP_TRY(store_put_observations(store, runs[i].run_id, observations, count, err));
  }
  return STATUS_OK;
}

static enum status fill(struct store *store, const char *journal, int64_t cut_ns, struct arena *arena,
                        struct error *err)
{
  const struct import_options options = {.format = "otlp-journal", .limit_bytes = UINT64_MAX, .threads = 1};
  struct import_file *files = NULL;
  XSP_TRY(import_files(&journal, 1, &options, store, arena, &files, err));
  XSP_TRY(correlate_store(store, err));
  return mark_cut(store, cut_ns, arena, err);
}

static enum status make(const struct live *live, const struct buf *journal, int64_t cut_ns,
                        struct report_parts **ret_parts, struct error *err)
{
  const struct report_page_options options = {.max_spans = REPORT_SERVED_SPANS, .is_of_server = true};
  struct arena arena SCOPED(arena_done) = {0};
  struct store *store = NULL;
  const char *input = arena_format(&arena, "%s/.pages/live", live->folder);
  const char *output = arena_format(&arena, "%s/.pages/live.parts~", live->folder);
  (void)unlink(output);
  enum status status = write_file(input, journal, err);
  if (status == STATUS_OK)
    status = store_create_temporary(LIVE_NAME, &store, err);
  if (status == STATUS_OK)
    status = fill(store, input, cut_ns, &arena, err);
  if (status == STATUS_OK)
    status = report_page(&(struct report_page_file){store, LIVE_NAME}, 1, &options, output, err);
  if (status == STATUS_OK)
    status = report_parts_open(output, ret_parts, err);
  (void)unlink(input);
  (void)unlink(output);
  if (store != NULL)
    store_discard(store);
  return status;
}

// Locked.
static void forget(struct live_version *version)
{
  if (version == NULL || --version->users > 0)
    return;
  report_parts_close(version->parts);
  free(version);
}

// Locked.
static void publish(struct live *live, struct report_parts *parts)
{
  struct live_version *version = memory_new(1, sizeof *version);
  *version = (struct live_version){++live->last_number, parts, 1};
  forget(live->versions[VERSIONS_KEPT - 1]);
  memmove(live->versions + 1, live->versions, (VERSIONS_KEPT - 1) * sizeof live->versions[0]);
  live->versions[0] = version;
  pthread_cond_broadcast(&live->changed);
}

static void report(struct live *live, enum status status, const struct error *error)
{
  char line[1024];
  bool was_failing = live->has_failed;
  live->has_failed = status != STATUS_OK;
  if (status == STATUS_OK || was_failing)
    return;
  error_line(error, line, sizeof line);
  live->message("%s", line);
}

static void wait_until(struct live *live, uint64_t time_ns)
{
  (void)condition_wait(&live->changed, &live->lock, time_ns);
}

// Locked on call and return. Returns how long it took.
static uint64_t make_version(struct live *live)
{
  struct buf journal = {0};
  struct error error = {0};
  struct report_parts *parts = NULL;
  uint64_t began_ns = clock_now_ns(CLOCK_MONOTONIC);
  int64_t cut_ns = live->cut_ns;
  live->made_of = live->received;
  write_journal(live, &journal);
  pthread_mutex_unlock(&live->lock);
  enum status status = make(live, &journal, cut_ns, &parts, &error);
  buf_done(&journal);
  report(live, status, &error);
  uint64_t took_ns = clock_now_ns(CLOCK_MONOTONIC) - began_ns;
  DEBUG(serve, "live version in %llu us: status %d", (unsigned long long)took_ns / 1000, status);
  pthread_mutex_lock(&live->lock);
  if (status == STATUS_OK)
    publish(live, parts);
  return took_ns;
}

static void *run(void *context)
{
  struct live *live = context;
  uint64_t rested_ns = 0;
  SCOPED_LOCK(&live->lock);
  while (!live->is_ending) {
    uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
    bool is_due = live->received > live->made_of && now_ns < live->watched_ns;
    if (is_due && now_ns >= rested_ns) {
      uint64_t took_ns = make_version(live);
      rested_ns = clock_now_ns(CLOCK_MONOTONIC) + took_ns / 2; // leaves a third of a core
    } else if (is_due) {
      wait_until(live, rested_ns);
    } else {
      pthread_cond_wait(&live->changed, &live->lock);
    }
  }
  return NULL;
}

// ---- versions ------------------------------------------------------------------------------------------------------------
struct live_version *live_next(struct live *live, uint64_t after)
{
  SCOPED_LOCK(&live->lock);
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC), end_ns = now_ns + WAIT_NS;
  live->watched_ns = now_ns + WATCHED_NS;
  after = after > live->last_number ? 0 : after; // of a server before this one
  pthread_cond_broadcast(&live->changed);
  while (!live->is_ending && live->last_number <= after && clock_now_ns(CLOCK_MONOTONIC) < end_ns)
    wait_until(live, end_ns);
  struct live_version *version = live->last_number > after ? live->versions[0] : NULL;
  if (version != NULL)
    version->users++;
  return version;
}

struct live_version *live_take(struct live *live, uint64_t number)
{
  struct live_version *found = NULL;
  SCOPED_LOCK(&live->lock);
  for (size_t i = 0; i < VERSIONS_KEPT; i++)
    if (live->versions[i] != NULL && live->versions[i]->number == number)
      found = live->versions[i];
  if (found != NULL)
    found->users++;
  return found;
}

void live_release(struct live *live, struct live_version *version)
{
  SCOPED_LOCK(&live->lock);
  forget(version);
}

// ---- start and end -------------------------------------------------------------------------------------------------------
enum status live_start(const char *folder, uint64_t spans, message_fn message, struct live **ret_live,
                       struct error *err)
{
  struct live *live = memory_new(1, sizeof *live);
  *live =
      (struct live){.folder = folder, .spans_least = spans > 0 ? spans : 1, .message = message, .cut_ns = INT64_MIN};
  pthread_mutex_init(&live->lock, NULL);
  condition_init(&live->changed);
  live->has_thread = pthread_create(&live->thread, NULL, run, live) == 0;
  *ret_live = live;
  if (live->has_thread)
    return STATUS_OK;
  live_free(live);
  *ret_live = NULL;
  return error_set(err, STATUS_SYSTEM, "cannot serve", NULL, NULL, "no thread can be started");
}

void live_end(struct live *live)
{
  if (live == NULL)
    return;
  SCOPED_LOCK(&live->lock);
  live->is_ending = true;
  pthread_cond_broadcast(&live->changed);
}

void live_free(struct live *live)
{
  if (live == NULL)
    return;
  if (live->has_thread)
    pthread_join(live->thread, NULL);
  while (live->first < live->requests.count)
    free(live->requests.items[live->first++].body);
  for (size_t i = 0; i < VERSIONS_KEPT; i++)
    forget(live->versions[i]);
  vector_done(&live->requests);
  pthread_cond_destroy(&live->changed);
  pthread_mutex_destroy(&live->lock);
  free(live);
}
