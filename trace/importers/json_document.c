// SPDX-License-Identifier: Apache-2.0
// Documents of JSON; see json_document.h. Called by importers of profiles that fit in memory.
#include "importers/json_document.h"

#include "base/buf.h"
#include "importers/text_file.h"

enum status import_json_each(struct import_json *json, json_take visit, void *context, struct error *err)
{
  struct input *input = json->import->input;
  struct json_reader reader;
  struct slice whole;
  uint64_t offset = input_offset(input, input->at);
  XSP_TRY(input_whole(input, &whole, err));
  size_t before = whole.length;
  whole = import_json_head(whole);
  offset += before - whole.length;
  input->at = input->end;
  json->err = err;
  json->status = STATUS_OK;
  json_read_start(&reader, whole.data, whole.length);
  (void)json_next(&reader);
  bool is_read = json_each(&reader, visit, context) && json_next(&reader) == JSON_END;
  enum status status = json->status;
  if (!is_read && status == STATUS_OK)
    status = import_broken(json->import, err, offset + reader.offset, "%s",
                           reader.event == JSON_ERROR && reader.problem != NULL ? reader.problem
                                                                                : "another value was expected here");
  json_read_done(&reader);
  return status;
}

// Without white space between values.
static uint32_t compact(struct import *import, struct slice text)
{
  struct buf out SCOPED(buf_done) = {0};
  bool is_string = false;
  for (size_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    if (!is_string && memchr(" \t\r\n", c, 4) != NULL)
      continue;
    if (c == '"')
      is_string = !is_string;
    if (is_string && c == '\\' && i + 1 < text.length)
      (void)buf_put(&out, &text.data[i++], 1);
    (void)buf_put(&out, &text.data[i], 1);
  }
  struct buf valid SCOPED(buf_done) = {0};
  buf_utf8(&valid, out.data, out.length);
  return import_string(import, valid.data, valid.length);
}

bool import_json_value(struct import *import, struct json_reader *reader, struct store_tag *ret_tag)
{
  struct slice rest, text = {reader->text, reader->length};
  size_t offset = reader->offset;
  ret_tag->type = STORE_INT;
  switch (reader->event) {
  case JSON_TRUE:
  case JSON_FALSE:
    ret_tag->value.integer = reader->event == JSON_TRUE;
    return true;
  case JSON_NUMBER:
    if (json_int64(reader, &ret_tag->value.integer))
      return true;
    ret_tag->type = STORE_DOUBLE;
    if (strpbrk(reader->text, ".eE") != NULL && import_number(text, &ret_tag->value.real, &rest))
      return true;
    break; // beyond 64 bits: as text
  case JSON_STRING:
    break;
  case JSON_OBJECT:
  case JSON_ARRAY:
    if (!json_skip(reader))
      return false;
    ret_tag->type = STORE_TEXT;
    ret_tag->value.string =
        compact(import, (struct slice){reader->start + offset, (size_t)(reader->at - reader->start) - offset});
    return true;
  default:
    return false;
  }
  ret_tag->type = STORE_TEXT;
  ret_tag->value.string = import_slice(import, text);
  return text.length > 0;
}
