// SPDX-License-Identifier: Apache-2.0
// Payloads of NVTX events as tags; see payload.h. Schemas and bytes are the program's and not trusted: nested schemas are
// walked with a stack of bounded depth, and all work together is bounded by ENTRIES_MOST.
#include "tracers/nvtx/payload.h"

#include "tracers/nvtx/payload_private.h"
#include "tracers/nvtx/text.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MOST 6
#define BLOBS_MOST 16    // of one event
#define ENTRIES_MOST 512 // looked at, per event
#define KEY_MOST 192
#define LENGTHS_MOST 64 // entries of a schema whose values may be lengths

static const struct value_list_form number_list = {", ", 64, VALUE_LIST_BYTES};

struct frame {
  const struct payload_schema *schema;
  uint64_t base;                // of the schema, in the blob
  uint64_t cursor;              // after the last entry, in the blob
  uint32_t next;                // entry
  uint32_t only;                // of a union: the one entry that is there; else UINT32_MAX
  uint16_t key_length;          // of the prefix for the entries' names
  int64_t length[LENGTHS_MOST]; // values of the integer entries so far; 0
};

struct walk {
  const struct payload_context *context;
  const struct nvtx_blob *blobs;
  size_t blob_count;
  const unsigned char *bytes;
  uint64_t size;
  struct payload_event *event;
  uint32_t looked_at;
  uint32_t depth;
  char key[KEY_MOST];
  struct frame frame[DEPTH_MOST];
};

void nvtx_payload_event_clear(struct payload_event *event)
{
  annotation_tags_clear(&event->tags);
  event->message[0] = '\0';
  event->category = 0;
  event->has_begin = event->has_end = false;
  event->begin = event->end = 0;
}

// `units` code units at most, up to a NUL.
static void take_text(struct walk *walk, const char *key, uint64_t flags, const unsigned char *at, uint64_t units,
                      unsigned unit_bytes)
{
  char utf8[VALUE_TEXT_MOST];
  const char *text = utf8;
  size_t length;
  if (unit_bytes == 1) {
    text = (const char *)at;
    length = strnlen(text, units < VALUE_TEXT_MOST ? units : VALUE_TEXT_MOST);
  } else {
    length = nvtx_text_to_utf8(at, units, unit_bytes, utf8, sizeof utf8);
  }
  struct payload_event *event = walk->event;
  if ((flags & NVTX_ENTRY_ATTRIBUTE) == NVTX_ENTRY_MESSAGE) {
    if (length >= sizeof event->message)
      length = sizeof event->message - 1;
    memcpy(event->message, text, length);
    event->message[length] = '\0';
  } else {
    annotation_tags_text(&event->tags, key, text, length);
  }
}

// The bytes from `address` to the end of the event's payload that it points into; 0: into none.
static size_t bytes_at(const struct walk *walk, uint64_t address)
{
  for (size_t i = 0; i < walk->blob_count; i++) {
    uint64_t first = (uint64_t)(uintptr_t)walk->blobs[i].bytes;
    if (walk->blobs[i].size != SIZE_MAX && address >= first && address - first < walk->blobs[i].size)
      return (size_t)(walk->blobs[i].size - (address - first));
  }
  return 0;
}

// A text that the payload points to: inside of the event's payloads, or anywhere where the program promised it.
static void take_pointed_text(struct walk *walk, const char *key, uint64_t flags, uint64_t address, unsigned unit_bytes)
{
  unsigned char copy[VALUE_TEXT_MOST];
  size_t bytes = bytes_at(walk, address);
  if (bytes > 0) {
    take_text(walk, key, flags, (const unsigned char *)(uintptr_t)address, bytes / unit_bytes, unit_bytes);
    return;
  }
  bytes = address == 0 ? 0 : walk->context->read(walk->context->own, address, copy, sizeof copy);
  if (bytes >= unit_bytes && bytes <= sizeof copy)
    take_text(walk, key, flags, copy, bytes / unit_bytes, unit_bytes);
}

// ---- attributes of the event
// True: the entry is an attribute of the event itself and not a tag.
static bool take_attribute(struct walk *walk, const struct payload_entry *entry, struct annotation_value_type known,
                           const unsigned char *at)
{
  struct payload_event *event = walk->event;
  if (entry->type == NVTX_TYPE_COLOR)
    return true;
  if (entry->type == NVTX_TYPE_CATEGORY) {
    event->category = (uint32_t)annotation_value_integer(at, 4, false);
    return true;
  }
  if ((entry->flags & NVTX_ENTRY_ATTRIBUTE) == NVTX_ENTRY_MESSAGE && known.class == VALUE_STRING) {
    const char *string = walk->context->string(walk->context->own, annotation_value_integer(at, known.size, false));
    if (string != NULL)
      take_text(walk, "", entry->flags, (const unsigned char *)string, strnlen(string, VALUE_TEXT_MOST), 1);
    return true;
  }
  if ((entry->flags & NVTX_ENTRY_ATTRIBUTE) != NVTX_ENTRY_TIMESTAMP || known.size != 8 ||
      (known.class != VALUE_SIGNED && known.class != VALUE_UNSIGNED))
    return false;
  int64_t time = (int64_t)annotation_value_integer(at, 8, true);
  uint64_t role = entry->flags & NVTX_ENTRY_ROLE;
  if (role == NVTX_ENTRY_RANGE_BEGIN || role == NVTX_ENTRY_MARK) {
    event->begin = time;
    event->has_begin = true;
  } else if (role == NVTX_ENTRY_RANGE_END) {
    event->end = time;
    event->has_end = true;
  }
  return role == NVTX_ENTRY_RANGE_BEGIN || role == NVTX_ENTRY_RANGE_END || role == NVTX_ENTRY_MARK;
}

// ---- entries
static uint64_t aligned(uint64_t at, uint64_t alignment)
{
  return alignment > 1 ? (at + alignment - 1) / alignment * alignment : at;
}

// Elements of an array entry in the payload itself, of `bytes` from `at` at most. False: not known.
static bool array_count(const struct walk *walk, const struct frame *frame, const struct payload_entry *entry,
                        const unsigned char *at, uint64_t bytes, unsigned element_bytes, uint64_t *ret_count)
{
  uint64_t most = bytes / element_bytes, count = 0;
  switch (entry->flags & NVTX_ENTRY_ARRAY) {
  case NVTX_ENTRY_ARRAY_FIXED:
    count = entry->detail;
    break;
  case NVTX_ENTRY_ARRAY_TERMINATED:
    while (count < most) {
      bool is_zero = true;
      for (unsigned i = 0; i < element_bytes; i++)
        is_zero &= at[count * element_bytes + i] == 0;
      if (is_zero)
        break;
      count++;
    }
    break;
  case NVTX_ENTRY_ARRAY_LENGTH_ENTRY:
    if (entry->detail >= LENGTHS_MOST || entry->detail >= frame->next)
      return false;
    count = frame->length[entry->detail] < 0 ? 0 : (uint64_t)frame->length[entry->detail];
    break;
  case NVTX_ENTRY_ARRAY_LENGTH_BLOB: {
    if (entry->detail >= walk->blob_count)
      return false;
    const struct nvtx_blob *blob = &walk->blobs[entry->detail];
    struct annotation_value_type known = nvtx_value_type(blob->schema);
    if (blob->bytes == NULL || known.size == 0 || known.size > 8 || blob->size < known.size || blob->size == SIZE_MAX)
      return false;
    count = annotation_value_integer(blob->bytes, known.size, false);
    break;
  }
  default:
    return false;
  }
  if (count > most) // more than there are
    return false;
  *ret_count = count;
  return true;
}

static bool push_frame(struct walk *walk, const struct payload_schema *schema, uint64_t base, size_t key_length,
                       uint32_t only)
{
  if (walk->depth == DEPTH_MOST || schema->is_enum)
    return false;
  struct frame *frame = &walk->frame[walk->depth++];
  memset(frame, 0, sizeof *frame);
  frame->schema = schema;
  frame->base = frame->cursor = base;
  frame->key_length = (uint16_t)key_length;
  frame->only = only;
  return true;
}

// The name of the entry after the names of the schemas around it: "outer.inner".
static size_t make_key(struct walk *walk, const struct frame *frame, const struct payload_entry *entry, uint32_t index)
{
  char number[32];
  const char *name = entry->name;
  size_t at = frame->key_length;
  if (at > 0 && frame->schema->count == 1) // a value with a schema of its own has its field's name
    return at;
  if (name[0] == '\0') {
    snprintf(number, sizeof number, frame->schema->count == 1 ? "payload" : "field %u", (unsigned)index);
    name = number;
  }
  if (at > 0 && at + 1 < sizeof walk->key)
    walk->key[at++] = '.';
  size_t length = strnlen(name, sizeof walk->key - 1 - at);
  memcpy(walk->key + at, name, length);
  walk->key[at + length] = '\0';
  return at + length;
}

static void leave_out(struct walk *walk)
{
  walk->event->tags.left_out++;
}

// One value or array of a predefined type at `at`. Returns the bytes it takes, 0: not known.
static uint64_t take_plain(struct walk *walk, struct frame *frame, const struct payload_entry *entry, uint32_t index,
                           uint64_t at)
{
  struct annotation_value_type known = nvtx_value_type(entry->type);
  const unsigned char *bytes = walk->bytes + at;
  uint64_t room = walk->size - at, count = 1;
  bool hidden = (entry->flags & NVTX_ENTRY_HIDE) != 0;
  uint64_t array = entry->flags & NVTX_ENTRY_ARRAY;
  bool is_fixed_text = known.class == VALUE_TEXT && array == 0 && entry->detail > 0;
  if (nvtx_value_is_pointer(entry)) {
    if (room >= 8 && known.class == VALUE_TEXT && !hidden)
      take_pointed_text(walk, walk->key, entry->flags, annotation_value_integer(bytes, 8, false), known.size);
    else if (!hidden)
      leave_out(walk);
    return 8;
  }
  if (known.size == 0)
    return 0;
  if (is_fixed_text)
    count = entry->detail <= room / known.size ? entry->detail : room / known.size;
  else if (array != 0 && !array_count(walk, frame, entry, bytes, room, known.size, &count)) {
    leave_out(walk);
    return 0;
  }
  uint64_t taken = (count + (array == NVTX_ENTRY_ARRAY_TERMINATED)) * known.size;
  if (room < known.size * count) {
    leave_out(walk);
    return taken;
  }
  if (array == 0 && (known.class == VALUE_SIGNED || known.class == VALUE_UNSIGNED) && index < LENGTHS_MOST)
    frame->length[index] = (int64_t)annotation_value_integer(bytes, known.size, known.class == VALUE_SIGNED);
  if (hidden || (array == 0 && !is_fixed_text && take_attribute(walk, entry, known, bytes)))
    return taken;
  if (known.class == VALUE_TEXT || (known.class == VALUE_CHARACTER && array != 0))
    take_text(walk, walk->key, entry->flags, bytes, count, known.size);
  else if (known.class == VALUE_NONE || (known.class == VALUE_STRING && array != 0))
    leave_out(walk);
  else if (array != 0)
    annotation_value_list(known, count, bytes, &number_list, walk->key, &walk->event->tags);
  else
    nvtx_payload_tag_value(walk->context, &walk->event->tags, walk->key, known, bytes);
  return taken;
}

// A nested schema, or an enumeration. Returns the bytes it takes, 0: not known.
static uint64_t take_nested(struct walk *walk, struct frame *frame, const struct payload_entry *entry, uint32_t index,
                            uint64_t at, size_t key_length)
{
  const struct payload_schema *schema = walk->context->schema(walk->context->own, entry->type);
  if ((entry->flags & NVTX_ENTRY_ARRAY) != 0 && nvtx_value_is_single(schema)) { // an array of such values
    struct payload_entry values = *entry;
    values.type = schema->entries[0].type;
    return take_plain(walk, frame, &values, index, at);
  }
  if (schema == NULL || (entry->flags & (NVTX_ENTRY_POINTER | NVTX_ENTRY_ARRAY)) != 0) {
    leave_out(walk);
    return schema == NULL ? 0 : (entry->flags & NVTX_ENTRY_POINTER) != 0 ? 8 : 0;
  }
  if (schema->is_enum) {
    if (schema->size > 8 || walk->size - at < schema->size || schema->size == 0)
      leave_out(walk);
    else if ((entry->flags & NVTX_ENTRY_HIDE) == 0)
      nvtx_payload_tag_enum(&walk->event->tags, walk->key, schema, walk->bytes + at);
    return schema->size;
  }
  uint32_t only = UINT32_MAX;
  if (schema->kind == NVTX_SCHEMA_UNION) {
    if (entry->detail >= LENGTHS_MOST || entry->detail >= frame->next || frame->length[entry->detail] < 0 ||
        frame->length[entry->detail] >= (int64_t)schema->count) {
      leave_out(walk);
      return schema->size;
    }
    only = (uint32_t)frame->length[entry->detail];
  } else if (schema->kind == NVTX_SCHEMA_UNION_INSIDE) {
    leave_out(walk);
    return schema->size;
  }
  if (!push_frame(walk, schema, at, key_length, only))
    leave_out(walk);
  return schema->size;
}

static void take_entry(struct walk *walk, struct frame *frame)
{
  uint32_t index = frame->next++;
  const struct payload_entry *entry = &frame->schema->entries[index];
  bool in_union = frame->only != UINT32_MAX;
  uint64_t at = frame->base;
  if (!in_union && entry->offset != 0) {
    at = entry->offset > walk->size ? UINT64_MAX : frame->base + entry->offset;
  } else if (!in_union && index != 0) {
    uint64_t alignment = nvtx_value_is_pointer(entry) ? 8 : nvtx_value_alignment(walk->context, entry->type);
    if (frame->schema->alignment != 0 && frame->schema->alignment < alignment)
      alignment = frame->schema->alignment;
    at = frame->base + aligned(frame->cursor - frame->base, alignment);
  }
  if (at > walk->size || (entry->flags & (NVTX_ENTRY_OFFSET_BASE | NVTX_ENTRY_OFFSET_HERE)) != 0) {
    leave_out(walk);
    return;
  }
  size_t key_length = make_key(walk, frame, entry, index);
  uint64_t taken = entry->type >= NVTX_SCHEMA_STATIC_START ? take_nested(walk, frame, entry, index, at, key_length)
                                                           : take_plain(walk, frame, entry, index, at);
  if (taken > walk->size - at)
    taken = walk->size - at;
  frame->cursor = at + taken;
}

static void walk_schema(struct walk *walk, const struct payload_schema *schema)
{
  walk->depth = 0;
  if (!push_frame(walk, schema, 0, 0, UINT32_MAX)) {
    leave_out(walk);
    return;
  }
  while (walk->depth > 0) {
    struct frame *frame = &walk->frame[walk->depth - 1];
    if (frame->only != UINT32_MAX && frame->next == 0)
      frame->next = frame->only;
    bool is_done = frame->next >= frame->schema->count || (frame->only != UINT32_MAX && frame->next > frame->only);
    if (is_done) {
      walk->depth--;
      if (walk->depth > 0 && frame->only == UINT32_MAX && frame->schema->size == 0) // as long as what lay in it
        walk->frame[walk->depth - 1].cursor = frame->cursor;
      continue;
    }
    if (walk->looked_at++ == ENTRIES_MOST) {
      leave_out(walk);
      return;
    }
    take_entry(walk, frame);
  }
}

// ---- payloads
static void read_blob(struct walk *walk, const struct nvtx_blob *blob)
{
  if (blob->bytes == NULL || blob->size == 0 || blob->schema == NVTX_SCHEMA_REFERENCED)
    return;
  struct annotation_value_type known = nvtx_value_type(blob->schema);
  walk->bytes = blob->bytes;
  walk->size = blob->size;
  if (blob->schema >= NVTX_SCHEMA_STATIC_START) {
    const struct payload_schema *schema = walk->context->schema(walk->context->own, blob->schema);
    if (schema == NULL || schema->is_enum || blob->size == SIZE_MAX)
      leave_out(walk);
    else
      walk_schema(walk, schema);
  } else if (known.class == VALUE_TEXT || known.class == VALUE_CHARACTER) {
    uint64_t bytes = blob->size == SIZE_MAX ? VALUE_TEXT_MOST : blob->size; // its NUL ends it
    take_text(walk, "payload", 0, blob->bytes, bytes / known.size, known.size);
  } else if (known.class == VALUE_NONE || blob->size == SIZE_MAX || blob->size < known.size) {
    leave_out(walk);
  } else if (blob->size / known.size == 1) {
    nvtx_payload_tag_value(walk->context, &walk->event->tags, "payload", known, blob->bytes);
  } else if (known.class == VALUE_STRING) {
    leave_out(walk);
  } else {
    annotation_value_list(known, blob->size / known.size, blob->bytes, &number_list, "payload", &walk->event->tags);
  }
}

void nvtx_payload_read(const struct payload_context *context, const struct nvtx_blob *blobs, size_t count,
                       struct payload_event *event)
{
  struct walk walk; // frames are cleared when they are entered
  walk.context = context;
  walk.blobs = blobs;
  walk.blob_count = count < BLOBS_MOST ? count : BLOBS_MOST;
  walk.event = event;
  walk.looked_at = walk.depth = 0;
  for (size_t i = 0; i < walk.blob_count; i++)
    read_blob(&walk, &blobs[i]);
}
