// SPDX-License-Identifier: Apache-2.0
// Payloads of NVTX events as tags, by the schemas that the program registered. Pure: reads the payload's bytes within
// their size, and nothing else but through the callbacks.
#ifndef XSP_TRACERS_NVTX_PAYLOAD_H
#define XSP_TRACERS_NVTX_PAYLOAD_H

#include "tracers/annotations/tags.h"
#include "tracers/nvtx/abi.h"

#include <stdbool.h>

struct payload_entry {
  uint64_t flags, type, detail, offset;
  const char *name; // "": none
};
struct payload_value { // of an enumeration
  uint64_t value;
  bool is_flag;
  const char *name;
};
struct payload_schema { // or an enumeration. Immutable.
  uint64_t id;
  bool is_enum;
  uint32_t kind;    // enum nvtx_schema_kind
  size_t size;      // of a static schema, or of the enumeration's type; 0: not given
  size_t alignment; // most; 0: natural
  uint64_t flags;
  const char *name; // "": none
  uint32_t count;
  union {
    const struct payload_entry *entries;
    const struct payload_value *values;
  };
};

struct payload_context {
  void *own;
  const struct payload_schema *(*schema)(void *own, uint64_t id);      // NULL: not known
  const char *(*string)(void *own, uint64_t handle);                   // registered; NULL: none
  size_t (*read)(void *own, uint64_t address, void *to, size_t bytes); // the program's memory; bytes read
};

struct payload_event {
  struct annotation_tags tags;
  char message[1024]; // "": none
  uint32_t category;  // 0: none
  bool has_begin, has_end;
  int64_t begin, end; // in the program's own time
};

// Reads `count` payloads of one event into *event, which begins empty (nvtx_payload_event_clear) or goes on.
void nvtx_payload_event_clear(struct payload_event *event);
void nvtx_payload_read(const struct payload_context *context, const struct nvtx_blob *blobs, size_t count,
                       struct payload_event *event);
// Bytes of one value of a predefined type, or of a static schema; 0: not known.
size_t nvtx_payload_type_size(const struct payload_context *context, uint64_t type);

#endif
