// SPDX-License-Identifier: Apache-2.0
// Which spans go while the program runs: those between two drains, as parts of an export (report_otlp_part). Called by the thread
// that drains, and at the end by the verb.
#include "programs/xsp/span_stream.h"

#include "base/vector.h"
#include "programs/xsp/output.h"
#include "publish/stream.h"

#include <stdlib.h>
#include <string.h>

#define PART_ROWS ((size_t)32768) // spans that one call hands on, unless a single drain has more

struct streamed_run {
  struct report_otlp_part part;      // the next one; `from` is how far the spans went
  struct store_place place;          // of the last drain
  VECTOR(struct store_place) places; // of drains that were not handed on
};
struct span_stream {
  struct publish_stream *sending;
  VECTOR(struct streamed_run) runs;
  bool has_levels, has_sent;
  bool has_failed; // nothing is handed on any more
};

// NULL: none of its spans came.
static struct streamed_run *find_run(struct span_stream *stream, int64_t run_id)
{
  for (size_t i = stream->runs.count; i-- > 0;)
    if (stream->runs.items[i].part.run_id == run_id)
      return &stream->runs.items[i];
  return NULL;
}

static void drop_places(struct streamed_run *run, size_t count)
{
  run->places.count -= count;
  memmove(run->places.items, run->places.items + count, run->places.count * sizeof *run->places.items);
}

// Since tags and messages come with their span in one drain, a part ends where a drain ended.
bool span_stream_hand_on(void *context, struct store *store, int64_t run_id)
{
  struct span_stream *stream = context;
  const struct report_otlp_sink sink = {publish_stream_put, stream->sending};
  struct store_place place;
  bool is_wanted = publish_stream_wants(stream->sending);
  if (stream->has_failed || store_place(store, run_id, &place, NULL) != STATUS_OK)
    return false;
  struct streamed_run *run = find_run(stream, run_id);
  if (run == NULL) {
    run = vector_add(&stream->runs);
    run->part = (struct report_otlp_part){.run_id = run_id, .run_goes_on = true, .has_levels = stream->has_levels};
  }
  if (place.spans != run->place.spans)
    *vector_add(&run->places) = run->place = place;
  if (!is_wanted || run->places.count == 0)
    return false;
  size_t last = 0;
  while (last + 1 < run->places.count && run->places.items[last + 1].spans - run->part.from.spans <= PART_ROWS)
    last++;
  run->part.to = run->places.items[last];
  stream->has_failed = report_otlp_part(store, &run->part, &sink, NULL) != STATUS_OK;
  if (stream->has_failed)
    return false;
  stream->has_sent = true;
  run->part.from = run->part.to;
  drop_places(run, last + 1);
  return run->places.count > 0;
}

enum status span_stream_open(const struct invocation *invocation, struct publisher *publisher, bool has_levels,
                             struct span_stream **ret_stream, struct error *err)
{
  struct publish_options options;
  const char *caller = getenv("TRACEPARENT");
  *ret_stream = NULL;
  // By the parents of a called program's topmost spans, which are found at the end, a server joins it with its caller.
  if (publisher == NULL || (caller != NULL && caller[0] != 0))
    return STATUS_OK;
  struct span_stream *stream = *ret_stream = memory_new(1, sizeof *stream);
  stream->has_levels = has_levels;
  XSP_TRY(publish_options_read(invocation, &options, err));
  return publish_stream_open(&options, &stream->sending, err);
}

void span_stream_close(struct span_stream *stream)
{
  struct publish_result result;
  struct error err;
  if (stream == NULL)
    return;
  publish_stream_close(stream->sending, &result, &err);
  for (size_t i = 0; i < stream->runs.count; i++)
    vector_done(&stream->runs.items[i].places);
  vector_done(&stream->runs);
  free(stream);
}

// ---- the end ---------------------------------------------------------------------------------------------------------
struct rest {
  struct span_stream *stream;
  struct store *store;
};

static enum status fill_rest(void *context, const struct report_otlp_sink *sink, struct error *err)
{
  const struct rest *rest = context;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  size_t count = 0;
  XSP_TRY(store_runs(rest->store, &arena, &runs, &count, err));
  for (size_t i = 0; i < count; i++) {
    const struct streamed_run *run = find_run(rest->stream, runs[i].run_id);
    struct report_otlp_part part = run != NULL ? run->part : (struct report_otlp_part){.run_id = runs[i].run_id};
    part.to = (struct store_place){INT64_MAX, INT64_MAX, INT64_MAX};
    part.run_goes_on = false;
    part.has_no_file_notes = i > 0;
    XSP_TRY(report_otlp_part(rest->store, &part, sink, err));
  }
  return STATUS_OK;
}

void span_stream_after(struct span_stream *stream, struct publisher *publisher, struct store *store)
{
  struct publish_result before;
  struct error err;
  if (stream == NULL || store == NULL || !stream->has_sent) {
    publish_options_after(publisher, store);
    return;
  }
  struct rest rest = {stream, store};
  publish_stream_close(stream->sending, &before, &err);
  stream->sending = NULL;
  if (err.status != STATUS_OK)
    output_error(&err);
  publish_options_rest(publisher, fill_rest, &rest, &before);
}
