// SPDX-License-Identifier: Apache-2.0
// Values in NVTX payloads as tags. `at`: bytes of the value's size, any alignment. Pure.
#ifndef XSP_TRACERS_NVTX_PAYLOAD_PRIVATE_H
#define XSP_TRACERS_NVTX_PAYLOAD_PRIVATE_H

#include "tracers/annotations/value.h"
#include "tracers/nvtx/payload.h"

#define VALUE_TEXT_MOST 1024 // bytes kept of a text

struct annotation_value_type nvtx_value_type(uint64_t type); // of a predefined type; size 0: not known
// The entry is the address of its value: by a flag, or a text of no given length.
bool nvtx_value_is_pointer(const struct payload_entry *entry);
// At least 1; of a nested schema its widest entry's, looked at one level deep.
uint64_t nvtx_value_alignment(const struct payload_context *context, uint64_t type);
// A schema around one value of a predefined type, as NumPy's scalars have it.
bool nvtx_value_is_single(const struct payload_schema *schema);
void nvtx_payload_tag_value(const struct payload_context *context, struct annotation_tags *tags, const char *key,
                            struct annotation_value_type known, const unsigned char *at);
void nvtx_payload_tag_enum(struct annotation_tags *tags, const char *key, const struct payload_schema *schema,
                           const unsigned char *at);

#endif
