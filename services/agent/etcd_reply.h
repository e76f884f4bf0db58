// SPDX-License-Identifier: Apache-2.0
// Reads replies of etcd's HTTP gateway. Pure; the server and whoever wrote to it are not trusted; fuzzed.
#ifndef XSP_AGENT_ETCD_REPLY_H
#define XSP_AGENT_ETCD_REPLY_H

#include "base/arena.h"
#include "base/slice.h"

#define ETCD_ENTRIES_MOST 10000u

struct etcd_entry {
  struct slice key, value;
};
struct etcd_entries {
  struct etcd_entry *items;
  size_t count;
};

// Members ID, TTL and "succeeded" of a reply, or of its "result"; 0 and false where they are absent, as the gateway writes zeros.
struct etcd_reply {
  int64_t id, ttl_s;
  bool has_succeeded;
};
bool etcd_reply_read(struct slice body, struct etcd_reply *ret_reply); // false: malformed
// Of a range: keys and values, decoded, in `arena`. False: malformed, or too many.
bool etcd_reply_entries(struct slice body, struct arena *arena, struct etcd_entries *ret_entries);
// The token of a reply to auth/authenticate. False: it has none that may be in a header, or a longer one.
bool etcd_reply_token(struct slice body, char *text, size_t size);
// What the gateway says is wrong, cut; empty: nothing.
void etcd_reply_problem(struct slice body, char *text, size_t size);

#endif
