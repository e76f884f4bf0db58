// SPDX-License-Identifier: Apache-2.0
// Base64 with the digits + and / and padding (RFC 4648, section 4).
#ifndef XSP_BASE_BASE64_H
#define XSP_BASE_BASE64_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdint.h>

void base64_put(struct buf *out, const void *bytes, size_t length);
// Writes at most `most` bytes and returns their number; -1: not base64, or more bytes.
int base64_decode(struct slice text, uint8_t *bytes, size_t most);

#endif
