// SPDX-License-Identifier: Apache-2.0
// Bodies of replies, as OTLP/HTTP has them. Pure.
#ifndef XSP_SERVE_REPLY_H
#define XSP_SERVE_REPLY_H

#include "base/buf.h"
#include "serve/request_check.h"

enum otlp_encoding reply_encoding(const char *type); // that the request's Content-Type names; NULL: absent
const char *reply_type(enum otlp_encoding encoding); // the header Content-Type; of no encoding: plain text
// ExportTraceServiceResponse: empty, or how many spans were rejected and why.
void reply_success(enum otlp_encoding encoding, const struct request_verdict *verdict, struct buf *out);
// google.rpc.Status with the code that belongs to the status of HTTP.
void reply_error(enum otlp_encoding encoding, unsigned http_status, const char *message, struct buf *out);

#endif
