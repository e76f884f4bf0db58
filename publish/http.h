// SPDX-License-Identifier: Apache-2.0
// POST and GET over one kept connection, by libcurl, which is opened at run time. Inside this room only. One thread.
#ifndef XSP_PUBLISH_HTTP_H
#define XSP_PUBLISH_HTTP_H

#include "base/buf.h"
#include "publish/address.h"

#include <stdint.h>

struct http;
// `address` must live as long. STATUS_SYSTEM: there is no libcurl.
enum status http_open(const struct address *address, struct http **ret_http, struct error *err) MUST_CHECK;
void http_close(struct http *http); // NULL: nothing

struct http_answer {
  long code;             // 0: no answer, see problem
  bool is_lost;          // without an answer: the connection; it may work later. Else trying again is of no use
  const char *problem;   // lives until the next request
  const char *type;      // Content-Type; NULL: none. As location, lives until the next request
  const char *location;  // of a redirect, which is not followed; NULL
  int64_t retry_after_s; // Retry-After, in seconds or as a date; 0: none
  struct buf body;       // owned; cleared by the next request. Starts as {0}
};
enum http_form { HTTP_PROTOBUF_PACKED, HTTP_JSON_PACKED, HTTP_JSON }; // packed by gzip
void http_post(struct http *http, const char *body, size_t length, enum http_form form, int64_t timeout_ms,
               struct http_answer *answer);
void http_get(struct http *http, int64_t timeout_ms, struct http_answer *answer);

#endif
