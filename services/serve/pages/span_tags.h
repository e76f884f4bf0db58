// SPDX-License-Identifier: Apache-2.0
// Tags of a span, which its page does not have. Any thread.
#ifndef XSP_SERVE_SPAN_TAGS_H
#define XSP_SERVE_SPAN_TAGS_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

// Those of a span of FOLDER/`name`, which is there, as JSON: [[key, value], …].
enum status span_tags(const char *folder, const char *name, int64_t run_id, int64_t span_id, struct buf *out,
                      struct error *err) MUST_CHECK;

#endif
