// SPDX-License-Identifier: Apache-2.0
// Pull reader of Chrome trace events; see trace_events.h. One pass over a moving window: an element that the window cuts
// is parsed again from its first byte when more has been read. Called by the importers of such files.
#include "importers/trace_events/trace_events.h"

#include "base/memory.h"
#include "importers/trace_events/trace_events_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Events of a piece keep their texts until it is handed over.
static void reset_scratch(struct trace_reader_private *own)
{
  if (own->pieces != NULL)
    return;
  own->scratch_used = 0;
  if (own->more_scratch.head != NULL)
    arena_done(&own->more_scratch);
}

static enum status broken(struct trace_reader_private *own, struct error *err)
{
  char where[sizeof err->where];
  snprintf(where, sizeof where, "%s, byte %" PRIu64, own->input->path, input_offset(own->input, own->scan.at));
  bool cut = own->scan.at >= own->input->end;
  return error_set(err, STATUS_INPUT, "cannot import", where,
                   cut ? "recording or copying it again" : "correcting it at this byte: what wrote it is at fault",
                   "%s%s", cut ? "the file ends too early: " : "", own->scan.problem);
}

static enum status more(struct trace_reader_private *own, struct error *err)
{
  if (own->pieces != NULL)
    trace_pieces_window(own->pieces);
  return input_more(own->input, err);
}

// Moves over space, also beyond the window's end; *input->at is 0 at `end` only where the file ends.
static enum status skip_space(struct trace_reader_private *own, struct error *err)
{
  struct input *input = own->input;
  for (;;) {
    input->at = json_scan_space(input->at);
    if (input->at < input->end || input->is_last)
      return STATUS_OK;
    XSP_TRY(more(own, err));
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
    own->scan.nonfinite_count = reader->nonfinite_count;
    reset_scratch(own);
    const char *behind = step(reader, input->at);
    if (behind != NULL) {
      input->at = behind;
      reader->nonfinite_count = own->scan.nonfinite_count;
      return STATUS_OK;
    }
    if (own->scan.problem != NULL)
      return broken(own, err);
    XSP_TRY(more(own, err));
  }
}

static const char *event_step(struct trace_reader *reader, const char *at)
{
  struct trace_reader_private *own = reader->private_;
  if (*at != '{')
    return json_scan_short(&own->scan, at, "an event in braces was expected");
  return trace_read_event(own, at, own->is_bare_array ? 1 : 2, &reader->event);
}

// A key of the top object; with its value, unless the events follow: then reader->value is TRACE_NONE.
static const char *member_step(struct trace_reader *reader, const char *at)
{
  struct trace_reader_private *own = reader->private_;
  bool is_plain = true;
  if ((at = trace_read_key(own, at, &reader->key, &is_plain)) == NULL)
    return NULL;
  reader->value = (struct trace_value){0};
  if (!slice_is(reader->key, "traceEvents"))
    return trace_read_value(own, at, 1, &reader->value);
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

// Over the byte at input->at, which leads to `place`.
static void step_to(struct trace_reader_private *own, enum trace_place place)
{
  own->input->at++;
  own->place = place;
}

// After an event: over the comma to the next one, where it is in this window; false: trace_next must look.
static bool skip_to_event(struct trace_reader_private *own)
{
  const char *at = own->input->at;
  if (own->place != PLACE_AFTER_EVENT || *at != ',')
    return false;
  at = json_skip_space(at + 1);
  if (*at != '{')
    return false;
  own->input->at = at;
  return true;
}

// Between the items of the top object: a brace, a comma, or a key. Returns TRACE_KEY in *ret_item after a key's value.
static enum status next_member(struct trace_reader *reader, char byte, enum trace_item *ret_item, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  if (byte == '}' && own->place != PLACE_KEY) {
    step_to(own, PLACE_AFTER_DOCUMENT);
    return STATUS_OK;
  }
  if (own->place == PLACE_AFTER_VALUE) {
    if (byte != ',')
      return fail_here(own, "',' or '}' was expected", err);
    step_to(own, PLACE_KEY);
    return STATUS_OK;
  }
  XSP_TRY(run_step(reader, member_step, err));
  *ret_item = reader->value.type != TRACE_NONE ? TRACE_KEY : TRACE_END;
  own->place = *ret_item == TRACE_KEY ? PLACE_AFTER_VALUE : PLACE_FIRST_EVENT;
  return STATUS_OK;
}

// In the array of events: a bracket, a comma, the end of a file that leaves the bracket out, or an event.
static enum status next_event(struct trace_reader *reader, char byte, enum trace_item *ret_item, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  if (own->input->at == own->input->end && own->is_bare_array && own->seen_event) {
    reader->is_unclosed = true;
    own->place = PLACE_AFTER_DOCUMENT;
    return STATUS_OK;
  }
  if (byte == ']' && own->place != PLACE_EVENT) {
    step_to(own, own->is_bare_array ? PLACE_AFTER_DOCUMENT : PLACE_AFTER_VALUE);
    return STATUS_OK;
  }
  if (own->place == PLACE_AFTER_EVENT) {
    if (byte != ',')
      return fail_here(own, "',' or ']' was expected", err);
    step_to(own, PLACE_EVENT);
    return STATUS_OK;
  }
  XSP_TRY(run_step(reader, event_step, err));
  own->place = PLACE_AFTER_EVENT;
  own->seen_event = true;
  *ret_item = TRACE_EVENT;
  return STATUS_OK;
}

enum status trace_next(struct trace_reader *reader, enum trace_item *ret_item, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  if (skip_to_event(own)) {
    *ret_item = TRACE_EVENT;
    return run_step(reader, event_step, err);
  }
  for (*ret_item = TRACE_END; *ret_item == TRACE_END;) {
    XSP_TRY(skip_space(own, err));
    char byte = *own->input->at;
    if (own->place == PLACE_AFTER_DOCUMENT)
      return own->input->at == own->input->end ? STATUS_OK
                                               : fail_here(own, "nothing was expected after the document's end", err);
    if (own->place >= PLACE_FIRST_EVENT) {
      XSP_TRY(next_event(reader, byte, ret_item, err));
    } else if (own->place >= PLACE_FIRST_KEY) {
      XSP_TRY(next_member(reader, byte, ret_item, err));
    } else if (byte == '{' || byte == '[') {
      own->is_bare_array = byte == '[';
      step_to(own, byte == '[' ? PLACE_FIRST_EVENT : PLACE_FIRST_KEY);
    } else {
      return fail_here(own, "'{' or '[' was expected", err);
    }
  }
  return STATUS_OK;
}

enum status trace_open(struct input *input, struct trace_reader *ret_reader, struct error *err)
{
  *ret_reader = (struct trace_reader){0};
  struct trace_reader_private *own = memory_new(1, sizeof *own);
  ret_reader->private_ = own;
  own->scratch = memory_new(1, SCRATCH_BYTES);
  own->arguments = memory_new(ARGUMENTS_FIRST, sizeof *own->arguments);
  trace_shapes_init(&own->shapes);
  own->input = input;
  own->scan.takes_nonfinite = true;
  own->argument_capacity = ARGUMENTS_FIRST;
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
    trace_shapes_done(&own->shapes);
    free(own);
  }
  *reader = (struct trace_reader){0};
}
