// SPDX-License-Identifier: Apache-2.0
// Fuzzes a server's answer, also about a job's levels, and halving a request: the first byte chooses. An answer that is not
// understood leaves nothing.
#include "publish/reply.h"
#include "publish/split.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_levels(struct slice body)
{
  uint32_t mask = 0;
  if (!publish_reply_read_levels(body, &mask) && mask != 0)
    abort();
}

static void read_reply(char kind, struct slice body)
{
  struct reply reply;
  enum reply_form form = kind == 'j' || kind == 'J' ? REPLY_JSON : kind == 't' ? REPLY_TEXT : REPLY_PROTOBUF;
  bool is_read = publish_reply_read(body, form, kind == 'J' || kind == 'P', &reply);
  if (reply.rejected_count < 0 || strlen(reply.message) >= sizeof reply.message ||
      (!is_read && (reply.rejected_count != 0 || reply.message[0] != 0)))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  char *body = malloc(size); // of its own, so that ASan sees a read past its end
  if (body == NULL)
    return 0;
  memcpy(body, data + 1, size - 1);
  struct slice text = {body, size - 1};
  if (data[0] == 's' || data[0] == 'S') {
    struct buf first = {0}, second = {0};
    if (publish_request_split(text, data[0] == 'S', &first, &second) && (first.length == 0 || second.length == 0))
      abort();
    buf_done(&first);
    buf_done(&second);
  } else if (data[0] == 'l') {
    read_levels(text);
  } else {
    read_reply((char)data[0], text);
  }
  free(body);
  return 0;
}
