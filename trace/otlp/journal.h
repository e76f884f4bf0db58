// SPDX-License-Identifier: Apache-2.0
// The file of requests in which `xsp serve` keeps what it has acknowledged: OTLP_JOURNAL_MAGIC, then records, each a
// struct otlp_journal_head and the request's body. serve/ appends, trace/importers/otlp reads. A record that is not whole or whose
// checksum differs ends the file: its request was never acknowledged.
#ifndef XSP_OTLP_JOURNAL_H
#define XSP_OTLP_JOURNAL_H

#include "base/hash.h"
#include "base/slice.h"

#include <stdbool.h>

#define OTLP_JOURNAL_MAGIC "xspj\r\n\x1a\x01" // the last byte is the version
#define OTLP_JOURNAL_MAGIC_BYTES (sizeof OTLP_JOURNAL_MAGIC - 1)
#define OTLP_JOURNAL_BODY_MOST ((size_t)100 << 20) // an importer's window holds it

enum otlp_encoding { OTLP_NO_ENCODING, OTLP_PROTOBUF, OTLP_JSON };

struct otlp_journal_head { // little-endian, as all machines are that xsp runs on
  uint32_t length;         // of the body
  uint32_t encoding;       // enum otlp_encoding
  uint64_t checksum;       // finds records torn by a loss of power; part of the format
};

static inline uint64_t otlp_journal_checksum(uint32_t encoding, struct slice body)
{
  return hash_text(body.data, body.length, encoding ^ UINT64_C(0x6a09e667f3bcc909));
}

// The head of a record of this body.
static inline struct otlp_journal_head otlp_journal_head_of(enum otlp_encoding encoding, struct slice body)
{
  return (struct otlp_journal_head){(uint32_t)body.length, encoding, otlp_journal_checksum(encoding, body)};
}

static inline bool otlp_journal_head_is_possible(const struct otlp_journal_head *head)
{
  return head->length > 0 && head->length <= OTLP_JOURNAL_BODY_MOST &&
         (head->encoding == OTLP_PROTOBUF || head->encoding == OTLP_JSON);
}

#endif
