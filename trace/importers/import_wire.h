// SPDX-License-Identifier: Apache-2.0
// Protobuf read through the input's moving window: messages of any size, of which only what is asked for is in memory.
// Inside this room only. Errors name the file and the byte.
#ifndef XSP_IMPORTERS_IMPORT_WIRE_H
#define XSP_IMPORTERS_IMPORT_WIRE_H

#include "base/wire.h"
#include "importers/importer.h"

#define WIRE_NUMBER_BYTES 10u // the longest varint
#define WIRE_KEY_AND_LENGTH_BYTES (2u * WIRE_NUMBER_BYTES)
#define WIRE_TO_THE_END UINT64_MAX // as `end`: the file's

static inline uint64_t import_wire_offset(const struct import *import)
{
  return input_offset(import->input, import->input->at);
}

// So many bytes in the window, or all that the file has.
enum status import_wire_need(struct import *import, uint64_t bytes, struct error *err) MUST_CHECK;
// The same, and an error where the file has less.
enum status import_wire_need_all(struct import *import, uint64_t bytes, struct error *err) MUST_CHECK;
enum status import_wire_number(struct import *import, uint64_t *ret_number, struct error *err) MUST_CHECK;
// The length of a field, which fits into the message up to the offset `end`.
enum status import_wire_length(struct import *import, uint64_t end, uint64_t *ret_length, struct error *err) MUST_CHECK;
// The next `bytes` bytes, however many.
enum status import_wire_pass_over(struct import *import, uint64_t bytes, struct error *err) MUST_CHECK;
// A field that is not read, after its key: its value is passed over however long it is.
enum status import_wire_skip(struct import *import, uint64_t key, uint64_t end, struct error *err) MUST_CHECK;
// The message up to `end` goes on there.
enum status import_wire_check(const struct import *import, uint64_t end, struct error *err) MUST_CHECK;

#endif
