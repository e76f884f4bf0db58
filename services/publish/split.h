// SPDX-License-Identifier: Apache-2.0
// Halves a request that is too large for its receiver. Inside this room only. Pure.
#ifndef XSP_PUBLISH_SPLIT_H
#define XSP_PUBLISH_SPLIT_H

#include "base/buf.h"
#include "base/slice.h"

// Appends a request with the first half of the spans of `request` to first, one with the others to second; both have its
// resource and scope. `request` is as report_otlp_requests makes it. False: it has fewer than two spans, or is another.
bool publish_request_split(struct slice request, bool is_json, struct buf *first, struct buf *second);

#endif
