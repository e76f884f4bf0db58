// SPDX-License-Identifier: Apache-2.0
// Whether a request can be stored: decodes all of it, by the rules of the importer that stores it later. Pure; any thread.
#ifndef XSP_SERVE_REQUEST_CHECK_H
#define XSP_SERVE_REQUEST_CHECK_H

#include "base/slice.h"
#include "otlp/journal.h"

#include <stddef.h>
#include <stdint.h>

#define REQUEST_RESOURCES_MOST 900u // of one request

enum request_reason {
  REQUEST_NO_ID,
  REQUEST_BAD_ID,
  REQUEST_BAD_PARENT,
  REQUEST_BAD_TRACE,
  REQUEST_BAD_LEVEL,
  REQUEST_BAD_KIND,
  REQUEST_BAD_DURATION,
  REQUEST_LONG_DURATION,
  REQUEST_REASONS,
};
extern const char *const serve_request_reasons[REQUEST_REASONS]; // as the importer counts them

struct request_verdict {
  uint64_t spans;                     // of the request
  int64_t last_end_ns;                // latest end of a span; 0: unknown
  uint64_t rejected[REQUEST_REASONS]; // of them
  const char *problem;                // static text: why the request is refused as a whole; NULL: it is not
  size_t resource_count;
  uint64_t resources[REQUEST_RESOURCES_MOST]; // hashes: equal resources have equal ones in this process
};

// `body` is followed by OTLP_JSON_PADDING zero bytes. `seed`: of the hashes, one for the process.
void serve_request_check(enum otlp_encoding encoding, struct slice body, uint64_t seed,
                         struct request_verdict *ret_verdict);
uint64_t serve_request_rejected(const struct request_verdict *verdict); // spans, for all reasons

#endif
