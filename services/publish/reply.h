// SPDX-License-Identifier: Apache-2.0
// What a receiver's answer means, by the rules of OTLP/HTTP. Inside this room only. Pure; answers may be hostile.
#ifndef XSP_PUBLISH_REPLY_H
#define XSP_PUBLISH_REPLY_H

#include "base/slice.h"

enum reply_form { REPLY_PROTOBUF, REPLY_JSON, REPLY_TEXT, REPLY_OTHER };
enum reply_form publish_reply_form_of(const char *content_type); // NULL: none was sent

enum reply_verdict {
  REPLY_ACCEPTED,  // 200 to 299
  REPLY_RETRY,     // 429, 502, 503, 504
  REPLY_TOO_LARGE, // 413
  REPLY_STOP,      // another address or other credentials are needed: all requests would end so
  REPLY_REFUSED,   // this request, for good
};
enum reply_verdict publish_reply_verdict_of(long code);

struct reply {
  int64_t rejected_count; // spans, of a partial success; never negative
  char message[256];      // the server's, cut; empty: none
};
// An ExportTraceServiceResponse (accepted) or a google.rpc.Status. False: it is neither; *ret_reply is empty then.
bool publish_reply_read(struct slice body, enum reply_form form, bool is_accepted, struct reply *ret_reply);
// The member "wanted" of an answer about a job: a mask of levels. False: there is none; *ret_mask stays as it is.
bool publish_reply_read_levels(struct slice body, uint32_t *ret_mask);

#endif
