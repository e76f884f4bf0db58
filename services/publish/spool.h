// SPDX-License-Identifier: Apache-2.0
// Requests that wait on disk for one address, in order. Inside this room only. Each process has its own handle; any number of
// processes may add, one at a time sends.
//
//   FOLDER/http%3A%2F%2Fhost%3A4318%2Fv1%2Ftraces/   mode 0700
//     000000000001.otlp   what one publication added: a head with the position, then requests. Removed once it is sent
//     000000000002.adding one that is being added
//     adding, sending     locks
//
// The position moves on after a request was settled (accepted or refused), with one write into the head. A request that is sent in
// parts counts its settled spans in its own head. So a process that is killed leaves at most the part in flight to be sent twice.
#ifndef XSP_PUBLISH_SPOOL_H
#define XSP_PUBLISH_SPOOL_H

#include "base/buf.h"
#include "base/error.h"

#include <limits.h>
#include <stdint.h>

struct spool { // starts as SPOOL_CLOSED
  char path[PATH_MAX];
  int folder;             // descriptors; -1: none
  int adding, sending;    // locks, while held
  int source, target;     // the file that is sent, the one that is added to
  uint64_t source_number; // of the file's name
  uint64_t source_bytes, position, next;
  uint64_t target_number;
};
#define SPOOL_CLOSED ((struct spool){.folder = -1, .adding = -1, .sending = -1, .source = -1, .target = -1})

// A request as it is sent. Numbers are in the machine's order: a spool does not move.
struct spool_head {
  uint32_t length;     // of the gzip'ed body, which follows
  uint32_t raw_length; // unpacked
  uint32_t span_count;
  uint16_t is_json;
  uint16_t settled_count; // its first spans that are not sent again; 0 when it is added
};

// `folder` NULL: xsp/publish in the caller's state folder. The caller closes, also after an error.
enum status spool_open(const char *folder, const char *url, struct spool *ret_spool, struct error *err) MUST_CHECK;
void spool_close(struct spool *spool); // what is being added is dropped

// ---- add: begin, put…, commit. What is not committed leaves nothing.
enum status spool_begin(struct spool *spool, struct error *err) MUST_CHECK;
enum status spool_put(struct spool *spool, const struct spool_head *head, const char *body,
                      struct error *err) MUST_CHECK;
enum status spool_commit(struct spool *spool, struct error *err) MUST_CHECK;

// ---- send
bool spool_try_lock(struct spool *spool); // false: another process sends
enum status spool_lock(struct spool *spool, struct error *err) MUST_CHECK;
void spool_unlock(struct spool *spool); // what waits is looked for again next time
// The first request that waits, into *ret_head and *body; the same until spool_advance. *ret_is_empty: nothing waits.
enum status spool_next(struct spool *spool, struct spool_head *ret_head, struct buf *body, bool *ret_is_empty,
                       struct error *err) MUST_CHECK;
// Notes that the first `count` spans of this request are settled.
enum status spool_settle(struct spool *spool, uint32_t count, struct error *err) MUST_CHECK;
enum status spool_advance(struct spool *spool, struct error *err) MUST_CHECK;
uint64_t spool_waiting(struct spool *spool); // spans that are not settled; of what can be read

#endif
