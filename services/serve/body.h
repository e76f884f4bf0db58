// SPDX-License-Identifier: Apache-2.0
// Bodies of requests as they were before Content-Encoding. Pure; any thread.
#ifndef XSP_SERVE_BODY_H
#define XSP_SERVE_BODY_H

#include "base/buf.h"
#include "base/slice.h"

enum body_coding { BODY_PLAIN, BODY_GZIP, BODY_ZSTD, BODY_UNKNOWN };
enum body_result { BODY_DONE, BODY_BROKEN, BODY_TOO_LARGE };

// Of the header Content-Encoding; NULL: absent.
enum body_coding body_coding_of(const char *header);
// Decompresses all of `from` (GZIP or ZSTD) into `out`, which is empty, up to `limit` bytes. Memory besides: at most 9 MiB,
// whatever the body asks for.
enum body_result body_expand(enum body_coding coding, struct slice from, size_t limit, struct buf *out);

#endif
