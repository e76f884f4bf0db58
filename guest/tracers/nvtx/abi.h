// SPDX-License-Identifier: Apache-2.0
// The binary interface between NVTX's headers (compiled into each library that uses NVTX) and a tool: what xsp needs of
// it, in its own words. abi_test.c compares it with the vendor's headers where they are installed. 64-bit processes.
#ifndef XSP_TRACERS_NVTX_ABI_H
#define XSP_TRACERS_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void (*nvtx_function)(void);

// ---- the tables that the headers offer: get_table(id)
#define NVTX_TABLE_CALLBACKS 1
#define NVTX_TABLE_VERSION 3
typedef const void *(*nvtx_get_table)(uint32_t id);

struct nvtx_callbacks_table {
  size_t struct_size;
  // Pointers to a module's function pointers; 1: done.
  int (*get_functions)(int module, nvtx_function ***ret_functions, unsigned *ret_count);
};
struct nvtx_version_table {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved;
  void (*set_tool_version)(uint32_t version);
};

#define NVTX_MODULE_CORE 1
#define NVTX_MODULE_CORE2 5
enum nvtx_core {
  NVTX_CORE_MARK_EX = 1,
  NVTX_CORE_MARK_A = 2,
  NVTX_CORE_MARK_W = 3,
  NVTX_CORE_START_EX = 4,
  NVTX_CORE_START_A = 5,
  NVTX_CORE_START_W = 6,
  NVTX_CORE_END = 7,
  NVTX_CORE_PUSH_EX = 8,
  NVTX_CORE_PUSH_A = 9,
  NVTX_CORE_PUSH_W = 10,
  NVTX_CORE_POP = 11,
  NVTX_CORE_NAME_CATEGORY_A = 12,
  NVTX_CORE_NAME_CATEGORY_W = 13,
  NVTX_CORE_NAME_THREAD_A = 14,
  NVTX_CORE_NAME_THREAD_W = 15,
};
enum nvtx_core2 {
  NVTX_CORE2_MARK_EX = 1,
  NVTX_CORE2_START_EX = 2,
  NVTX_CORE2_END = 3,
  NVTX_CORE2_PUSH_EX = 4,
  NVTX_CORE2_POP = 5,
  NVTX_CORE2_RESOURCE_CREATE = 6,
  NVTX_CORE2_RESOURCE_DESTROY = 7,
  NVTX_CORE2_NAME_CATEGORY_A = 8,
  NVTX_CORE2_NAME_CATEGORY_W = 9,
  NVTX_CORE2_REGISTER_A = 10,
  NVTX_CORE2_REGISTER_W = 11,
  NVTX_CORE2_DOMAIN_CREATE_A = 12,
  NVTX_CORE2_DOMAIN_CREATE_W = 13,
  NVTX_CORE2_DOMAIN_DESTROY = 14,
  NVTX_CORE2_INITIALIZE = 15,
};

// ---- events
enum nvtx_message_type { NVTX_MESSAGE_NONE = 0, NVTX_MESSAGE_TEXT = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_STRING = 3 };
enum nvtx_value_type {
  NVTX_VALUE_NONE = 0,
  NVTX_VALUE_UINT64 = 1,
  NVTX_VALUE_INT64 = 2,
  NVTX_VALUE_DOUBLE = 3,
  NVTX_VALUE_UINT32 = 4,
  NVTX_VALUE_INT32 = 5,
  NVTX_VALUE_FLOAT = 6,
};
#define NVTX_VALUE_EXTENDED ((int32_t)0xDFBD0009) // value.unsigned64: address of `reserved` struct nvtx_blob

union nvtx_message {
  const char *text;
  const wchar_t *wide;
  const void *string; // what the tool returned when it was registered
};
struct nvtx_event {
  uint16_t version;
  uint16_t size; // of this struct, as the caller knows it
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t value_type; // enum nvtx_value_type or NVTX_VALUE_EXTENDED
  int32_t reserved;
  union {
    uint64_t unsigned64;
    int64_t signed64;
    double real;
    uint32_t unsigned32;
    int32_t signed32;
    float real32;
  } value;
  int32_t message_type; // enum nvtx_message_type
  union nvtx_message message;
};

// ---- extensions
#define NVTX_EXTENSION_PAYLOAD 2
#define NVTX_EXTENSION_COUNTERS 4
struct nvtx_segment {
  size_t id;
  size_t slot_count;
  intptr_t *slots; // 0: not set
};
struct nvtx_extension {
  uint16_t nvtx_version;
  uint16_t struct_size;
  uint16_t module;
  uint16_t compatibility;
  size_t segment_count;
  struct nvtx_segment *segments;
  intptr_t (*get_export)(uint32_t id);
  const void *info;
};
enum nvtx_payload_slot {
  NVTX_PAYLOAD_SCHEMA_REGISTER_SLOT = 0,
  NVTX_PAYLOAD_ENUM_REGISTER_SLOT = 1,
  NVTX_PAYLOAD_MARK_SLOT = 2,
  NVTX_PAYLOAD_PUSH_SLOT = 3,
  NVTX_PAYLOAD_POP_SLOT = 4,
  NVTX_PAYLOAD_START_SLOT = 5,
  NVTX_PAYLOAD_END_SLOT = 6,
  NVTX_PAYLOAD_IS_ENABLED_SLOT = 7,
  NVTX_PAYLOAD_TIMESTAMP_SLOT = 8,
  NVTX_PAYLOAD_EVENT_SLOT = 16,
  NVTX_PAYLOAD_EVENTS_SLOT = 17,
};
enum nvtx_counter_slot {
  NVTX_COUNTER_REGISTER_SLOT = 0,
  NVTX_COUNTER_INT64_SLOT = 1,
  NVTX_COUNTER_DOUBLE_SLOT = 2,
  NVTX_COUNTER_SAMPLE_SLOT = 3,
  NVTX_COUNTER_NO_VALUE_SLOT = 4,
  NVTX_COUNTER_BATCH_SLOT = 5,
};

// ---- payloads: bytes, and the schemas that describe them
struct nvtx_blob {
  uint64_t schema;
  size_t size; // SIZE_MAX: a text that ends with a NUL
  const void *bytes;
};

#define NVTX_SCHEMA_STATIC_START (UINT64_C(1) << 24)  // ids that the program chooses
#define NVTX_SCHEMA_DYNAMIC_START (UINT64_C(1) << 32) // ids that the tool chooses
#define NVTX_SCHEMA_REFERENCED 1022                   // no schema: bytes that others point into
#define NVTX_SCHEMA_RAW 1023

enum nvtx_schema_kind {
  NVTX_SCHEMA_STATIC = 1,
  NVTX_SCHEMA_DYNAMIC = 2,
  NVTX_SCHEMA_UNION = 3,
  NVTX_SCHEMA_UNION_INSIDE = 4
};

#define NVTX_FIELD_NAME (1u << 1)
#define NVTX_FIELD_TYPE (1u << 2)
#define NVTX_FIELD_FLAGS (1u << 3)
#define NVTX_FIELD_ENTRIES (1u << 4)
#define NVTX_FIELD_ENTRY_COUNT (1u << 5)
#define NVTX_FIELD_SIZE (1u << 6)
#define NVTX_FIELD_ALIGNMENT (1u << 7)
#define NVTX_FIELD_ID (1u << 8)

struct nvtx_schema_entry {
  uint64_t flags;
  uint64_t type;
  const char *name;
  const char *description;
  uint64_t detail; // length, or the index of the entry that holds it
  uint64_t offset;
  const void *semantics;
  const void *reserved;
};
struct nvtx_schema_attributes {
  uint64_t fields; // NVTX_FIELD_…: which of these are set
  const char *name;
  uint64_t type; // enum nvtx_schema_kind
  uint64_t flags;
  const struct nvtx_schema_entry *entries;
  size_t entry_count;
  size_t size;
  size_t alignment; // most; 0: natural
  uint64_t id;
  void *extension;
};

#define NVTX_ENUM_FIELD_NAME (1u << 1)
#define NVTX_ENUM_FIELD_ENTRIES (1u << 2)
#define NVTX_ENUM_FIELD_ENTRY_COUNT (1u << 3)
#define NVTX_ENUM_FIELD_SIZE (1u << 4)
#define NVTX_ENUM_FIELD_ID (1u << 5)
struct nvtx_enum_entry {
  const char *name;
  uint64_t value;
  int8_t is_flag;
};
struct nvtx_enum_attributes {
  uint64_t fields;
  const char *name;
  const struct nvtx_enum_entry *entries;
  size_t entry_count;
  size_t size; // bytes of the enumeration's type
  uint64_t id;
  void *extension;
};

// Flags of an entry.
#define NVTX_ENTRY_POINTER (1u << 1)
#define NVTX_ENTRY_OFFSET_BASE (1u << 2)
#define NVTX_ENTRY_OFFSET_HERE (1u << 3)
#define NVTX_ENTRY_ARRAY (7u << 4)
#define NVTX_ENTRY_ARRAY_FIXED (1u << 4)
#define NVTX_ENTRY_ARRAY_TERMINATED (2u << 4)
#define NVTX_ENTRY_ARRAY_LENGTH_ENTRY (3u << 4)
#define NVTX_ENTRY_ARRAY_LENGTH_BLOB (4u << 4)
#define NVTX_ENTRY_DEEP_COPY (1u << 8)
#define NVTX_ENTRY_HIDE (1u << 9)
#define NVTX_ENTRY_ATTRIBUTE (3u << 10)
#define NVTX_ENTRY_MESSAGE (1u << 10)
#define NVTX_ENTRY_TIMESTAMP (2u << 10)
#define NVTX_ENTRY_ROLE (7u << 12)
#define NVTX_ENTRY_RANGE_BEGIN (1u << 12)
#define NVTX_ENTRY_RANGE_END (2u << 12)
#define NVTX_ENTRY_MARK (3u << 12)
#define NVTX_ENTRY_COUNTER (4u << 12)

enum nvtx_type {
  NVTX_TYPE_CHAR = 1,
  NVTX_TYPE_UCHAR = 2,
  NVTX_TYPE_SHORT = 3,
  NVTX_TYPE_USHORT = 4,
  NVTX_TYPE_INT = 5,
  NVTX_TYPE_UINT = 6,
  NVTX_TYPE_LONG = 7,
  NVTX_TYPE_ULONG = 8,
  NVTX_TYPE_LONGLONG = 9,
  NVTX_TYPE_ULONGLONG = 10,
  NVTX_TYPE_INT8 = 11,
  NVTX_TYPE_UINT8 = 12,
  NVTX_TYPE_INT16 = 13,
  NVTX_TYPE_UINT16 = 14,
  NVTX_TYPE_INT32 = 15,
  NVTX_TYPE_UINT32 = 16,
  NVTX_TYPE_INT64 = 17,
  NVTX_TYPE_UINT64 = 18,
  NVTX_TYPE_FLOAT = 19,
  NVTX_TYPE_DOUBLE = 20,
  NVTX_TYPE_LONGDOUBLE = 21,
  NVTX_TYPE_SIZE = 22,
  NVTX_TYPE_ADDRESS = 23,
  NVTX_TYPE_WCHAR = 24,
  NVTX_TYPE_CHAR8 = 25,
  NVTX_TYPE_CHAR16 = 26,
  NVTX_TYPE_CHAR32 = 27,
  NVTX_TYPE_BYTE = 32,
  NVTX_TYPE_INT128 = 33,
  NVTX_TYPE_UINT128 = 34,
  NVTX_TYPE_FLOAT16 = 42,
  NVTX_TYPE_FLOAT32 = 43,
  NVTX_TYPE_FLOAT64 = 44,
  NVTX_TYPE_FLOAT128 = 45,
  NVTX_TYPE_BF16 = 50,
  NVTX_TYPE_TF32 = 52,
  NVTX_TYPE_RANGE_ID = 67,
  NVTX_TYPE_CATEGORY = 68,
  NVTX_TYPE_COLOR = 69,
  NVTX_TYPE_SCOPE_ID = 70,
  NVTX_TYPE_PID_UINT32 = 71,
  NVTX_TYPE_PID_UINT64 = 72,
  NVTX_TYPE_TID_UINT32 = 73,
  NVTX_TYPE_TID_UINT64 = 74,
  NVTX_TYPE_TEXT = 75, // in the locale's encoding
  NVTX_TYPE_TEXT_UTF8 = 76,
  NVTX_TYPE_TEXT_UTF16 = 77,
  NVTX_TYPE_TEXT_UTF32 = 78,
  NVTX_TYPE_STRING = 80, // registered
  NVTX_TYPE_UNION_SELECTOR = 100,
};

// Deferred events, whose times the program gives.
struct nvtx_event_batch {
  uint64_t schema;
  size_t size; // bytes of all events
  const void *events;
  uint64_t scope;
  uint64_t flags;
  const void *flexible; // that events' offsets point into
  size_t flexible_size;
  size_t flexible_offset;
};

// ---- counters
#define NVTX_COUNTER_STATIC_START (UINT64_C(1) << 24)
#define NVTX_COUNTER_DYNAMIC_START (UINT64_C(1) << 32)
#define NVTX_COUNTER_NO_VALUE_ZERO 0
struct nvtx_counter_attributes {
  size_t struct_size;
  uint64_t schema; // or an enum nvtx_type
  const char *name;
  const char *description;
  uint64_t scope;
  const void *semantics;
  uint64_t id; // 0: the tool chooses
};
struct nvtx_counter_batch {
  uint64_t id;
  const void *samples;
  size_t samples_size;
  uint64_t flags;
  const int64_t *times;
  size_t times_size;
};
// Flags of a batch: `times` are one time, of the first or of the last sample, and the interval.
#define NVTX_COUNTER_BATCH_BEGIN (UINT64_C(1) << 32)
#define NVTX_COUNTER_BATCH_END (UINT64_C(2) << 32)

#endif
