// SPDX-License-Identifier: Apache-2.0
// Values in NVTX payloads as tags. `at`: bytes of the value's size, any alignment. Pure.
#ifndef XSP_TRACERS_NVTX_PAYLOAD_VALUE_H
#define XSP_TRACERS_NVTX_PAYLOAD_VALUE_H

#include "tracers/nvtx/payload.h"

#define VALUE_TEXT_MOST 1024 // bytes kept of a text

enum class {
  CLASS_NONE,
  CLASS_SIGNED,
  CLASS_UNSIGNED,
  CLASS_REAL,
  CLASS_ADDRESS,
  CLASS_TEXT,
  CLASS_CHARACTER,
  CLASS_STRING
};
struct value_type {
  uint8_t class, size;
};

struct value_type value_type(uint64_t type); // of a predefined type; size 0: not known
// At least 1; of a nested schema its widest entry's, looked at one level deep.
uint64_t value_alignment(const struct payload_context *context, uint64_t type);
// A schema around one value of a predefined type, as NumPy's scalars have it.
bool value_is_single(const struct payload_schema *schema);
uint64_t value_integer(const unsigned char *at, size_t size, bool is_signed); // of 1, 2, 4 or 8 bytes, else 0
void value_tag(const struct payload_context *context, struct annotation_tags *tags, const char *key, uint64_t type,
               struct value_type known, const unsigned char *at);
void value_tag_enum(struct annotation_tags *tags, const char *key, const struct payload_schema *schema,
                    const unsigned char *at);
// Numbers as "[1, 2, 3]"; what is to be read as characters does not come here.
void value_tag_array(struct annotation_tags *tags, const char *key, uint64_t type, struct value_type known,
                     const unsigned char *at, uint64_t count);

#endif
