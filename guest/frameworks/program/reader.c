// SPDX-License-Identifier: Apache-2.0
// Reads the objects of a program's answers; see messages_private.h. An object is read by a table of its fields, so that what
// is unknown, repeated, missing or of another type is found in one place, and the path to it is known.
#include "frameworks/program/messages_private.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ADVICE "tools/predictor_conformance PROGRAM, and docs/predictor_protocol.md"

// ---- errors ----------------------------------------------------------------------------------------------------------

bool program_wrong(struct program_reader *reader, const char *format, ...)
{
  char why[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  const char *mark = reader->path_length > 0 ? "\"" : "";
  if (reader->status == STATUS_OK)
    reader->status =
        error_set(reader->err, STATUS_INPUT, "the predictor program's answer is wrong", reader->program, ADVICE,
                  "%s: %s%s%s%s%s", reader->message, mark, reader->path, mark, reader->path_length > 0 ? " " : "", why);
  return false;
}

// Two ends of a path that is too long for its room are as good as none: it is cut.
size_t program_path_push(struct program_reader *reader, const char *format, const char *name, size_t index)
{
  size_t before = reader->path_length;
  char part[80];
  if (name != NULL)
    snprintf(part, sizeof part, format, name);
  else
    snprintf(part, sizeof part, "[%zu]", index);
  int more = snprintf(reader->path + before, sizeof reader->path - before, "%s", part);
  reader->path_length += (size_t)more < sizeof reader->path - before ? (size_t)more : 0;
  return before;
}

void program_path_pop(struct program_reader *reader, size_t before)
{
  reader->path_length = before;
  reader->path[before] = 0;
}

bool program_next(struct program_reader *reader)
{
  if (json_next(&reader->json) != JSON_ERROR)
    return true;
  program_path_pop(reader, 0);
  return program_wrong(reader, "is no JSON: byte %zu: %s", reader->json.offset, reader->json.problem);
}

// ---- values ----------------------------------------------------------------------------------------------------------

bool program_read_text(struct program_reader *reader, void *target)
{
  const struct json_reader *json = &reader->json;
  if (json->event != JSON_STRING)
    return program_wrong(reader, "is no text");
  if (json->length > PROGRAM_TEXT_MOST)
    return program_wrong(reader, "is longer than %d bytes", PROGRAM_TEXT_MOST);
  if (memchr(json->text, 0, json->length) != NULL)
    return program_wrong(reader, "has a zero byte");
  const char *copy = arena_copy(reader->arena, json->text, json->length);
  *(const char **)target = copy;
  return true;
}

bool program_read_name(struct program_reader *reader, void *target)
{
  if (!program_read_text(reader, target))
    return false;
  return (*(const char **)target)[0] != 0 || program_wrong(reader, "is empty");
}

bool program_read_number(struct program_reader *reader, int64_t least, int64_t most, int64_t *ret_number)
{
  if (!json_int64(&reader->json, ret_number))
    return program_wrong(reader, "is no whole number of 64 bits");
  if (*ret_number < least || *ret_number > most)
    return program_wrong(reader, "is %" PRId64 ", not %" PRId64 " to %" PRId64, *ret_number, least, most);
  return true;
}

bool program_read_count(struct program_reader *reader, void *target)
{
  return program_read_number(reader, 0, INT64_MAX, target);
}

// Calls `read` at each value of an array; at most `most` of them.
bool program_read_array(struct program_reader *reader, size_t most,
                        bool (*read)(struct program_reader *reader, void *target, size_t at), void *target)
{
  if (reader->json.event != JSON_ARRAY)
    return program_wrong(reader, "is no array");
  for (size_t at = 0;; at++) {
    if (!program_next(reader))
      return false;
    if (reader->json.event == JSON_ARRAY_END)
      return true;
    if (at == most)
      return program_wrong(reader, "has more than %zu entries", most);
    size_t before = program_path_push(reader, NULL, NULL, at);
    if (!read(reader, target, at))
      return false;
    program_path_pop(reader, before);
  }
}

static bool read_fields(struct program_reader *reader, struct program_field *fields, size_t count)
{
  for (;;) {
    if (!program_next(reader))
      return false;
    if (reader->json.event == JSON_OBJECT_END)
      return true;
    struct program_field *field = NULL;
    for (size_t i = 0; i < count; i++)
      if (strcmp(fields[i].name, reader->json.text) == 0 && strlen(fields[i].name) == reader->json.length)
        field = &fields[i];
    size_t before = program_path_push(reader, reader->path_length > 0 ? ".%s" : "%s", reader->json.text, 0);
    if (field == NULL)
      return program_wrong(reader, "is no field of this message in version %d", PROGRAM_VERSION);
    if (field->is_present)
      return program_wrong(reader, "is told twice");
    field->is_present = true;
    if (!program_next(reader) || !field->read(reader, field->target))
      return false;
    program_path_pop(reader, before);
  }
}

bool program_read_object(struct program_reader *reader, struct program_field *fields, size_t count)
{
  if (reader->json.event != JSON_OBJECT)
    return program_wrong(reader, "is no object");
  if (!read_fields(reader, fields, count))
    return false;
  for (size_t i = 0; i < count; i++)
    if (fields[i].is_required && !fields[i].is_present) {
      program_path_push(reader, reader->path_length > 0 ? ".%s" : "%s", fields[i].name, 0);
      return program_wrong(reader, "is missing");
    }
  return true;
}

// ---- a whole answer --------------------------------------------------------------------------------------------------

static bool check_utf8(struct program_reader *reader, const char *line, size_t length)
{
  if (utf8_is_ascii(line, length))
    return true;
  for (size_t at = 0, sequence; at < length; at += sequence) {
    sequence = utf8_sequence((const unsigned char *)line + at, length - at);
    if (sequence == 0)
      return program_wrong(reader, "is no UTF-8: byte %zu", at);
  }
  return true;
}

// The one field of an answer that refuses: looked for first, since no other field is there then.
static bool is_refusal(struct program_reader *reader, const char *line, size_t length)
{
  json_read_start(&reader->json, line, length);
  bool is = json_next(&reader->json) == JSON_OBJECT && json_next(&reader->json) == JSON_KEY &&
            strcmp(reader->json.text, "error") == 0;
  json_read_done(&reader->json);
  return is;
}

enum status program_read_answer(struct program_reader *reader, const char *line, size_t length,
                                struct program_field *fields, size_t count)
{
  const char *refusal = NULL;
  if (!check_utf8(reader, line, length))
    return reader->status;
  struct program_field refusal_fields[] = {
      {.name = "error", .read = program_read_name, .target = &refusal, .is_required = true}};
  if (is_refusal(reader, line, length)) {
    fields = refusal_fields;
    count = 1;
  }
  json_read_start(&reader->json, line, length);
  if (program_next(reader) && program_read_object(reader, fields, count) && program_next(reader) &&
      reader->json.event != JSON_END)
    program_wrong(reader, "goes on after its end");
  json_read_done(&reader->json);
  if (reader->status == STATUS_OK && refusal != NULL) {
    char what[64];
    snprintf(what, sizeof what, "the predictor program cannot %s", reader->message);
    reader->status = error_set(reader->err, STATUS_INPUT, what, reader->program, NULL, "%s", refusal);
  }
  return reader->status;
}

void *program_grow(struct program_reader *reader, void *items, size_t at, size_t *capacity, size_t item_bytes)
{
  if (at < *capacity)
    return items;
  *capacity = *capacity == 0 ? 64 : *capacity * 2;
  void *larger = arena_alloc_array(reader->arena, *capacity, item_bytes);
  if (at > 0)
    memcpy(larger, items, at * item_bytes);
  return larger;
}
