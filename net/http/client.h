// SPDX-License-Identifier: Apache-2.0
// Requests over one kept connection, by libcurl, which is opened at run time. The front door of http/ for clients. One thread.
#ifndef XSP_HTTP_CLIENT_H
#define XSP_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct http_options {
  const char *what;           // begins messages: "cannot publish"
  const char *certificate;    // file of trusted authorities; NULL: SSL_CERT_FILE, else the system's
  const char *const *headers; // of each request: "name: value"
  size_t header_count;
};
struct http;
// Copies what it needs. STATUS_SYSTEM: there is no libcurl.
enum status http_open(const struct http_options *options, struct http **ret_http, struct error *err) MUST_CHECK;
void http_close(struct http *http); // NULL: nothing

enum http_form { HTTP_JSON, HTTP_TEXT, HTTP_PROTOBUF_PACKED, HTTP_JSON_PACKED }; // packed by gzip
#define HTTP_WAIT INT64_MAX // as timeout_ms: for ever, while the connection lasts
struct http_request {
  const char *method; // "GET", "POST", "PUT", "DELETE"
  const char *url;    // http or https
  const char *body;   // of POST and PUT
  size_t length;
  enum http_form form;
  int64_t timeout_ms; // for all of it; 0: as long as bytes come, at least one in half a minute
  uint64_t most;      // bytes of the answer's body; 0: 4 MiB, as OTLP recommends
  int file;           // where a body of status 200 goes, in place of answer->body; 0: none
};
struct http_answer {
  long code;             // 0: no answer, see problem
  bool is_lost;          // without an answer: the connection; it may work later. Else trying again is of no use
  const char *problem;   // lives until the next request
  const char *type;      // Content-Type; NULL: none. As location, lives until the next request
  const char *location;  // of a redirect, which is not followed; NULL
  int64_t retry_after_s; // Retry-After, in seconds or as a date; 0: none
  uint64_t bytes;        // of a body of status 200
  bool is_too_long;      // it has more than `most`; there is no answer
  int write_error;       // why it could not be put into `file`, an errno; 0: it could
  struct buf body;       // owned; cleared by the next request. Starts as {0}
};
void http_send(struct http *http, const struct http_request *request, struct http_answer *answer);

#endif
