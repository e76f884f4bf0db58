// SPDX-License-Identifier: Apache-2.0
// Pull reader of Chrome trace events; see trace_events.h. One pass over a moving window: an element that the window cuts
// is parsed again from its first byte when more has been read. Called by the importers of such files.
#include "collect/importers/trace_events.h"

#include "collect/importers/json_scan.h"
#include "collect/importers/json_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum place {
  PLACE_START,          // before the document
  PLACE_FIRST_KEY,      // behind the '{' of the top object
  PLACE_KEY,            // behind a comma of it
  PLACE_AFTER_VALUE,    // behind a value of it
  PLACE_FIRST_EVENT,    // behind the '[' of the events
  PLACE_EVENT,          // behind a comma of them
  PLACE_AFTER_EVENT,    // behind an event
  PLACE_AFTER_DOCUMENT, // nothing but space may follow
};

#define SCRATCH_BYTES ((size_t)64 << 10)

struct trace_reader_private {
  struct input *input;
  enum place place;
  bool is_bare_array;
  bool seen_event;
  struct json_scan scan;
  struct trace_argument *arguments;
  size_t argument_count, argument_capacity;
  char *scratch; // decoded strings of the present event: SCRATCH_BYTES, then the arena
  size_t scratch_used;
  struct arena more_scratch;
  bool out_of_memory;
};

// ---- text

static char *scratch_room(struct trace_reader_private *own, size_t bytes)
{
  if (bytes <= SCRATCH_BYTES - own->scratch_used)
    return own->scratch + own->scratch_used;
  char *room = arena_alloc(&own->more_scratch, bytes);
  if (room == NULL)
    own->out_of_memory = true;
  return room;
}

static struct text keep_scratch(struct trace_reader_private *own, char *room, size_t length)
{
  if (room == own->scratch + own->scratch_used)
    own->scratch_used += length;
  return (struct text){room, length};
}

static struct text decode_text(struct trace_reader_private *own, const struct json_string *string)
{
  if (string->is_plain)
    return (struct text){string->at, string->length};
  if (memchr(string->at, '\\', string->length) == NULL && json_is_utf8(string->at, string->length))
    return (struct text){string->at, string->length};
  char *room = scratch_room(own, string->length * 3);
  return room == NULL ? (struct text){"", 0} : keep_scratch(own, room, json_decode(string->at, string->length, room));
}

static void reset_scratch(struct trace_reader_private *own)
{
  own->scratch_used = 0;
  if (own->more_scratch.head != NULL)
    arena_done(&own->more_scratch);
}

// ---- values

static enum trace_value_type value_type(char first)
{
  switch (first) {
  case '"':
    return TRACE_STRING;
  case '{':
    return TRACE_OBJECT;
  case '[':
    return TRACE_ARRAY;
  case 't':
    return TRACE_TRUE;
  case 'f':
    return TRACE_FALSE;
  case 'n':
    return TRACE_NULL;
  default:
    return TRACE_NUMBER;
  }
}

static const char *read_value(struct trace_reader_private *own, const char *at, unsigned depth,
                              struct trace_value *ret_value)
{
  const char *start = at;
  ret_value->type = value_type(*at);
  if (*at == '"') {
    struct json_string string;
    if ((at = json_scan_string(&own->scan, at, &string)) != NULL)
      ret_value->raw = decode_text(own, &string);
    return at;
  }
  bool is_plain;
  if ((at = json_scan_value(&own->scan, at, depth, &is_plain)) == NULL)
    return NULL;
  ret_value->raw = (struct text){start, (size_t)(at - start)};
  if (!is_plain && !json_is_utf8(start, ret_value->raw.length)) {
    char *room = scratch_room(own, ret_value->raw.length * 3);
    ret_value->raw = room == NULL ? (struct text){"", 0}
                                  : keep_scratch(own, room, json_repair_utf8(start, ret_value->raw.length, room));
  }
  return at;
}

// A key, its colon, and the space around them.
static const char *read_key(struct trace_reader_private *own, const char *at, struct text *ret_key)
{
  struct json_string key;
  if (*at != '"')
    return json_scan_short(&own->scan, at, "a key in quotes was expected");
  if ((at = json_scan_string(&own->scan, at, &key)) == NULL)
    return NULL;
  *ret_key = decode_text(own, &key);
  at = json_scan_space(at);
  if (*at != ':')
    return json_scan_short(&own->scan, at, "':' was expected behind a key");
  return json_scan_space(at + 1);
}

// Behind a value of an object: over a comma to the next key, or to the closing brace.
static const char *next_member(struct trace_reader_private *own, const char *at, bool *ret_more)
{
  at = json_scan_space(at);
  *ret_more = *at == ',';
  if (*ret_more)
    return json_scan_space(at + 1);
  if (*at != '}')
    return json_scan_short(&own->scan, at, "',' or '}' was expected");
  return at + 1;
}

static const char *first_member(const char *at, bool *ret_more)
{
  at = json_scan_space(at + 1);
  *ret_more = *at != '}';
  return *ret_more ? at : at + 1;
}

static struct trace_argument *add_argument(struct trace_reader_private *own)
{
  if (own->argument_count == own->argument_capacity) {
    size_t capacity = own->argument_capacity > 0 ? own->argument_capacity * 2 : 64;
    struct trace_argument *bigger = realloc(own->arguments, capacity * sizeof *bigger);
    if (bigger == NULL) {
      own->out_of_memory = true;
      return NULL;
    }
    own->arguments = bigger;
    own->argument_capacity = capacity;
  }
  return &own->arguments[own->argument_count++];
}

static const char *read_arguments(struct trace_reader_private *own, const char *at, unsigned depth)
{
  struct trace_value ignored;
  own->argument_count = 0;
  if (*at != '{')
    return read_value(own, at, depth, &ignored);
  bool more;
  at = first_member(at, &more);
  while (more) {
    struct trace_argument *argument = add_argument(own);
    if (argument == NULL)
      return json_scan_fail(&own->scan, at, "out of memory");
    if ((at = read_key(own, at, &argument->key)) == NULL ||
        (at = read_value(own, at, depth + 1, &argument->value)) == NULL || (at = next_member(own, at, &more)) == NULL)
      return NULL;
  }
  return at;
}

// ---- events

enum field {
  FIELD_OTHER,
  FIELD_NAME,
  FIELD_CATEGORY,
  FIELD_PHASE,
  FIELD_TIME,
  FIELD_DURATION,
  FIELD_PROCESS,
  FIELD_THREAD,
  FIELD_ID,
  FIELD_ARGUMENTS,
  FIELD_COUNT
};

static enum field find_field(struct text key)
{
  static const char *const names[FIELD_COUNT] = {
      [FIELD_NAME] = "name",  [FIELD_CATEGORY] = "cat", [FIELD_PHASE] = "ph",
      [FIELD_TIME] = "ts",    [FIELD_DURATION] = "dur", [FIELD_PROCESS] = "pid",
      [FIELD_THREAD] = "tid", [FIELD_ID] = "id",        [FIELD_ARGUMENTS] = "args"};
  for (enum field field = FIELD_NAME; field < FIELD_COUNT; field++)
    if (text_is(key, names[field]))
      return field;
  return FIELD_OTHER;
}

static struct text string_or_nothing(const struct trace_value *value)
{
  return value->type == TRACE_STRING ? value->raw : (struct text){"", 0};
}

// False where a time cannot be represented.
static bool set_times(struct trace_event *event, const struct trace_value *time, const struct trace_value *duration)
{
  event->has_start = time->type == TRACE_NUMBER;
  event->has_duration = duration->type == TRACE_NUMBER;
  int64_t ignored;
  if (!event->has_start) // a duration alone says nothing, but must be representable
    return !event->has_duration || json_time("0", 1, duration->raw.at, duration->raw.length, &ignored, &ignored);
  return json_time(time->raw.at, time->raw.length, event->has_duration ? duration->raw.at : NULL,
                   event->has_duration ? duration->raw.length : 0, &event->start_ns, &event->end_ns);
}

static const char *read_event(struct trace_reader_private *own, const char *at, unsigned depth,
                              struct trace_event *event)
{
  struct trace_value fields[FIELD_COUNT] = {0};
  const char *start = at;
  bool more;
  own->argument_count = 0;
  at = first_member(at, &more);
  while (more) {
    struct text key;
    if ((at = read_key(own, at, &key)) == NULL)
      return NULL;
    enum field field = find_field(key);
    at = field == FIELD_ARGUMENTS ? read_arguments(own, at, depth + 1) : read_value(own, at, depth + 1, &fields[field]);
    if (at == NULL || (at = next_member(own, at, &more)) == NULL)
      return NULL;
  }
  *event = (struct trace_event){
      .name = string_or_nothing(&fields[FIELD_NAME]),
      .category = string_or_nothing(&fields[FIELD_CATEGORY]),
      .process_id = fields[FIELD_PROCESS],
      .thread_id = fields[FIELD_THREAD],
      .id = fields[FIELD_ID],
      .arguments = own->arguments,
      .argument_count = own->argument_count,
      .offset = input_offset(own->input, start),
  };
  struct text phase = string_or_nothing(&fields[FIELD_PHASE]);
  event->phase = phase.length == 1 ? phase.at[0] : 0;
  if (!set_times(event, &fields[FIELD_TIME], &fields[FIELD_DURATION]))
    return json_scan_fail(&own->scan, start, "a time of this event is beyond 64 bits of nanoseconds");
  return at;
}

// ---- the document

static enum status broken(struct trace_reader_private *own, struct error *err)
{
  char where[sizeof err->where];
  if (own->out_of_memory)
    return error_set(err, STATUS_MEMORY, "cannot import", own->input->path, NULL, "out of memory");
  snprintf(where, sizeof where, "%s, byte %" PRIu64, own->input->path, input_offset(own->input, own->scan.at));
  bool cut = own->scan.at >= own->input->end;
  return error_set(err, STATUS_INPUT, "cannot import", where, "recording or copying it again", "%s%s",
                   cut ? "the file ends too early: " : "", own->scan.problem);
}

// Moves over space, also beyond the window's end; *input->at is 0 at `end` only where the file ends.
static enum status skip_space(struct trace_reader_private *own, struct error *err)
{
  struct input *input = own->input;
  for (;;) {
    input->at = json_scan_space(input->at);
    if (input->at < input->end || input->is_last)
      return STATUS_OK;
    XSP_TRY(input_more(input, err));
  }
}

typedef const char *step_function(struct trace_reader *reader, const char *at);

// Runs `step` at input->at, again with a longer window where this one cuts it.
static enum status run_step(struct trace_reader *reader, step_function *step, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  struct input *input = own->input;
  for (;;) {
    own->scan.end = input->end;
    own->scan.is_last = input->is_last;
    own->scan.problem = NULL;
    reset_scratch(own);
    const char *behind = step(reader, input->at);
    if (own->out_of_memory)
      return broken(own, err);
    if (behind != NULL) {
      input->at = behind;
      return STATUS_OK;
    }
    if (own->scan.problem != NULL)
      return broken(own, err);
    XSP_TRY(input_more(input, err));
  }
}

static const char *event_step(struct trace_reader *reader, const char *at)
{
  struct trace_reader_private *own = reader->private_;
  if (*at != '{')
    return json_scan_short(&own->scan, at, "an event in braces was expected");
  return read_event(own, at, own->is_bare_array ? 1 : 2, &reader->event);
}

// A key of the top object; with its value, unless the events follow: then reader->value is TRACE_NONE.
static const char *member_step(struct trace_reader *reader, const char *at)
{
  struct trace_reader_private *own = reader->private_;
  if ((at = read_key(own, at, &reader->key)) == NULL)
    return NULL;
  reader->value = (struct trace_value){0};
  if (!text_is(reader->key, "traceEvents"))
    return read_value(own, at, 1, &reader->value);
  if (*at != '[')
    return json_scan_short(&own->scan, at, "an array of events was expected");
  return at + 1;
}

static enum status fail_here(struct trace_reader_private *own, const char *problem, struct error *err)
{
  own->scan.at = own->input->at;
  own->scan.problem = problem;
  return broken(own, err);
}

// At the '"' of a key of the top object.
static enum status read_member(struct trace_reader *reader, bool *ret_is_item, struct error *err)
{
  XSP_TRY(run_step(reader, member_step, err));
  *ret_is_item = reader->value.type != TRACE_NONE;
  reader->private_->place = *ret_is_item ? PLACE_AFTER_VALUE : PLACE_FIRST_EVENT;
  return STATUS_OK;
}

static enum status begin_document(struct trace_reader_private *own, struct error *err)
{
  struct input *input = own->input;
  if (*input->at != '{' && *input->at != '[')
    return fail_here(own, "'{' or '[' was expected", err);
  own->is_bare_array = *input->at == '[';
  own->place = own->is_bare_array ? PLACE_FIRST_EVENT : PLACE_FIRST_KEY;
  input->at++;
  return STATUS_OK;
}

// Between or behind events: a comma, the array's end, or the end of a file that leaves the bracket out.
static enum status between_events(struct trace_reader *reader, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  struct input *input = own->input;
  if (input->at == input->end && own->is_bare_array && own->seen_event) {
    reader->is_unclosed = true;
    own->place = PLACE_AFTER_DOCUMENT;
    return STATUS_OK;
  }
  if (*input->at == ']' && own->place != PLACE_EVENT) {
    own->place = own->is_bare_array ? PLACE_AFTER_DOCUMENT : PLACE_AFTER_VALUE;
    input->at++;
    return STATUS_OK;
  }
  if (own->place == PLACE_AFTER_EVENT && *input->at != ',')
    return fail_here(own, "',' or ']' was expected", err);
  if (own->place == PLACE_AFTER_EVENT) {
    own->place = PLACE_EVENT;
    input->at++;
  }
  return STATUS_OK;
}

static enum status next_key(struct trace_reader *reader, bool *ret_is_item, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  struct input *input = own->input;
  if (*input->at == '}' && own->place != PLACE_KEY) {
    own->place = PLACE_AFTER_DOCUMENT;
    input->at++;
    return STATUS_OK;
  }
  if (own->place == PLACE_AFTER_VALUE) {
    if (*input->at != ',')
      return fail_here(own, "',' or '}' was expected", err);
    own->place = PLACE_KEY;
    input->at++;
    return STATUS_OK;
  }
  return read_member(reader, ret_is_item, err);
}

static enum status read_one_event(struct trace_reader *reader, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  XSP_TRY(run_step(reader, event_step, err));
  own->place = PLACE_AFTER_EVENT;
  own->seen_event = true;
  return STATUS_OK;
}

enum status trace_next(struct trace_reader *reader, enum trace_item *ret_item, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  bool is_key = false;
  for (;;) {
    XSP_TRY(skip_space(own, err));
    switch (own->place) {
    case PLACE_START:
      XSP_TRY(begin_document(own, err));
      break;
    case PLACE_FIRST_KEY:
    case PLACE_KEY:
    case PLACE_AFTER_VALUE:
      XSP_TRY(next_key(reader, &is_key, err));
      if (is_key) {
        *ret_item = TRACE_KEY;
        return STATUS_OK;
      }
      break;
    case PLACE_FIRST_EVENT:
    case PLACE_EVENT:
    case PLACE_AFTER_EVENT:
      if (own->place == PLACE_AFTER_EVENT || *own->input->at != '{') {
        enum place before = own->place;
        XSP_TRY(between_events(reader, err));
        if (own->place != before)
          break;
      }
      XSP_TRY(read_one_event(reader, err));
      *ret_item = TRACE_EVENT;
      return STATUS_OK;
    case PLACE_AFTER_DOCUMENT:
      if (own->input->at < own->input->end)
        return fail_here(own, "nothing was expected behind the document's end", err);
      *ret_item = TRACE_END;
      return STATUS_OK;
    }
  }
}

enum status trace_open(struct input *input, struct trace_reader *ret_reader, struct error *err)
{
  *ret_reader = (struct trace_reader){0};
  struct trace_reader_private *own = calloc(1, sizeof *own);
  if (own != NULL && (own->scratch = malloc(SCRATCH_BYTES)) == NULL) {
    free(own);
    own = NULL;
  }
  if (own == NULL)
    return error_set(err, STATUS_MEMORY, "cannot import", input->path, NULL, "out of memory");
  own->input = input;
  ret_reader->private_ = own;
  while (input->end - input->at < 3 && !input->is_last)
    XSP_TRY(input_more(input, err));
  if (input->end - input->at >= 3 && memcmp(input->at, "\xef\xbb\xbf", 3) == 0) // a byte order mark
    input->at += 3;
  return STATUS_OK;
}

void trace_close(struct trace_reader *reader)
{
  struct trace_reader_private *own = reader->private_;
  if (own != NULL) {
    arena_done(&own->more_scratch);
    free(own->scratch);
    free(own->arguments);
    free(own);
  }
  *reader = (struct trace_reader){0};
}
