// SPDX-License-Identifier: Apache-2.0
// OTLP's protobuf files: one message of any size, several in a row (which protobuf reads as one), or each after its length
// (a varint, or four bytes, highest first). One span is in memory at a time. A resource or a scope after its spans is
// searched ahead, up to OTLP_LOOK_AHEAD_BYTES.
#include "importers/import_wire.h"
#include "importers/otlp/model.h"
#include "otlp/proto.h"

struct reader {
  struct import *import;
  struct input *input;
  struct otlp_proto proto;
  struct otlp_model model;
};

static uint64_t offset(const struct reader *reader)
{
  return import_wire_offset(reader->import);
}

// ---- messages in messages --------------------------------------------------------------------------------------------
// A part of so many bytes, or (no file has them, and no window) of those up to the end of what it lies in.
static enum status read_part(struct reader *reader, enum otlp_message message, uint64_t length, struct error *err)
{
  XSP_TRY(import_wire_need_all(reader->import, length, err));
  const char *at = reader->input->at;
  enum status status = otlp_proto_decode(&reader->proto, message, at, (size_t)length, &reader->model.visitor, err);
  if (status != STATUS_OK && reader->proto.problem != NULL)
    return import_broken(reader->import, err, input_offset(reader->input, reader->proto.at), "%s",
                         reader->proto.problem);
  reader->input->at = at + length;
  return status;
}

static enum status read_fields(struct reader *reader, enum otlp_message message, uint64_t end, struct error *err);

// A head or an item, after its key.
static enum status read_field(struct reader *reader, const struct otlp_field *field, const struct otlp_field *head,
                              uint64_t end, enum head_state *state, struct error *err)
{
  uint64_t length = 0;
  XSP_TRY(import_wire_length(reader->import, end, &length, err));
  if (field->step.form == OTLP_FORM_HEAD) {
    if (*state == HEAD_MISSED)
      return import_otlp_head_is_late(reader->import, field->name, err);
    *state = HEAD_TAKEN;
    return read_part(reader, field->step.inner, length, err);
  }
  if (*state == HEAD_UNKNOWN) { // too far to look for it after the items
    *state = HEAD_MISSED;
    XSP_TRY(otlp_proto_decode(&reader->proto, head->step.inner, "", 0, &reader->model.visitor, err));
  }
  return field->step.inner == OTLP_SPAN_MESSAGE ? read_part(reader, field->step.inner, length, err)
                                                : read_fields(reader, field->step.inner, offset(reader) + length, err);
}

// Fields up to the offset `end`; WIRE_TO_THE_END: to the file's end.
static enum status read_fields(struct reader *reader, enum otlp_message message, uint64_t end, struct error *err)
{
  enum head_state state = message == OTLP_REQUEST_MESSAGE ? HEAD_TAKEN : HEAD_UNKNOWN;
  struct input *input = reader->input;
  for (;;) {
    uint64_t key = 0;
    XSP_TRY(import_wire_need(reader->import, WIRE_KEY_AND_LENGTH_BYTES, err));
    if (offset(reader) == end || (end == WIRE_TO_THE_END && input->at == input->end))
      return STATUS_OK;
    const char *start = input->at;
    XSP_TRY(import_wire_number(reader->import, &key, err));
    const struct otlp_field *field = otlp_field_on_wire(message, key);
    if (field == NULL) {
      XSP_TRY(import_wire_skip(reader->import, key, end, err));
    } else if (field->key != key) {
      return import_broken(reader->import, err, offset(reader), OTLP_WRONG_TYPE);
    } else if (state == HEAD_UNKNOWN && field->step.form == OTLP_FORM_LIST &&
               end - offset(reader) < OTLP_LOOK_AHEAD_BYTES) {
      input->at = start;                                            // still there: what was needed was in the window
      return read_part(reader, message, end - offset(reader), err); // finds the head wherever it is
    } else {
      XSP_TRY(read_field(reader, field, &otlp_fields[message * OTLP_NUMBERS + 1], end, &state, err));
    }
    XSP_TRY(import_wire_check(reader->import, end, err));
  }
}

// ---- framing ---------------------------------------------------------------------------------------------------------
enum framing { FRAMING_NONE, FRAMING_VARINT, FRAMING_WORD };

// After wire_skip: it failed because the head ends there.
static bool wire_is_cut(const struct wire *wire, uint64_t key)
{
  bool is_valid = key >> 3 != 0 && key <= UINT32_MAX && (1u << (key & 7) & 0x27u) != 0;
  return is_valid && ((key & 7) == WIRE_BYTES || wire->end - wire->at < (ptrdiff_t)WIRE_NUMBER_BYTES);
}

// "xsp.level" and the like: a key of some letters.
static int claim_pair(const char *at, const char *end)
{
  bool is_key = end - at > 3 && (unsigned char)at[0] == WIRE_KEY(otlp_number(OTLP_PAIR_KEY), WIRE_BYTES) && at[1] > 0 &&
                at[2] > ' ' && at[2] < 127;
  return is_key || at == end ? 1 + is_key : 0;
}

// Whether a head, which may be cut anywhere, begins like such a message. 0: it does not; 1: nothing contradicts it; 2: it
// has a resource; 3: it has a span.
static int claim_message(enum otlp_message message, const char *at, const char *end)
{
  bool is_request = message == OTLP_REQUEST_MESSAGE, is_span = message == OTLP_SPAN_MESSAGE;
  int claim = is_request ? 0 : 1;
  struct wire wire = {at, end, NULL};
  if (message == OTLP_PAIR_MESSAGE)
    return claim_pair(at, end);
  while (wire.at < end && (claim < 3 || is_span)) {
    uint64_t key;
    uint64_t length;
    if (!wire_varint(&wire, &key))
      return claim;
    const struct otlp_field *field = otlp_field_on_wire(message, key);
    bool is_wrong = field != NULL && field->key != key;
    if (is_wrong || (is_request && field == NULL))
      return is_request ? claim : 0;
    if (field == NULL || (key & 7) != WIRE_BYTES) {
      if (!wire_skip(&wire, key))
        return wire_is_cut(&wire, key) ? claim : 0;
      claim = field != NULL && field->step.form == OTLP_FORM_TIME ? 3 : claim;
      continue;
    }
    if (!wire_varint(&wire, &length))
      return claim;
    bool is_cut = length > (uint64_t)(end - wire.at);
    const char *behind = is_cut ? end : wire.at + length;
    int found = 1;
    if (is_span && is_cut)
      return claim;
    if (is_span) // ids of their right lengths
      found = (field->step.form == OTLP_FORM_RAW && length == 16) || (field->step.form == OTLP_FORM_ID && length == 8)
                  ? 3
                  : 1;
    else if (field->step.form <= OTLP_FORM_ITEMS)
      found = claim_message(field->step.inner, wire.at, behind);
    if (found == 0)
      return 0;
    claim = found > claim ? found : claim;
    wire.at = behind;
  }
  return claim;
}

// How a file's messages are separated, and how sure that is.
static int claim_framing(struct slice bytes, enum framing *ret_framing)
{
  const char *head = bytes.data, *end = head + bytes.length;
  struct wire wire = {head, end, NULL};
  uint64_t size;
  *ret_framing = FRAMING_NONE;
  int claim = claim_message(OTLP_REQUEST_MESSAGE, head, end);
  if (claim > 1)
    return claim;
  if (wire_varint(&wire, &size) && size > 1) {
    int framed = claim_message(OTLP_REQUEST_MESSAGE, wire.at, size < (uint64_t)(end - wire.at) ? wire.at + size : end);
    if (framed > 1) {
      *ret_framing = FRAMING_VARINT;
      return framed;
    }
  }
  if (bytes.length > 4) {
    const unsigned char *word = (const unsigned char *)head;
    size = (uint64_t)word[0] << 24 | (uint64_t)word[1] << 16 | (uint64_t)word[2] << 8 | word[3];
    int framed =
        size > 1 ? claim_message(OTLP_REQUEST_MESSAGE, head + 4, size < bytes.length - 4 ? head + 4 + size : end) : 0;
    if (framed > 1) {
      *ret_framing = FRAMING_WORD;
      return framed;
    }
  }
  return 0;
}

static enum status read_length(struct reader *reader, enum framing framing, uint64_t *ret_length, struct error *err)
{
  if (framing == FRAMING_VARINT)
    return import_wire_number(reader->import, ret_length, err);
  XSP_TRY(import_wire_need_all(reader->import, 4, err));
  const unsigned char *word = (const unsigned char *)reader->input->at;
  *ret_length = (uint64_t)word[0] << 24 | (uint64_t)word[1] << 16 | (uint64_t)word[2] << 8 | word[3];
  reader->input->at += 4;
  return STATUS_OK;
}

static enum status read_messages(struct reader *reader, struct error *err)
{
  struct input *input = reader->input;
  enum framing framing;
  (void)claim_framing((struct slice){input->at, (size_t)(input->end - input->at)}, &framing);
  if (framing == FRAMING_NONE)
    XSP_TRY(read_fields(reader, OTLP_REQUEST_MESSAGE, WIRE_TO_THE_END, err));
  while (framing != FRAMING_NONE) {
    uint64_t length = 0;
    XSP_TRY(import_wire_need(reader->import, 1, err));
    if (input->at == input->end)
      break;
    XSP_TRY(read_length(reader, framing, &length, err));
    XSP_TRY(length <= UINT32_MAX ? STATUS_OK
                                 : import_broken(reader->import, err, offset(reader), "a message is too long"));
    XSP_TRY(read_fields(reader, OTLP_REQUEST_MESSAGE, offset(reader) + length, err));
  }
  import_otlp_model_finish(&reader->model);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reader reader = {.import = import, .input = import->input};
  import_otlp_model_start(&reader.model, import);
  enum status status = read_messages(&reader, err);
  import_otlp_model_done(&reader.model);
  otlp_proto_done(&reader.proto);
  return status;
}

static int recognize(struct slice head, bool is_all)
{
  enum framing framing;
  return claim_framing(head, &framing);
}

const struct importer importer_otlp_proto = {
    .name = "otlp-proto",
    .summary = "OpenTelemetry traces (OTLP) as protobuf",
    .recognize = recognize,
    .read = read_file,
};
