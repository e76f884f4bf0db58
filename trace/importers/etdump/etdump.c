// SPDX-License-Identifier: Apache-2.0
// ExecuTorch's ETDump: runs with events, in a flatbuffer (devtools/etdump/etdump_schema_flatcc.fbs). An operator has two events:
// OPERATOR_CALL, which takes its arguments, too, and native_call_NAME, its kernel. Operators of a delegate are joined to their
// DELEGATE_CALL by chain and instruction, as their times may be of another clock. See docs/importers.md.
#include "base/flatbuffer.h"
#include "base/map.h"
#include "base/vector.h"
#include "importers/text_file.h"

#include <inttypes.h>
#include <stdio.h>

enum { DUMP_RUNS = 1 };
enum { RUN_NAME, RUN_INPUT, RUN_EVENTS = 3 };
enum { EVENT_PROFILE };
enum {
  PROFILE_NAME,
  PROFILE_CHAIN,
  PROFILE_INSTRUCTION,
  PROFILE_DELEGATE_NUMBER,
  PROFILE_DELEGATE_NAME,
  PROFILE_START = 6,
  PROFILE_END
};
#define NAME_BYTES_MOST 1024 // longer ones are cut: a damaged file may share one among all events
static const char native_call[] = "native_call_";

struct event {
  struct slice name, delegate_name;
  int64_t chain, instruction, delegate_number; // -1: none
  uint64_t start, end;
};
struct call { // of an operator or a delegate; its kernel's or delegate's events come before its own
  int64_t span_id, start_ns, end_ns;
  uint32_t name; // of its kernel; 0: unknown
};
struct reading {
  struct import *import;
  struct flatbuffer flat;
  uint64_t offset;
  size_t root;
  uint64_t events_left; // that a file of its size can have
  struct map call_of;   // (chain, instruction) of the run that is read → place + 1, until the call's own event
  VECTOR(struct call) calls;
  VECTOR(uint32_t) call_of_event; // place + 1; 0: none
  uint32_t track_id, delegate_track_id;
  int64_t last_span_id;
  uint64_t outside; // operators of delegates that lie outside their call
};

// ---- the file --------------------------------------------------------------------------------------------------------
// With its length before it, as the runtime writes it, or without. Returns where the flatbuffer begins; -1: no ETDump.
static int begins_at(struct slice head)
{
  for (int at = 0; at <= 4; at += 4)
    if (head.length >= (size_t)at + 8 && memcmp(head.data + at + 4, "ED00", 4) == 0)
      return at;
  return -1;
}

static int recognize(struct slice head, bool is_all)
{
  return begins_at(head) >= 0 ? 3 : 0;
}

static enum status broken(const struct reading *reading, struct error *err)
{
  return import_broken(reading->import, err, reading->offset, "it is cut, or an offset in it leads out of it");
}

static struct slice name_of(struct reading *reading, size_t table, unsigned field)
{
  struct slice name = flatbuffer_text(&reading->flat, table, field);
  name.length = name.length < NAME_BYTES_MOST ? name.length : NAME_BYTES_MOST;
  return name;
}

static int64_t number_or_none(struct reading *reading, size_t table, unsigned field)
{
  bool is_there = flatbuffer_field(&reading->flat, table, field) != 0;
  return is_there ? flatbuffer_int32(&reading->flat, table, field) : -1;
}

// False: it is no event with times.
static bool read_event(struct reading *reading, size_t table, struct event *ret_event)
{
  struct flatbuffer *flat = &reading->flat;
  size_t profile = flatbuffer_follow(flat, flatbuffer_field(flat, table, EVENT_PROFILE));
  if (profile == 0)
    return false;
  *ret_event = (struct event){.name = name_of(reading, profile, PROFILE_NAME),
                              .delegate_name = name_of(reading, profile, PROFILE_DELEGATE_NAME),
                              .chain = flatbuffer_int32(flat, profile, PROFILE_CHAIN),
                              .instruction = number_or_none(reading, profile, PROFILE_INSTRUCTION),
                              .delegate_number = number_or_none(reading, profile, PROFILE_DELEGATE_NUMBER),
                              .start = (uint64_t)flatbuffer_int64(flat, profile, PROFILE_START),
                              .end = (uint64_t)flatbuffer_int64(flat, profile, PROFILE_END)};
  if (ret_event->end < ret_event->start && ret_event->start <= UINT32_MAX)
    ret_event->end += (uint64_t)1 << 32; // a clock of 32 bits began again
  return true;
}

static bool has_times(const struct event *event)
{
  return event->start <= event->end && event->end <= INT64_MAX;
}

static bool is_of_delegate(const struct event *event)
{
  return event->delegate_number >= 0 || event->delegate_name.length > 0;
}

// ---- calls: the first pass over a run --------------------------------------------------------------------------------
static bool is_call(const struct event *event)
{
  return !is_of_delegate(event) && (slice_is(event->name, "OPERATOR_CALL") || slice_is(event->name, "DELEGATE_CALL"));
}

static uint32_t note_call(struct reading *reading, const struct event *event)
{
  bool is_kernel = !is_of_delegate(event) && slice_starts_with(event->name, native_call);
  if (!has_times(event) || (!is_kernel && !is_call(event) && !is_of_delegate(event)))
    return 0;
  uint64_t *place =
      map_at(&reading->call_of, (struct map_key){(uint64_t)event->chain, (uint64_t)event->instruction}, NULL);
  if (*place == 0) {
    *vector_add(&reading->calls) = (struct call){0};
    *place = reading->calls.count;
  }
  uint32_t number = (uint32_t)*place;
  struct call *call = &reading->calls.items[number - 1];
  if (is_kernel)
    call->name = import_repaired(reading->import, slice_after(event->name, strlen(native_call)));
  if (is_call(event)) {
    call->span_id = ++reading->last_span_id;
    call->start_ns = (int64_t)event->start;
    call->end_ns = (int64_t)event->end;
    *place = 0; // a loop calls it again
  }
  return number;
}

// ---- spans: the second pass ------------------------------------------------------------------------------------------
static enum status find_track(struct reading *reading, bool is_delegate, uint32_t *ret_track_id, struct error *err)
{
  uint32_t *track_id = is_delegate ? &reading->delegate_track_id : &reading->track_id;
  struct store_track track = IMPORT_NO_PLACE;
  track.name = is_delegate ? "delegates" : "ExecuTorch";
  if (*track_id == 0)
    XSP_TRY(import_track(reading->import, &track, track_id, err));
  *ret_track_id = *track_id;
  return STATUS_OK;
}

static void tag_layer(struct reading *reading, const struct store_span *span, const struct event *event,
                      struct slice type)
{
  struct import *import = reading->import;
  import_tag_int(import, span->span_id, import_word(import, "layer_index"), event->instruction);
  if (event->chain != 0)
    import_tag_int(import, span->span_id, import_word(import, "chain"), event->chain);
  import_tag_text(import, span->span_id, import_word(import, "layer_type"), import_repaired(import, type));
}

// "Convolution (NHWC, F32) IGEMM #1", or the number that the delegate gave it when the model was made.
static void make_delegated(struct reading *reading, const struct event *event, const struct call *call,
                           struct store_span *span)
{
  char number[32];
  struct slice name = event->delegate_name.length > 0 ? event->delegate_name : event->name, type = name, rest = name;
  if (name.length == 0) {
    int length = snprintf(number, sizeof number, "delegated %" PRId64, event->delegate_number);
    type = name = (struct slice){number, (size_t)length};
  } else if (slice_cut(&rest, '#', &type)) {
    type = slice_trim(type);
  }
  span->level = XSP_LEVEL_LAYER;
  span->name = import_repaired(reading->import, name);
  span->category = import_word(reading->import, "delegated");
  tag_layer(reading, span, event, type);
  span->recorded_parent_id = call->span_id;
  span->flags = STORE_SPAN_PLACED; // its call is not found by time
  reading->outside +=
      call->span_id != 0 && (span->start_ns < call->start_ns || span->start_ns + span->duration_ns > call->end_ns);
}

static void make_call(struct reading *reading, const struct event *event, const struct call *call,
                      struct store_span *span)
{
  size_t length;
  const char *name = import_text(reading->import, call->name, &length);
  struct slice rest = {name, length}, type = event->name;
  bool is_operator = call->name != 0 && slice_is(event->name, "OPERATOR_CALL");
  if (is_operator)
    (void)slice_cut(&rest, '.', &type); // "add.out": an operator's overload
  span->span_id = call->span_id;
  span->level = XSP_LEVEL_LAYER;
  span->name = is_operator ? call->name : import_repaired(reading->import, event->name);
  tag_layer(reading, span, event, type);
}

static enum status put_event(struct reading *reading, const struct event *event, const struct call *call,
                             struct error *err)
{
  struct import *import = reading->import;
  struct store_span span = {.start_ns = (int64_t)event->start,
                            .duration_ns = (int64_t)(event->end - event->start),
                            .kind = XSP_KIND_SYNC,
                            .level = XSP_LEVEL_APPLICATION};
  bool is_delegated = is_of_delegate(event);
  if (!has_times(event)) {
    import_skip(import, "negative duration");
    return STATUS_OK;
  }
  span.span_id = is_call(event) ? call->span_id : ++reading->last_span_id;
  if (is_delegated) {
    make_delegated(reading, event, call, &span);
  } else if (is_call(event)) {
    make_call(reading, event, call, &span);
  } else {
    span.name = import_repaired(import, event->name);
    span.level = slice_is(event->name, "Method::execute")      ? XSP_LEVEL_MODEL
                 : slice_starts_with(event->name, native_call) ? XSP_LEVEL_LIBRARY
                                                               : XSP_LEVEL_APPLICATION;
  }
  XSP_TRY(find_track(reading, is_delegated, &span.track_id, err));
  return import_span(import, &span, err);
}

static enum status put_events(struct reading *reading, struct flatbuffer_vector events, struct error *err)
{
  static const struct call none = {0};
  struct event event;
  for (size_t i = 0; i < events.count && !reading->flat.is_broken; i++) {
    if (!read_event(reading, flatbuffer_table_in(&reading->flat, events, i), &event)) {
      import_skip(reading->import, "without times");
      continue;
    }
    uint32_t call = reading->call_of_event.items[i];
    XSP_TRY(put_event(reading, &event, call != 0 ? &reading->calls.items[call - 1] : &none, err));
  }
  return reading->flat.is_broken ? broken(reading, err) : STATUS_OK;
}

static enum status read_run(struct reading *reading, size_t run, struct error *err)
{
  struct flatbuffer_vector events = flatbuffer_vector_of(&reading->flat, run, RUN_EVENTS, 4);
  struct event event;
  if (events.count > reading->events_left)
    return broken(reading, err);
  reading->events_left -= events.count;
  reading->calls.count = reading->call_of_event.count = 0;
  map_done(&reading->call_of);
  for (size_t i = 0; i < events.count && !reading->flat.is_broken; i++) {
    bool is_event = read_event(reading, flatbuffer_table_in(&reading->flat, events, i), &event);
    *vector_add(&reading->call_of_event) = is_event ? note_call(reading, &event) : 0;
  }
  return put_events(reading, events, err);
}

static enum status read_dump(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  struct slice whole;
  XSP_TRY(input_whole(import->input, &whole, err));
  int begin = begins_at(whole);
  if (begin < 0)
    return import_broken(import, err, 0, "it is no ETDump: bytes 4 to 7, or 8 to 11, are not \"ED00\"");
  reading->offset = input_offset(import->input, whole.data);
  reading->flat = (struct flatbuffer){(const unsigned char *)whole.data + begin, whole.length - (size_t)begin, false};
  reading->events_left = whole.length / 4; // each has an offset of its own
  struct flatbuffer_vector runs =
      flatbuffer_vector_of(&reading->flat, flatbuffer_word(&reading->flat, 0), DUMP_RUNS, 4);
  for (size_t i = 0; i < runs.count && !reading->flat.is_broken; i++)
    XSP_TRY(read_run(reading, flatbuffer_table_in(&reading->flat, runs, i), err));
  if (reading->flat.is_broken)
    return broken(reading, err);
  import_note(import, "the file does not name the unit of its times: read as nanoseconds");
  if (reading->outside > 0)
    import_note(import,
                "%" PRIu64 " operators of delegates lie outside their call: the delegate's clock or unit is another",
                reading->outside);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  import_run(import, &(struct store_run){0});
  import_framework(import, "executorch", NULL);
  enum status status = read_dump(&reading, err);
  map_done(&reading.call_of);
  vector_done(&reading.calls);
  vector_done(&reading.call_of_event);
  return status;
}

const struct importer importer_etdump = {
    .name = "etdump",
    .summary = "ETDump of ExecuTorch",
    .recognize = recognize,
    .read = read_file,
};
