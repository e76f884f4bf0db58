// SPDX-License-Identifier: Apache-2.0
// Chrome trace events, one at a time, from a stream of any size: what Kineto, ONNX Runtime, TensorFlow and many others
// write. Both shapes: {"traceEvents": [...], other keys} and a bare array (whose closing bracket may be missing, as
// Chrome's format allows, where the importer says so). Inside this room only. Fast path of the whole room.
#ifndef XSP_IMPORTERS_TRACE_EVENTS_TRACE_EVENTS_H
#define XSP_IMPORTERS_TRACE_EVENTS_TRACE_EVENTS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"
#include "importers/importer.h"

enum trace_value_type { // as in JSON
  TRACE_NONE = 0,       // absent
  TRACE_STRING,
  TRACE_NUMBER,
  TRACE_TRUE,
  TRACE_FALSE,
  TRACE_NULL,
  TRACE_OBJECT,
  TRACE_ARRAY,
};
struct trace_value {
  enum trace_value_type type;
  bool is_whole;    // NUMBER of up to 16 digits and nothing else: its value is `whole`
  struct slice raw; // STRING: decoded (U+FFFD for invalid UTF-8, escapes resolved); others: the JSON text unchanged
  int64_t whole;
};
struct trace_argument {
  struct slice key; // decoded
  uint32_t
      key_number; // the same for equal keys of this reader, from 1, small; 0: look at `key` (not every key has one)
  struct trace_value value;
};
struct trace_event {
  struct slice name, category; // "" where absent
  char phase;                  // 'X', 'B', 'E', 'i', 'M', 's', 'f', …; 0: absent
  bool has_start, has_duration;
  // Microseconds in the file, in quotes or not, decimals read exactly. end is ts + dur rounded down to ns, so dur is
  // end_ns - start_ns.
  int64_t start_ns, end_ns;                     // end == start without dur
  struct trace_value process_id, thread_id, id; // numbers or strings
  struct trace_value id2;                       // {"local": …} or {"global": …}
  struct slice scope;                           // of the id; "" where absent
  const struct trace_argument *arguments;       // of "args" in order; a repeated key is listed twice
  size_t argument_count;
  uint64_t offset; // of the event's first byte in the file
};

struct trace_reader {
  struct trace_event event; // after TRACE_EVENT
  struct slice key;         // after TRACE_KEY: a key of the top object other than traceEvents
  struct trace_value value; // next to it
  bool is_unclosed; // after TRACE_END: a bare array without its closing bracket; the importer says if that will do
  uint64_t nonfinite_count; // values up to here that are NaN or infinite in the file: null
  struct trace_reader_private *private_;
};
enum trace_item { TRACE_END = 0, TRACE_EVENT, TRACE_KEY };

// `input` stays the caller's.
enum status trace_open(struct input *input, struct trace_reader *ret_reader, struct error *err) MUST_CHECK;
// STATUS_INPUT with file, byte and reason: not JSON, truncated, nested deeper than 512, a time beyond int64 ns.
enum status trace_next(struct trace_reader *reader, enum trace_item *ret_item, struct error *err) MUST_CHECK;
void trace_close(struct trace_reader *reader);
struct trace_ending {
  bool is_unclosed;
  uint64_t nonfinite_count;
  int64_t resolution_ns; // of starts: what they are multiples of, at most a microsecond
};
// All items of a file in order, read on a thread of its own where the input permits (input_read_apart): until it returns, the
// input is that thread's. `key`, for those of TRACE_KEY, may be NULL; `offset`: of what follows its value in the file.
// *ret_ending: as in struct trace_reader, where STATUS_OK is returned.
typedef enum status trace_event_function(void *context, const struct trace_event *event, struct error *err);
typedef enum status trace_key_function(void *context, struct slice key, const struct trace_value *value,
                                       uint64_t offset, struct error *err);
enum status trace_read(struct input *input, trace_event_function *event, trace_key_function *key, void *context,
                       struct trace_ending *ret_ending, struct error *err) MUST_CHECK;

bool trace_any_int64(const struct trace_value *value, int64_t *ret_value);
static inline bool trace_int64(const struct trace_value *value,
                               int64_t *ret_value) // whole numbers, also as strings "12"
{
  if (!value->is_whole)
    return trace_any_int64(value, ret_value); // which leaves *ret_value alone where there is none
  *ret_value = value->whole;
  return true;
}
bool trace_double(const struct trace_value *value, double *ret_value);                     // finite numbers
const struct trace_argument *trace_find(const struct trace_event *event, const char *key); // the last of that key; NULL

// ---- tracks.c: tracks, found by (pid, tid), which may be numbers or strings, and tags
struct event_tracks { // starts as {.import = …}; ends with map_done(&tracks)
  struct import *import;
  struct map tracks; // (pid, tid) as ids of texts → track
  uint32_t last_pid, last_tid, last_track;
};
// The track of an event; a new one gets the numbers, and a name where pid or tid are not numbers.
enum status import_event_track(struct event_tracks *tracks, const struct trace_event *event, uint32_t *ret_track_id,
                               struct error *err) MUST_CHECK;
// The value of a tag for one that is neither a text nor a container: whole numbers as integers, other numbers as doubles,
// true and false as 1 and 0, numbers that neither type holds as text. False: it is another value, or null.
bool import_event_scalar(struct import *import, const struct trace_value *value, struct store_tag *ret_tag);
// Tags a span with such a value; null gives no tag. False: it is another value.
bool import_event_tag_scalar(struct import *import, int64_t span_id, uint32_t key, const struct trace_value *value);

// Why events of this phase are no spans; NULL: they are, or metadata.
const char *trace_phase_reason(char phase);

// Notes what the file's numbers are like: values that are NaN or infinite, the resolution of times.
void import_note_ending(struct import *import, const struct trace_ending *ending);

// ---- json_time.c: times as traces write them: decimal microseconds with any number of digits, read exactly. Pure.
// Both texts must be JSON numbers. start = ⌊start µs⌋ and end = ⌊start µs + duration µs⌋ in ns, computed exactly;
// `duration` NULL: end = start. False where one does not fit an int64.
bool json_time(const char *start, size_t start_length, const char *duration, size_t duration_length,
               int64_t *ret_start_ns, int64_t *ret_end_ns);

// Whether all of the text is one JSON number.
bool json_time_is_number(const char *text, size_t length);

#endif
