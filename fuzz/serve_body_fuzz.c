// SPDX-License-Identifier: Apache-2.0
// Fuzzes what the server does with a body: decompress, decode, check. The first byte is the coding (2 bits) and the encoding.
#include "base/slice.h"
#include "otlp/json_request.h"
#include "serve/body.h"
#include "serve/reply.h"

#include <stdlib.h>

#define LIMIT_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char zeros[OTLP_JSON_PADDING] = "";
  static struct request_verdict verdict;
  struct buf body, reply = {0};
  if (size < 1)
    return 0;
  enum body_coding coding = (enum body_coding)((data[0] & 3) % BODY_UNKNOWN);
  enum otlp_encoding encoding = (data[0] & 4) != 0 ? OTLP_JSON : OTLP_PROTOBUF;
  struct slice sent = {(const char *)data + 1, size - 1};
  buf_init(&body, LIMIT_BYTES + OTLP_JSON_PADDING + 2);
  enum body_result result = BODY_DONE;
  if (coding == BODY_PLAIN)
    buf_put(&body, sent.data, sent.length);
  else
    result = body_expand(coding, sent, LIMIT_BYTES, &body);
  if (result == BODY_DONE && body.length > LIMIT_BYTES && coding != BODY_PLAIN)
    abort();
  size_t length = body.length;
  if (result == BODY_DONE && buf_put(&body, zeros, sizeof zeros)) {
    serve_request_check(encoding, (struct slice){body.data, length}, 1, &verdict);
    if (verdict.problem == NULL && serve_request_rejected(&verdict) > verdict.spans)
      abort();
    reply_success(encoding, &verdict, &reply);
  }
  buf_done(&body);
  buf_done(&reply);
  return 0;
}
