// SPDX-License-Identifier: Apache-2.0
// Whole texts as gzip and back. Inside this room only. Pure.
#ifndef XSP_PUBLISH_GZIP_H
#define XSP_PUBLISH_GZIP_H

#include "base/buf.h"
#include "base/slice.h"

bool gzip_pack(struct slice text, struct buf *out);                        // false: too large
bool gzip_unpack(struct slice packed, size_t raw_length, struct buf *out); // false: broken, or of another length
#endif
