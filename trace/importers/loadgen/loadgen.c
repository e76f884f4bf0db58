// SPDX-License-Identifier: Apache-2.0
// MLPerf LoadGen's trace (mlperf_log_trace.json): an event a line, of which some are not JSON, as their texts are in two pairs of
// quotes. Each line is mended and read by itself. Samples are predictions; what LoadGen's threads do is application level. See
// docs/importers.md.
#include "base/json_read.h"
#include "base/map.h"
#include "base/vector.h"
#include "importers/json_document.h"
#include "importers/text_file.h"

#include <inttypes.h>

#define TAGS_MOST 16u

static int recognize(struct slice head, bool is_all)
{
  return slice_contains(head, "\"traceEvents\"") && slice_contains(head, "\"sample_seq\":") &&
                 slice_contains(head, "\"query_seq\":")
             ? 3
             : 0;
}

struct event { // of a line
  uint32_t name;
  char phase;
  int64_t process, thread, id;
  bool has_id;
  char start[48], duration[48]; // decimals in µs; "": none
  struct store_tag tags[TAGS_MOST];
  size_t tag_count;
};
struct sample { // one that has begun
  int64_t span_id, process;
  char start[48];
};
struct reading {
  struct import *import;
  struct event event;
  struct map tracks;    // (process, thread) → track; (process, STORE_NONE): of samples
  struct map sample_of; // id → place + 1 in `samples`
  VECTOR(struct sample) samples;
  int64_t last_span_id;
  uint64_t mended, open;
  int64_t epoch_ns, most_end_ns;
  bool has_epoch;
};

// ---- lines -----------------------------------------------------------------------------------------------------------
// Turns `""text""` into `"text"`, in place. Returns whether there was any; the empty text stays.
static bool mend(struct buf *line)
{
  size_t to = 0;
  for (size_t at = 0; at < line->length; at++) {
    line->data[to++] = line->data[at];
    if (line->data[at] != '"' || at + 1 >= line->length || line->data[at + 1] != '"')
      continue;
    bool is_empty =
        at > 0 && line->data[at - 1] == ':' && at + 2 < line->length && strchr(",}", line->data[at + 2]) != NULL;
    if (is_empty)
      line->data[to++] = '"';
    at++;
  }
  bool is_mended = to < line->length;
  line->length = to;
  line->data[to] = 0;
  return is_mended;
}

static bool take_argument(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  struct event *event = &reading->event;
  struct store_tag tag = {0};
  if (event->tag_count < TAGS_MOST && import_json_value(reading->import, reader, &tag)) {
    tag.key = import_word(reading->import, key);
    if (tag.key != 0)
      event->tags[event->tag_count++] = tag;
  }
  return true;
}

static void take_number(const struct json_reader *reader, char to[48])
{
  if (reader->event == JSON_NUMBER && reader->length < 48)
    memcpy(to, reader->text, reader->length + 1);
}

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  struct event *event = &reading->event;
  if (strcmp(key, "name") == 0 && reader->event == JSON_STRING)
    event->name = import_string(reading->import, reader->text, reader->length);
  else if (strcmp(key, "ph") == 0 && reader->event == JSON_STRING)
    event->phase = reader->text[0];
  else if (strcmp(key, "pid") == 0)
    (void)json_int64(reader, &event->process);
  else if (strcmp(key, "tid") == 0)
    (void)json_int64(reader, &event->thread);
  else if (strcmp(key, "id") == 0)
    event->has_id = json_int64(reader, &event->id);
  else if (strcmp(key, "ts") == 0)
    take_number(reader, event->start);
  else if (strcmp(key, "dur") == 0)
    take_number(reader, event->duration);
  else if (strcmp(key, "args") == 0 && reader->event == JSON_OBJECT)
    return json_each(reader, take_argument, context);
  return true;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static enum status find_track(struct reading *reading, int64_t process, int64_t thread, uint32_t *ret_track_id,
                              struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  uint64_t *known = map_at(&reading->tracks, (struct map_key){(uint64_t)process, (uint64_t)thread}, NULL);
  track.process_id = process;
  track.thread_id = thread;
  track.name = thread == STORE_NONE ? "samples" : NULL;
  if (*known == 0) {
    XSP_TRY(import_track(reading->import, &track, ret_track_id, err));
    *known = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*known;
  return STATUS_OK;
}

static void put_tags(struct reading *reading, int64_t span_id)
{
  for (size_t i = 0; i < reading->event.tag_count; i++) {
    reading->event.tags[i].span_id = span_id;
    import_tag(reading->import, &reading->event.tags[i]);
  }
}

static enum status put_span(struct reading *reading, const struct store_span *span, struct error *err)
{
  int64_t end_ns = span->start_ns + span->duration_ns;
  reading->most_end_ns = end_ns > reading->most_end_ns ? end_ns : reading->most_end_ns;
  return import_span(reading->import, span, err);
}

static enum status add_work(struct reading *reading, struct error *err)
{
  const struct event *event = &reading->event;
  struct store_span span = {.level = XSP_LEVEL_APPLICATION, .kind = XSP_KIND_SYNC, .name = event->name};
  bool has_times;
  XSP_TRY(import_decimal_times(reading->import, (struct import_decimal){slice_of(event->start), 0},
                               (struct import_decimal){slice_of(event->duration), 0}, &span, &has_times, err));
  if (!has_times)
    return STATUS_OK;
  span.span_id = ++reading->last_span_id;
  XSP_TRY(find_track(reading, event->process, event->thread, &span.track_id, err));
  put_tags(reading, span.span_id);
  return put_span(reading, &span, err);
}

// Samples overlap: none is another's parent.
static enum status begin_sample(struct reading *reading)
{
  struct event *event = &reading->event;
  uint64_t *place = map_at(&reading->sample_of, map_number((uint64_t)event->id), NULL);
  if (*place != 0) {
    import_skip(reading->import, "a sample that had begun");
    return STATUS_OK;
  }
  struct sample *sample = vector_add(&reading->samples);
  sample->span_id = ++reading->last_span_id;
  sample->process = event->process;
  memcpy(sample->start, event->start, sizeof sample->start);
  *place = reading->samples.count;
  put_tags(reading, sample->span_id);
  reading->open++;
  return STATUS_OK;
}

static enum status end_sample(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  uint64_t *place = map_find(&reading->sample_of, map_number((uint64_t)reading->event.id));
  if (place == NULL || *place == 0) {
    import_skip(import, "end without a beginning");
    return STATUS_OK;
  }
  const struct sample *sample = &reading->samples.items[*place - 1];
  *place = 0;
  reading->open--;
  struct store_span span = {.span_id = sample->span_id,
                            .level = XSP_LEVEL_MODEL,
                            .kind = XSP_KIND_SYNC,
                            .name = import_word(import, "Sample"),
                            .flags = STORE_FLAG_BASIS(BASIS_NONE)};
  struct store_span end = {0};
  struct import_decimal zero = {slice_of("0"), 0};
  bool has_start, has_end = false;
  XSP_TRY(
      import_decimal_times(import, (struct import_decimal){slice_of(sample->start), 0}, zero, &span, &has_start, err));
  if (has_start)
    XSP_TRY(import_decimal_times(import, (struct import_decimal){slice_of(reading->event.start), 0}, zero, &end,
                                 &has_end, err));
  if (!has_start || !has_end) { // one of the two events is counted already
    import_skip(import, "no times");
    return STATUS_OK;
  }
  import_joined(import); // the begin event, and the end event with the span
  if (__builtin_sub_overflow(end.start_ns, span.start_ns, &span.duration_ns))
    return import_broken(import, err, input_offset(import->input, import->input->at),
                         "a duration before here is beyond 64 bits of nanoseconds");
  if (span.duration_ns < 0) {
    import_skip(import, "negative duration");
    return STATUS_OK;
  }
  XSP_TRY(find_track(reading, sample->process, STORE_NONE, &span.track_id, err));
  return put_span(reading, &span, err);
}

static enum status read_line(void *context, struct buf *line, struct error *err)
{
  struct reading *reading = context;
  struct slice text = slice_trim((struct slice){line->data, line->length});
  if (!slice_starts_with(text, "{\"name\"")) {
    struct slice rest =
        text.length > 0 && text.data[text.length - 1] == ',' ? (struct slice){text.data, text.length - 1} : text;
    struct store_span origin;
    if (slice_starts_with(rest, "\"ts\":")) // of the file, in otherData
      XSP_TRY(import_decimal_times(reading->import, (struct import_decimal){slice_after(rest, 5), 0},
                                   (struct import_decimal){slice_of("0"), 0}, &origin, &reading->has_epoch, err));
    if (slice_starts_with(rest, "\"ts\":") && reading->has_epoch)
      reading->epoch_ns = origin.start_ns;
    return STATUS_OK;
  }
  reading->mended += mend(line);
  text = slice_trim((struct slice){line->data, line->length});
  if (slice_ends_with(text, ","))
    text.length--;
  reading->event = (struct event){.process = STORE_NONE, .thread = STORE_NONE};
  if (!json_each_of_text(text.data, text.length, take_member, reading)) {
    import_skip(reading->import, "not JSON, and not to be mended");
    return STATUS_OK;
  }
  bool is_pair = reading->event.has_id && (reading->event.phase == 'b' || reading->event.phase == 'e');
  if (is_pair)
    return reading->event.phase == 'b' ? begin_sample(reading) : end_sample(reading, err);
  if (reading->event.phase == 'X')
    return add_work(reading, err);
  import_skip(reading->import, "not a span");
  return STATUS_OK;
}

// ---- the file --------------------------------------------------------------------------------------------------------
static enum status finish(struct reading *reading, int64_t run_id, struct error *err)
{
  struct import *import = reading->import;
  int64_t ignored;
  if (reading->has_epoch &&
      (reading->epoch_ns < 0 || __builtin_add_overflow(reading->epoch_ns, reading->most_end_ns, &ignored)))
    return import_broken(import, err, input_offset(import->input, import->input->at),
                         "times from the ts of otherData on are beyond 64 bits of nanoseconds");
  import_run_set(import, &(struct store_run){.run_id = run_id, .epoch_is_unix = reading->has_epoch});
  if (reading->has_epoch)
    import_run_shift(import, reading->epoch_ns);
  if (reading->open > 0)
    import_skip_many(import, "a sample that did not end", reading->open);
  if (reading->mended > 0)
    import_note(import, "%" PRIu64 " events had texts in two pairs of quotes, which are no JSON: read with one pair",
                reading->mended);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  int64_t run_id = import_run(import, &(struct store_run){0});
  enum status status = import_each_line(import, read_line, &reading, err);
  if (status == STATUS_OK)
    status = finish(&reading, run_id, err);
  map_done(&reading.tracks);
  map_done(&reading.sample_of);
  vector_done(&reading.samples);
  return status;
}

const struct importer importer_loadgen = {
    .name = "loadgen",
    .summary = "MLPerf LoadGen's trace: samples as predictions",
    .recognize = recognize,
    .read = read_file,
};
