// SPDX-License-Identifier: Apache-2.0
// The live page: the newest requests are kept in memory, and while somebody looks, a thread makes the page's parts of them again
// and again. So a page is as far behind as that takes, whatever the size of journals and files. All functions: any thread.
#ifndef XSP_SERVE_LIVE_H
#define XSP_SERVE_LIVE_H

#include "base/error.h"
#include "base/message.h"
#include "otlp/journal.h"
#include "report/report.h"

struct live;

// Makes its files in DIR/.pages, which exists. `spans`: about how many of the newest there are.
enum status live_start(const char *folder, uint64_t spans, message_fn message, struct live **ret_live,
                       struct error *err) MUST_CHECK;
void live_end(struct live *live);  // nobody waits any more; NULL is fine
void live_free(struct live *live); // after live_end and the last release

// A request that was acknowledged. Its spans ended at `last_end_ns` (Unix) at the latest.
void live_add(struct live *live, enum otlp_encoding encoding, struct slice body, uint64_t spans, int64_t last_end_ns);

// One version of the parts, to be released.
struct live_version {
  uint64_t number; // counts up from 1
  struct report_parts *parts;
  unsigned users; // and the list of versions; guarded by the lock of `live`
};
// A later one than `after`: waits for it a few seconds. NULL: there is none.
struct live_version *live_next(struct live *live, uint64_t after);
struct live_version *live_take(struct live *live, uint64_t number); // NULL: it is gone; only the last few stay
void live_release(struct live *live, struct live_version *version);

#endif
