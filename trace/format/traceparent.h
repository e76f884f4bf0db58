// SPDX-License-Identifier: Apache-2.0
// The W3C trace context header `traceparent` (https://www.w3.org/TR/trace-context/). Pure, without allocation or locale:
// also used in traced processes and signal handlers.
#ifndef XSP_FORMAT_TRACEPARENT_H
#define XSP_FORMAT_TRACEPARENT_H

#include <stdbool.h>
#include <stdint.h>

// "00-<32 hex>-<16 hex>-<2 hex>". Later versions, which may be longer, are read as version 00; all-zero ids are malformed.
// `header` NULL: false. On false nothing is written.
bool traceparent_read(const char *header, uint8_t trace_id[16], uint8_t parent_id[8]);
// Writes version 00, sampled, and a terminating zero: 56 bytes.
void traceparent_write(char *header, const uint8_t trace_id[16], const uint8_t parent_id[8]);

// The kernel's boot id as it prints it: 36 characters, 16 bytes with dashes between. False: not such a text.
bool boot_id_read(const char *text, uint8_t boot_id[16]);

#endif
