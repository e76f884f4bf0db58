// SPDX-License-Identifier: Apache-2.0
// OTLP's protobuf files: one message of any size, several one behind the other (which protobuf reads as one), or each
// behind its length (a varint, or four bytes, highest first). What lies in memory is one span. A resource or a scope that
// stands behind its spans is looked for ahead.
#include "importers/otlp/model.h"
#include "otlp/proto.h"

struct reader {
  struct import *import;
  struct input *input;
  struct otlp_proto proto;
  struct otlp_model model;
};

// ---- the window ------------------------------------------------------------------------------------------------------
static uint64_t offset(const struct reader *reader)
{
  return input_offset(reader->input, reader->input->at);
}

// So many bytes in the window, or all that the file has.
static enum status need(struct reader *reader, uint64_t bytes, struct error *err)
{
  struct input *input = reader->input;
  while ((uint64_t)(input->end - input->at) < bytes && !input->is_last)
    XSP_TRY(input_more(input, err));
  return STATUS_OK;
}

// The same, and an error where the file has less.
static enum status need_all(struct reader *reader, uint64_t bytes, struct error *err)
{
  XSP_TRY(need(reader, bytes, err));
  if ((uint64_t)(reader->input->end - reader->input->at) >= bytes)
    return STATUS_OK;
  return import_broken(reader->import, err, reader->input->end_offset,
                       "it ends within a field of %llu bytes that begins at byte %llu", (unsigned long long)bytes,
                       (unsigned long long)offset(reader));
}

#define NUMBER_BYTES 10u
#define KEY_AND_LENGTH_BYTES (2u * NUMBER_BYTES)

static enum status read_number(struct reader *reader, uint64_t *ret_number, struct error *err)
{
  struct input *input = reader->input;
  XSP_TRY(need(reader, NUMBER_BYTES, err));
  struct wire wire = {input->at, input->end, NULL};
  if (!wire_varint(&wire, ret_number))
    return import_broken(reader->import, err, offset(reader), "%s", wire.problem);
  input->at = wire.at;
  return STATUS_OK;
}

// ---- messages in messages --------------------------------------------------------------------------------------------
enum level { REQUEST, RESOURCE_SPANS, SCOPE_SPANS };

typedef enum status part_reader(struct otlp_proto *proto, const char *message, size_t length,
                                const struct otlp_visitor *visitor, struct error *err);

// A part of so many bytes, or (no file has them, and no window) of those up to the end of what it lies in.
static enum status read_part(struct reader *reader, part_reader *read, uint64_t length, struct error *err)
{
  XSP_TRY(need_all(reader, length, err));
  const char *at = reader->input->at;
  reader->proto.problem = NULL;
  enum status status = read(&reader->proto, at, (size_t)length, &reader->model.visitor, err);
  if (status != STATUS_OK && reader->proto.problem != NULL)
    return import_broken(reader->import, err, input_offset(reader->input, reader->proto.at), "%s",
                         reader->proto.problem);
  reader->input->at = at + length;
  return status;
}

// A field that is not read: its value is passed over however long it is.
static enum status skip_field(struct reader *reader, uint64_t key, uint64_t end, struct error *err)
{
  uint64_t length = 0;
  struct input *input = reader->input;
  if ((key & 7) == WIRE_BYTES && key >> 3 != 0) {
    XSP_TRY(read_number(reader, &length, err));
    if (length > end - offset(reader))
      return import_broken(reader->import, err, offset(reader), "a field is longer than what it lies in");
    while (length > (uint64_t)(input->end - input->at) && !input->is_last) {
      length -= (uint64_t)(input->end - input->at);
      input->at = input->end;
      XSP_TRY(input_more(input, err));
    }
    XSP_TRY(need_all(reader, length, err));
    input->at += length;
    return STATUS_OK;
  }
  XSP_TRY(need(reader, NUMBER_BYTES, err));
  struct wire wire = {input->at, input->end, NULL};
  if (!wire_skip(&wire, key))
    return import_broken(reader->import, err, offset(reader), "%s", wire.problem);
  input->at = wire.at;
  return STATUS_OK;
}

static enum status read_fields(struct reader *reader, enum level level, uint64_t end, struct error *err);

// What a level's fields hold: its head (field 1, but for a request) and its items.
static const struct {
  uint64_t head_key, item_key;
  part_reader *head, *rest; // rest: all fields from one on, in memory
} levels[] = {
    [REQUEST] = {0, WIRE_KEY(OTLP_REQUEST_RESOURCE_SPANS, WIRE_BYTES), NULL, NULL},
    [RESOURCE_SPANS] = {WIRE_KEY(OTLP_RESOURCE_SPANS_RESOURCE, WIRE_BYTES),
                        WIRE_KEY(OTLP_RESOURCE_SPANS_SCOPE_SPANS, WIRE_BYTES), otlp_proto_resource,
                        otlp_proto_resource_spans},
    [SCOPE_SPANS] = {WIRE_KEY(OTLP_SCOPE_SPANS_SCOPE, WIRE_BYTES), WIRE_KEY(OTLP_SCOPE_SPANS_SPANS, WIRE_BYTES),
                     otlp_proto_scope, otlp_proto_scope_spans},
};

static enum status read_item(struct reader *reader, enum level level, uint64_t length, struct error *err)
{
  return level == SCOPE_SPANS ? read_part(reader, otlp_proto_span, length, err)
                              : read_fields(reader, (enum level)(level + 1), offset(reader) + length, err);
}

// One field whose key has been read and that is the level's head or an item.
static enum status read_known(struct reader *reader, enum level level, uint64_t key, uint64_t end, bool *has_missed,
                              bool *has_head, struct error *err)
{
  uint64_t length = 0;
  XSP_TRY(read_number(reader, &length, err));
  if (length > end - offset(reader))
    return import_broken(reader->import, err, offset(reader), "a field is longer than what it lies in");
  if (key != levels[level].head_key) {
    if (!*has_head && level != REQUEST) { // too long to look for it behind the items
      *has_missed = *has_head = true;
      reader->proto.problem = NULL;
      XSP_TRY(levels[level].head(&reader->proto, "", 0, &reader->model.visitor, err));
    }
    return read_item(reader, level, length, err);
  }
  if (*has_missed)
    return import_broken(reader->import, err, offset(reader), "a %s comes after more than %d MiB of its spans",
                         level == RESOURCE_SPANS ? "resource" : "scope", OTLP_LOOK_AHEAD_BYTES >> 20);
  *has_head = true;
  return read_part(reader, levels[level].head, length, err);
}

// Fields up to the offset `end`; UINT64_MAX: to the file's end.
static enum status read_fields(struct reader *reader, enum level level, uint64_t end, struct error *err)
{
  bool has_head = false;
  bool has_missed = false;
  for (;;) {
    struct input *input = reader->input;
    uint64_t key = 0;
    XSP_TRY(need(reader, KEY_AND_LENGTH_BYTES, err));
    if (offset(reader) == end || (end == UINT64_MAX && input->at == input->end))
      return STATUS_OK;
    const char *field = input->at;
    XSP_TRY(read_number(reader, &key, err));
    bool is_item = key == levels[level].item_key;
    if (is_item && level != REQUEST && !has_head && end - offset(reader) < OTLP_LOOK_AHEAD_BYTES) {
      input->at = field; // still there: what was needed lay in the window
      return read_part(reader, levels[level].rest, end - offset(reader), err);
    }
    if (is_item || (key == levels[level].head_key && level != REQUEST))
      XSP_TRY(read_known(reader, level, key, end, &has_missed, &has_head, err));
    else if (key >> 3 == 1 || (key >> 3 == 2 && level != REQUEST))
      return import_broken(reader->import, err, offset(reader), OTLP_WRONG_TYPE);
    else
      XSP_TRY(skip_field(reader, key, end, err));
    if (offset(reader) > end)
      return import_broken(reader->import, err, offset(reader), "a field is longer than what it lies in");
  }
}

// ---- framing ---------------------------------------------------------------------------------------------------------
enum framing { FRAMING_NONE, FRAMING_VARINT, FRAMING_WORD };

// Whether a head, which may be cut anywhere, begins like a message of such a kind. 0: it does not; 1: nothing speaks
// against it; 2: it has a resource; 3: it has a span.
static int claim_message(const char *at, const char *end);

// After wire_skip: it failed because the head ends there.
static bool wire_is_cut(const struct wire *wire, uint64_t key)
{
  bool is_valid = key >> 3 != 0 && key <= UINT32_MAX && (1u << (key & 7) & 0x27u) != 0;
  return is_valid && ((key & 7) == WIRE_BYTES || wire->end - wire->at < (ptrdiff_t)NUMBER_BYTES);
}

static int claim_span(const char *at, const char *end)
{
  int claim = 1;
  struct wire wire = {at, end, NULL};
  while (wire.at < end) {
    uint64_t key;
    size_t length;
    if (!wire_varint(&wire, &key))
      return claim;
    unsigned field = key >> 3 < 32 ? (unsigned)(key >> 3) : 0;
    bool is_time = field == OTLP_SPAN_START || field == OTLP_SPAN_END;
    bool is_bytes = field >= 1 && field <= 15 && ((1u << field) & 0xaa3eu) != 0;
    if ((is_time && (key & 7) != WIRE_FIXED64) || (is_bytes && (key & 7) != WIRE_BYTES))
      return 0;
    const char *bytes;
    if (is_bytes) {
      if (!wire_bytes(&wire, &bytes, &length))
        return claim;
      if ((field == OTLP_SPAN_TRACE_ID && length == 16) || (field == OTLP_SPAN_ID && length == 8))
        claim = 3;
    } else if (!wire_skip(&wire, key)) {
      return wire_is_cut(&wire, key) ? claim : 0;
    } else if (is_time) {
      claim = 3;
    }
  }
  return claim;
}

// Of the fields of a ResourceSpans, of a ScopeSpans, of a Resource.
typedef int claimer(const char *at, const char *end);

static int claim_fields(const char *at, const char *end, claimer *first, claimer *second)
{
  int claim = 1;
  struct wire wire = {at, end, NULL};
  while (wire.at < end && claim < 3) {
    uint64_t key;
    uint64_t length;
    if (!wire_varint(&wire, &key))
      return claim;
    bool is_known = key >> 3 == 1 || (key >> 3 == 2 && second != NULL);
    if (!is_known) { // passed over
      if (!wire_skip(&wire, key))
        return wire_is_cut(&wire, key) ? claim : 0;
      continue;
    }
    if ((key & 7) != WIRE_BYTES)
      return 0;
    if (!wire_varint(&wire, &length))
      return claim;
    bool is_cut = length > (uint64_t)(end - wire.at);
    const char *behind = is_cut ? end : wire.at + length;
    claimer *inner = key >> 3 == 1 ? first : second;
    int found = inner != NULL ? inner(wire.at, behind) : 1;
    if (found == 0)
      return 0;
    claim = found > claim ? found : claim;
    wire.at = behind;
  }
  return claim;
}

static int claim_pair(const char *at, const char *end)
{
  // "xsp.level" and the like: a key of some letters.
  bool is_key = end - at > 3 && at[0] == WIRE_KEY(OTLP_PAIR_KEY, WIRE_BYTES) && at[1] > 0 && at[2] > ' ' && at[2] < 127;
  return is_key || at == end ? 1 + is_key : 0;
}

static int claim_resource(const char *at, const char *end)
{
  return claim_fields(at, end, claim_pair, NULL);
}

static int claim_scope(const char *at, const char *end)
{
  return claim_fields(at, end, NULL, NULL);
}

static int claim_scope_spans(const char *at, const char *end)
{
  return claim_fields(at, end, claim_scope, claim_span);
}

static int claim_resource_spans(const char *at, const char *end)
{
  return claim_fields(at, end, claim_resource, claim_scope_spans);
}

static int claim_message(const char *at, const char *end)
{
  struct wire wire = {at, end, NULL};
  uint64_t key;
  uint64_t length;
  int claim = 0;
  while (claim < 3 && wire_varint(&wire, &key) && key == WIRE_KEY(OTLP_REQUEST_RESOURCE_SPANS, WIRE_BYTES) &&
         wire_varint(&wire, &length)) {
    bool is_cut = length > (uint64_t)(end - wire.at);
    const char *behind = is_cut ? end : wire.at + length;
    int found = claim_resource_spans(wire.at, behind);
    if (found == 0)
      return 0;
    claim = found > claim ? found : claim;
    wire.at = behind;
  }
  return claim;
}

// How a file's messages are told apart, and how sure that is.
static int claim_framing(const char *head, size_t length, enum framing *ret_framing)
{
  const char *end = head + length;
  struct wire wire = {head, end, NULL};
  uint64_t size;
  *ret_framing = FRAMING_NONE;
  int claim = claim_message(head, end);
  if (claim > 1)
    return claim;
  if (wire_varint(&wire, &size) && size > 1) {
    int framed = claim_message(wire.at, size < (uint64_t)(end - wire.at) ? wire.at + size : end);
    if (framed > 1) {
      *ret_framing = FRAMING_VARINT;
      return framed;
    }
  }
  if (length > 4) {
    const unsigned char *word = (const unsigned char *)head;
    size = (uint64_t)word[0] << 24 | (uint64_t)word[1] << 16 | (uint64_t)word[2] << 8 | word[3];
    int framed = size > 1 ? claim_message(head + 4, size < length - 4 ? head + 4 + size : end) : 0;
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
    return read_number(reader, ret_length, err);
  XSP_TRY(need_all(reader, 4, err));
  const unsigned char *word = (const unsigned char *)reader->input->at;
  *ret_length = (uint64_t)word[0] << 24 | (uint64_t)word[1] << 16 | (uint64_t)word[2] << 8 | word[3];
  reader->input->at += 4;
  return STATUS_OK;
}

static enum status read_messages(struct reader *reader, struct error *err)
{
  struct input *input = reader->input;
  enum framing framing;
  (void)claim_framing(input->at, (size_t)(input->end - input->at), &framing);
  if (framing == FRAMING_NONE)
    XSP_TRY(read_fields(reader, REQUEST, UINT64_MAX, err));
  while (framing != FRAMING_NONE) {
    uint64_t length = 0;
    XSP_TRY(need(reader, 1, err));
    if (input->at == input->end)
      break;
    XSP_TRY(read_length(reader, framing, &length, err));
    XSP_TRY(length <= UINT32_MAX ? STATUS_OK
                                 : import_broken(reader->import, err, offset(reader), "a message is too long"));
    XSP_TRY(read_fields(reader, REQUEST, offset(reader) + length, err));
  }
  return otlp_model_finish(&reader->model, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reader reader = {.import = import, .input = import->input};
  enum status status = otlp_model_start(&reader.model, import, err);
  if (status == STATUS_OK)
    status = read_messages(&reader, err);
  otlp_model_done(&reader.model);
  otlp_proto_done(&reader.proto);
  return status;
}

static int recognize(const char *head, size_t length, bool is_all)
{
  enum framing framing;
  (void)is_all;
  return claim_framing(head, length, &framing);
}

const struct importer importer_otlp_proto = {
    .name = "otlp-proto",
    .summary = "OpenTelemetry traces (OTLP) as protobuf",
    .recognize = recognize,
    .read = read_file,
};
