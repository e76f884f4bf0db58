// SPDX-License-Identifier: Apache-2.0
// Reads protobuf's wire format from the moving window. Called by the importers of OTLP's protobuf and of XSpace.
#include "importers/import_wire.h"

static const char longer[] = "a field is longer than the message around it";

enum status import_wire_need(struct import *import, uint64_t bytes, struct error *err)
{
  struct input *input = import->input;
  while ((uint64_t)(input->end - input->at) < bytes && !input->is_last)
    XSP_TRY(input_more(input, err));
  return STATUS_OK;
}

enum status import_wire_need_all(struct import *import, uint64_t bytes, struct error *err)
{
  const struct input *input = import->input;
  XSP_TRY(import_wire_need(import, bytes, err));
  if ((uint64_t)(input->end - input->at) >= bytes)
    return STATUS_OK;
  return import_broken(import, err, input->end_offset, "it ends within a field of %llu bytes that begins at byte %llu",
                       (unsigned long long)bytes, (unsigned long long)import_wire_offset(import));
}

enum status import_wire_number(struct import *import, uint64_t *ret_number, struct error *err)
{
  struct input *input = import->input;
  XSP_TRY(import_wire_need(import, WIRE_NUMBER_BYTES, err));
  struct wire wire = {input->at, input->end, NULL};
  if (!wire_varint(&wire, ret_number))
    return import_broken(import, err, import_wire_offset(import), "%s", wire.problem);
  input->at = wire.at;
  return STATUS_OK;
}

enum status import_wire_check(const struct import *import, uint64_t end, struct error *err)
{
  uint64_t offset = import_wire_offset(import);
  return offset <= end ? STATUS_OK : import_broken(import, err, offset, "%s", longer);
}

enum status import_wire_length(struct import *import, uint64_t end, uint64_t *ret_length, struct error *err)
{
  XSP_TRY(import_wire_number(import, ret_length, err));
  uint64_t offset = import_wire_offset(import);
  return offset <= end && *ret_length <= end - offset ? STATUS_OK : import_broken(import, err, offset, "%s", longer);
}

enum status import_wire_pass_over(struct import *import, uint64_t bytes, struct error *err)
{
  XSP_TRY(input_pass_over(import->input, &bytes, err));
  XSP_TRY(import_wire_need_all(import, bytes, err));
  import->input->at += bytes;
  return STATUS_OK;
}

enum status import_wire_skip(struct import *import, uint64_t key, uint64_t end, struct error *err)
{
  struct input *input = import->input;
  uint64_t length = 0;
  if ((key & 7) == WIRE_BYTES && key >> 3 != 0) {
    XSP_TRY(import_wire_length(import, end, &length, err));
    return import_wire_pass_over(import, length, err);
  }
  XSP_TRY(import_wire_need(import, WIRE_NUMBER_BYTES, err));
  struct wire wire = {input->at, input->end, NULL};
  if (!wire_skip(&wire, key))
    return import_broken(import, err, import_wire_offset(import), "%s", wire.problem);
  input->at = wire.at;
  return STATUS_OK;
}
