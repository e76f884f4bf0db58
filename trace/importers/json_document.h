// SPDX-License-Identifier: Apache-2.0
// Files that are one JSON document of their own form, not trace events: read in one window. Inside this room only.
#ifndef XSP_IMPORTERS_JSON_DOCUMENT_H
#define XSP_IMPORTERS_JSON_DOCUMENT_H

#include "base/json_read.h"
#include "importers/importer.h"

struct import_json { // what visitors fail by
  struct import *import;
  struct error *err;
  enum status status; // not STATUS_OK: why a visitor returned false
};

// Hands the members, or items, of the file's top value to `visit`, as json_each does. `json` is part of `context`, with `import`
// set. STATUS_INPUT: not JSON, with the byte; else what the visitor left in json->status.
enum status import_json_each(struct import_json *json, json_take visit, void *context, struct error *err) MUST_CHECK;
// Fails a visitor: keeps the status, returns false where it is not STATUS_OK.
static inline bool import_json_ok(struct import_json *json, enum status status)
{
  json->status = status;
  return status == STATUS_OK;
}

// The current value as a tag's: whole numbers as integers, other numbers as doubles, true and false as 1 and 0, objects and
// arrays as JSON text without white space. False: null, an empty text, or damaged. `span_id` and `key` stay.
bool import_json_value(struct import *import, struct json_reader *reader, struct store_tag *ret_tag);

#endif
