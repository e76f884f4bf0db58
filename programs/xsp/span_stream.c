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

struct span_stream {
  struct publish_stream *sending;
  struct report_otlp_part part;      // the next one; `from` is how far the spans went
  struct store_place place;          // of the last drain
  VECTOR(struct store_place) places; // of drains that were not handed on
  bool has_failed;                   // nothing is handed on any more
};

static void drop_places(struct span_stream *stream, size_t count)
{
  stream->places.count -= count;
  memmove(stream->places.items, stream->places.items + count, stream->places.count * sizeof *stream->places.items);
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
  if (place.spans != stream->place.spans)
    *vector_add(&stream->places) = stream->place = place;
  if (!is_wanted || stream->places.count == 0)
    return false;
  size_t last = 0;
  while (last + 1 < stream->places.count && stream->places.items[last + 1].spans - stream->part.from.spans <= PART_ROWS)
    last++;
  stream->part.run_id = run_id;
  stream->part.run_goes_on = true;
  stream->part.to = stream->places.items[last];
  stream->has_failed = report_otlp_part(store, &stream->part, &sink, NULL) != STATUS_OK;
  if (stream->has_failed)
    return false;
  stream->part.from = stream->part.to;
  drop_places(stream, last + 1);
  return stream->places.count > 0;
}

enum status span_stream_open(const struct invocation *invocation, struct publisher *publisher,
                             struct span_stream **ret_stream, struct error *err)
{
  struct publish_options options;
  const char *caller = getenv("TRACEPARENT");
  *ret_stream = NULL;
  // By the parents of a called program's topmost spans, which are found at the end, a server joins it with its caller.
  if (publisher == NULL || (caller != NULL && caller[0] != 0))
    return STATUS_OK;
  struct span_stream *stream = *ret_stream = memory_new(1, sizeof *stream);
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
  vector_done(&stream->places);
  free(stream);
}

// ---- the end ---------------------------------------------------------------------------------------------------------
struct rest {
  struct store *store;
  struct report_otlp_part part;
};

static enum status fill_rest(void *context, const struct report_otlp_sink *sink, struct error *err)
{
  struct rest *rest = context;
  struct report_otlp_part *part = &rest->part;
  part->to = (struct store_place){INT64_MAX, INT64_MAX, INT64_MAX};
  part->run_goes_on = false;
  return report_otlp_part(rest->store, part, sink, err);
}

void span_stream_after(struct span_stream *stream, struct publisher *publisher, struct store *store)
{
  struct publish_result before;
  struct error err;
  if (stream == NULL || store == NULL || stream->part.from.spans == 0) {
    publish_options_after(publisher, store);
    return;
  }
  struct rest rest = {store, stream->part};
  publish_stream_close(stream->sending, &before, &err);
  stream->sending = NULL;
  if (err.status != STATUS_OK)
    output_error(&err);
  publish_options_rest(publisher, fill_rest, &rest, &before);
}
