// SPDX-License-Identifier: Apache-2.0
// Pull reader over JSON text in memory; see json_read.h. Used by everything that reads JSON, on bytes nobody vouches
// for: every read is checked against the end, nesting is a byte array, nothing recurses.
#include "base/json_read.h"

#include "base/json_text.h"
#include "base/slice.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum state {
  STATE_VALUE,       // a value must follow
  STATE_FIRST_KEY,   // just after '{': a key or '}'
  STATE_KEY,         // after a comma in an object: a key
  STATE_FIRST_VALUE, // just after '[': a value or ']'
  STATE_AFTER_VALUE, // a comma, or the container's end
  STATE_COMPLETE,    // the document's value has ended
  STATE_FAILED,      // sticky
};

enum container { CONTAINER_OBJECT, CONTAINER_ARRAY };

void json_read_start(struct json_reader *reader, const char *text, size_t length)
{
  *reader = (struct json_reader){.start = text, .at = text, .end = text + length, .event = JSON_END};
  reader->state = STATE_VALUE;
}

void json_read_done(struct json_reader *reader)
{
  free(reader->scratch);
  reader->scratch = NULL;
  reader->state = STATE_FAILED;
  reader->problem = "reader is closed";
}

static enum json_event fail_at(struct json_reader *reader, const char *at, const char *problem)
{
  reader->state = STATE_FAILED;
  reader->offset = (size_t)(at - reader->start);
  reader->problem = problem;
  reader->text = NULL;
  reader->length = 0;
  return reader->event = JSON_ERROR;
}

static void skip_space(struct json_reader *reader)
{
  const char *at = reader->at;
  while (at < reader->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
    at++;
  reader->at = at;
}

// Sets has_no_memory where there is none for it.
static void put(struct json_reader *reader, const void *bytes, size_t length)
{
  if (reader->has_no_memory)
    return;
  if (length >= reader->scratch_bytes - reader->scratch_length) { // room for a terminating zero
    size_t wanted = 2 * (reader->scratch_length + length) + 64;
    char *grown = realloc(reader->scratch, wanted);
    if (grown == NULL) {
      reader->has_no_memory = true;
      return;
    }
    reader->scratch = grown;
    reader->scratch_bytes = wanted;
  }
  memcpy(reader->scratch + reader->scratch_length, bytes, length);
  reader->scratch_length += length;
}

// The text that was put is the event's.
static enum json_event take(struct json_reader *reader, const char *begin, enum json_event event)
{
  if (reader->has_no_memory)
    return fail_at(reader, begin, "out of memory for a text");
  reader->scratch[reader->scratch_length] = 0;
  reader->text = reader->scratch;
  reader->length = reader->scratch_length;
  return reader->event = event;
}

static enum json_event read_string(struct json_reader *reader, enum json_event event)
{
  const char *opening = reader->at;
  const char *at = opening + 1;
  reader->scratch_length = 0;
  for (;;) {
    const char *plain = at;
    while (at < reader->end && *at != '"' && *at != '\\' && (unsigned char)*at < 0x80)
      at++;
    put(reader, plain, (size_t)(at - plain));
    if (at == reader->end)
      return fail_at(reader, opening, "string does not end");
    if (*at == '"')
      break;
    if (*at == '\\') {
      char bytes[4], *end = bytes;
      const char *after = json_unescape(at, reader->end, &end);
      if (after == NULL)
        return fail_at(reader, at, "bad escape in a string");
      put(reader, bytes, (size_t)(end - bytes));
      at = after;
      continue;
    }
    size_t length = utf8_sequence((const unsigned char *)at, (size_t)(reader->end - at));
    if (length == 0) {
      put(reader, "\xef\xbf\xbd", 3);
      at++;
    } else {
      put(reader, at, length);
      at += length;
    }
  }
  reader->at = at + 1;
  return take(reader, opening, event);
}

static bool is_digit(const char *at, const char *end)
{
  return at < end && *at >= '0' && *at <= '9';
}

static enum json_event read_number(struct json_reader *reader)
{
  const char *begin = reader->at;
  const char *end = reader->end;
  const char *at = begin;
  if (*at == '-')
    at++;
  if (!is_digit(at, end))
    return fail_at(reader, begin, "not a value");
  if (*at == '0')
    at++;
  else
    while (is_digit(at, end))
      at++;
  if (at < end && *at == '.') {
    at++;
    if (!is_digit(at, end))
      return fail_at(reader, at, "digits expected after a decimal point");
    while (is_digit(at, end))
      at++;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '+' || *at == '-'))
      at++;
    if (!is_digit(at, end))
      return fail_at(reader, at, "digits expected in an exponent");
    while (is_digit(at, end))
      at++;
  }
  reader->scratch_length = 0;
  put(reader, begin, (size_t)(at - begin));
  reader->at = at;
  return take(reader, begin, JSON_NUMBER);
}

static enum json_event read_word(struct json_reader *reader)
{
  static const struct {
    const char *word;
    size_t length;
    enum json_event event;
  } words[] = {{"true", 4, JSON_TRUE}, {"false", 5, JSON_FALSE}, {"null", 4, JSON_NULL}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if ((size_t)(reader->end - reader->at) >= words[i].length &&
        memcmp(reader->at, words[i].word, words[i].length) == 0) {
      reader->at += words[i].length;
      return reader->event = words[i].event;
    }
  }
  return fail_at(reader, reader->at, "not a value");
}

static void value_ended(struct json_reader *reader)
{
  reader->state = reader->depth == 0 ? STATE_COMPLETE : STATE_AFTER_VALUE;
}

static enum json_event open_container(struct json_reader *reader, enum container container)
{
  if (reader->depth == JSON_READ_DEPTH)
    return fail_at(reader, reader->at, "nested too deep");
  reader->stack[reader->depth++] = (uint8_t)container;
  reader->at++;
  reader->state = container == CONTAINER_OBJECT ? STATE_FIRST_KEY : STATE_FIRST_VALUE;
  return reader->event = container == CONTAINER_OBJECT ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_event close_container(struct json_reader *reader)
{
  enum container container = reader->stack[--reader->depth];
  reader->at++;
  value_ended(reader);
  return reader->event = container == CONTAINER_OBJECT ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_event read_value(struct json_reader *reader)
{
  char byte = *reader->at;
  if (byte == '{')
    return open_container(reader, CONTAINER_OBJECT);
  if (byte == '[')
    return open_container(reader, CONTAINER_ARRAY);
  enum json_event event = byte == '"'                                   ? read_string(reader, JSON_STRING)
                          : byte == '-' || (byte >= '0' && byte <= '9') ? read_number(reader)
                                                                        : read_word(reader);
  if (event != JSON_ERROR)
    value_ended(reader);
  return event;
}

static enum json_event read_key(struct json_reader *reader)
{
  if (*reader->at != '"')
    return fail_at(reader, reader->at, "a key in quotes expected");
  if (read_string(reader, JSON_KEY) == JSON_ERROR)
    return JSON_ERROR;
  skip_space(reader);
  if (reader->at == reader->end || *reader->at != ':')
    return fail_at(reader, reader->at, "':' expected after a key");
  reader->at++;
  reader->state = STATE_VALUE;
  return JSON_KEY;
}

static enum json_event at_end(struct json_reader *reader)
{
  if (reader->state == STATE_COMPLETE)
    return reader->event = JSON_END;
  return fail_at(reader, reader->at, reader->at == reader->start ? "empty document" : "document ends too early");
}

enum json_event json_next(struct json_reader *reader)
{
  if (reader->state == STATE_FAILED)
    return reader->event = JSON_ERROR;
  reader->text = NULL;
  reader->length = 0;
  for (;;) {
    skip_space(reader);
    reader->offset = (size_t)(reader->at - reader->start);
    if (reader->at == reader->end)
      return at_end(reader);
    char byte = *reader->at;
    switch ((enum state)reader->state) {
    case STATE_VALUE:
      return read_value(reader);
    case STATE_FIRST_VALUE:
      return byte == ']' ? close_container(reader) : read_value(reader);
    case STATE_FIRST_KEY:
      return byte == '}' ? close_container(reader) : read_key(reader);
    case STATE_KEY:
      return read_key(reader);
    case STATE_AFTER_VALUE: {
      enum container container = reader->stack[reader->depth - 1];
      if (byte == (container == CONTAINER_OBJECT ? '}' : ']'))
        return close_container(reader);
      if (byte != ',')
        return fail_at(reader, reader->at,
                       container == CONTAINER_OBJECT ? "',' or '}' expected" : "',' or ']' expected");
      reader->at++;
      reader->state = container == CONTAINER_OBJECT ? STATE_KEY : STATE_VALUE;
      continue;
    }
    case STATE_COMPLETE:
      return fail_at(reader, reader->at, "text after the document's end");
    case STATE_FAILED:
      return JSON_ERROR;
    }
  }
}

bool json_skip(struct json_reader *reader)
{
  if (reader->event == JSON_ERROR)
    return false;
  if (reader->event != JSON_OBJECT && reader->event != JSON_ARRAY)
    return true;
  unsigned outside = reader->depth - 1;
  while (reader->depth > outside)
    if (json_next(reader) == JSON_ERROR)
      return false;
  return true;
}

bool json_int64(const struct json_reader *reader, int64_t *ret_value)
{
  return reader->event == JSON_NUMBER && slice_int64((struct slice){reader->text, reader->length}, ret_value);
}

// ---- members and items -------------------------------------------------------------------------------------------------
bool json_each(struct json_reader *reader, json_take visit, void *context)
{
  char key[JSON_KEY_BYTES];
  bool is_object = reader->event == JSON_OBJECT;
  enum json_event end = is_object ? JSON_OBJECT_END : JSON_ARRAY_END;
  if (!is_object && reader->event != JSON_ARRAY)
    return false;
  while (json_next(reader) != end) {
    bool is_short = true;
    if (is_object) {
      if (reader->event != JSON_KEY)
        return false;
      is_short = reader->length < sizeof key;
      if (is_short)
        memcpy(key, reader->text, reader->length + 1);
      json_next(reader);
    }
    if (reader->event == JSON_ERROR || (is_short && !visit(context, reader, is_object ? key : NULL)) ||
        !json_skip(reader))
      return false;
  }
  return true;
}

bool json_each_of_text(const char *text, size_t length, json_take visit, void *context)
{
  struct json_reader reader SCOPED(json_read_done);
  json_read_start(&reader, text, length);
  return json_next(&reader) == JSON_OBJECT && json_each(&reader, visit, context) && json_next(&reader) == JSON_END;
}
