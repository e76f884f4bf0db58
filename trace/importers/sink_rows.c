// SPDX-License-Identifier: Apache-2.0
// The sink's rows: spans, tags, traces, logs, texts. Called by importers for everything they find: the fast path of an
// import. Rows go into batches; what is said seldom is in sink_facts.c.
#include "importers/sink_private.h"

#include <stdio.h>
#include <string.h>

// ---- failing ---------------------------------------------------------------------------------------------------------
// Functions without a status leave their failure here; import_span and the like report it.
static void fail_later(struct sink *sink, enum status status, const struct error *error)
{
  if (sink->status != STATUS_OK)
    return;
  sink->status = status;
  sink->error = *error;
}

enum status sink_check(const struct sink *sink, struct error *err)
{
  if (sink->status != STATUS_OK && err != NULL)
    *err = sink->error;
  return sink->status;
}

static enum status push(struct sink *sink, struct error *err)
{
  struct error error = {0};
  sink_resolve(sink);
  enum status status = import_batches_push(sink->batches, &error);
  const volatile sig_atomic_t *cancel = sink->import->options->cancel;
  if (status == STATUS_OK && cancel != NULL && *cancel != 0)
    status = error_set(&error, STATUS_SYSTEM, "cannot import", sink->path, "it again", "it was interrupted");
  sink->batch = NULL;
  if (status == STATUS_OK)
    return STATUS_OK;
  fail_later(sink, status, &error);
  return sink_check(sink, err);
}

// ---- where a row goes ------------------------------------------------------------------------------------------------
static bool has_room(const struct batch *batch)
{
  return batch->span_count < BATCH_SPANS && batch->tag_count < BATCH_TAGS && batch->segment_count < BATCH_SEGMENTS &&
         batch->text_count < BATCH_TEXTS - SINK_LATE_TEXTS && batch->trace_count < BATCH_TRACES &&
         batch->log_count < BATCH_LOGS && batch->log_bytes < BATCH_LOG_BYTES;
}

// A batch with room for one more row of each kind. NULL: failed, kept in the sink.
static struct batch *open_batch(struct import *import)
{
  struct sink *sink = import->sink;
  if (sink->status != STATUS_OK)
    return NULL;
  if (sink->batch != NULL && !has_room(sink->batch) && push(sink, NULL) != STATUS_OK)
    return NULL;
  if (sink->batch == NULL) {
    sink->batch = import_batches_current(sink->batches);
    sink->batch_run = NULL;
  }
  return sink->batch;
}

static struct batch *begin_segment(struct import *import)
{
  struct sink *sink = import->sink;
  struct batch *batch = open_batch(import);
  if (batch == NULL || sink->batch_run == sink->run)
    return batch;
  batch->segments[batch->segment_count++] = (struct batch_segment){
      .run_id = sink->run->run.run_id, .span_from = batch->span_count, .tag_from = batch->tag_count};
  sink->batch_run = sink->run;
  return batch;
}

// The same, with its last segment belonging to the current run.
static inline struct batch *batch_of_run(struct import *import)
{
  const struct sink *sink = import->sink;
  bool is_open = sink->batch != NULL && sink->batch_run == sink->run && sink->status == STATUS_OK;
  return is_open && has_room(sink->batch) ? sink->batch : begin_segment(import);
}

// ---- texts -----------------------------------------------------------------------------------------------------------
// Kilobytes of a compressed file may be gigabytes of texts, each another one.
uint64_t import_text_bytes_most(const struct import *import)
{
  uint64_t limit_bytes = import->options->limit_bytes / 4;
  return limit_bytes > SINK_TEXT_BYTES_LEAST ? limit_bytes : SINK_TEXT_BYTES_LEAST;
}

enum status import_too_many_texts(const struct import *import, struct error *err)
{
  uint64_t most = import_text_bytes_most(import);
  char advice[64];
  snprintf(advice, sizeof advice, "--limit-bytes %llu", (unsigned long long)(most < UINT64_MAX / 8 ? 8 * most : most));
  return error_set(err, STATUS_INPUT, "cannot import", import->input->path, advice,
                   "its texts, each counted once, are more than %llu bytes", (unsigned long long)most);
}

// Room is made before a text gets its id: texts go to the storing side in the order of their ids, and making room may
// number others.
uint32_t import_string(struct import *import, const char *text, size_t length)
{
  struct sink *sink = import->sink;
  struct interner *texts = &sink->texts;
  if (length == 0)
    return 0;
  if (sink->batch == NULL || sink->batch->text_count >= BATCH_TEXTS - SINK_LATE_TEXTS)
    (void)open_batch(import);
  uint32_t before = interner_count(texts), id = interner_at(texts, text, length);
  if (id == before && sink->batch != NULL && sink->status == STATUS_OK) {
    sink->batch->texts[sink->batch->text_count++] = interner_text(texts, id);
    struct error error = {0};
    if (texts->arena.used_bytes > import_text_bytes_most(import))
      fail_later(sink, import_too_many_texts(import, &error), &error);
  }
  return id + 1;
}

// Each step asks for the memory that the next one needs, for all texts; then they are looked up one after the other.
void sink_resolve(struct sink *sink)
{
  struct interner *texts = &sink->texts;
  for (uint32_t i = 0; i < sink->late_count; i++)
    interner_fetch(texts, sink->late[i].hash);
  for (uint32_t i = 0; i < sink->late_count; i++)
    interner_fetch_text(texts, sink->late[i].hash);
  for (uint32_t i = 0; i < sink->late_count; i++) {
    const struct sink_late *late = &sink->late[i];
    uint32_t before = interner_count(texts), id = interner_at_hashed(texts, late->text, late->length, late->hash);
    if (id == before)
      sink->batch->texts[sink->batch->text_count++] = interner_text(texts, id); // has_room kept room for all of them
    sink->batch->tags[late->tag].value.string = id + 1;
  }
  sink->late_count = 0;
}

const char *import_text(const struct import *import, uint32_t string, size_t *ret_length)
{
  const struct interner *texts = &import->sink->texts;
  bool is_known = string > 0 && string <= interner_count(texts);
  struct slice text = is_known ? interner_text(texts, string - 1) : slice_of("");
  if (ret_length != NULL)
    *ret_length = text.length;
  return text.data;
}

// ---- spans and tags --------------------------------------------------------------------------------------------------
// In a run that has spans already, ids and tracks begin behind theirs.
static void put_behind(const struct import_place *place, struct store_span *row)
{
  row->span_id += place->span_base;
  row->track_id += row->track_id != 0 ? (uint32_t)place->track_base : 0;
  row->recorded_parent_id += row->recorded_parent_id != 0 ? place->span_base : 0;
}

static bool leaves_out(const struct sink *sink, unsigned level)
{
  return sink->place != NULL && (sink->place->level_mask & XSP_LEVEL_MASK(level)) == 0;
}

enum status import_span(struct import *import, const struct store_span *span, struct error *err)
{
  struct sink *sink = import->sink;
  if (leaves_out(sink, span->level)) {
    import_skip(import, "level that is off");
    return STATUS_OK;
  }
  struct batch *batch = batch_of_run(import);
  if (batch == NULL)
    return sink_check(sink, err);
  sink->run->level_mask |= XSP_LEVEL_MASK(span->level);
  sink->run->span_count++;
  struct store_span *row = &batch->spans[batch->span_count++];
  *row = *span;
  if (sink->place != NULL)
    put_behind(sink->place, row);
  if (row->tracer == 0)
    row->tracer = sink->default_tracer;
  else if (row->tracer == IMPORT_NO_TRACER)
    row->tracer = 0;
  sink->kept++;
  sink->events++;
  return STATUS_OK;
}

void import_tag(struct import *import, const struct store_tag *tag)
{
  struct batch *batch = batch_of_run(import);
  if (batch == NULL)
    return;
  struct store_tag *row = &batch->tags[batch->tag_count++];
  *row = *tag;
  row->span_id += import->sink->place != NULL ? import->sink->place->span_base : 0;
}

void import_tag_int(struct import *import, int64_t span_id, uint32_t key, int64_t value)
{
  import_tag(import, &(struct store_tag){.span_id = span_id, .key = key, .type = STORE_INT, .value.integer = value});
}

void import_tag_double(struct import *import, int64_t span_id, uint32_t key, double value)
{
  import_tag(import, &(struct store_tag){.span_id = span_id, .key = key, .type = STORE_DOUBLE, .value.real = value});
}

void import_tag_text(struct import *import, int64_t span_id, uint32_t key, uint32_t text)
{
  import_tag(import, &(struct store_tag){.span_id = span_id, .key = key, .type = STORE_TEXT, .value.string = text});
}

void import_tag_bytes(struct import *import, int64_t span_id, uint32_t key, const char *text, size_t length)
{
  struct sink *sink = import->sink;
  if (length == 0 || length > SINK_LATE_BYTES) {
    import_tag_text(import, span_id, key, import_string(import, text, length));
    return;
  }
  if (sink->late_count == SINK_LATE_TEXTS)
    sink_resolve(sink);
  struct batch *batch = batch_of_run(import);
  if (batch == NULL)
    return;
  struct sink_late *late = &sink->late[sink->late_count++];
  late->hash = interner_hash(&sink->texts, text, length);
  late->length = (uint32_t)length;
  late->tag = batch->tag_count;
  memcpy(late->text, text, length);
  span_id += sink->place != NULL ? sink->place->span_base : 0;
  batch->tags[batch->tag_count++] = (struct store_tag){.span_id = span_id, .key = key, .type = STORE_TEXT};
}

// ---- traces ----------------------------------------------------------------------------------------------------------
enum status import_trace(struct import *import, const char *text, uint32_t *ret_trace_id, struct error *err)
{
  struct sink *sink = import->sink;
  int64_t run_id = sink->run->run.run_id;
  uint32_t string = import_word(import, text);
  *ret_trace_id = 0;
  uint64_t *id = map_at(&sink->traces, (struct map_key){(uint64_t)run_id, string}, NULL);
  if (*id == 0) {
    struct batch *batch = open_batch(import);
    if (batch == NULL)
      return sink_check(sink, err);
    batch->traces[batch->trace_count++] = (struct batch_trace){run_id, import_text(import, string, NULL)};
    *id = sink->traces.count;
  }
  *ret_trace_id = (uint32_t)*id;
  return sink_check(sink, err);
}

// ---- logs ------------------------------------------------------------------------------------------------------------
enum status import_log(struct import *import, int64_t span_id, int64_t time_ns, const char *message, size_t length,
                       struct error *err)
{
  struct sink *sink = import->sink;
  struct batch *batch = open_batch(import);
  if (batch == NULL)
    return sink_check(sink, err);
  char *copy = memory_text_of(message, length);
  batch->logs[batch->log_count++] = (struct batch_log){sink->run->run.run_id, span_id, time_ns, copy, length};
  batch->log_bytes += length;
  return STATUS_OK;
}
