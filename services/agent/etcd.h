// SPDX-License-Identifier: Apache-2.0
// A registry: keys and values with leases in etcd 3.4 or newer, by its HTTP gateway (/v3/…). One thread for each `struct etcd`.
#ifndef XSP_AGENT_ETCD_H
#define XSP_AGENT_ETCD_H

#include "agent/etcd_reply.h"
#include "base/buf.h"
#include "base/error.h"

struct etcd;
// Asks nothing yet. ETCDCTL_USER=NAME:PASSWORD is who asks, where it is set. STATUS_USE: not an address; STATUS_SYSTEM: there
// is no libcurl.
enum status etcd_open(const char *url, struct etcd **ret_etcd, struct error *err) MUST_CHECK;
void etcd_close(struct etcd *etcd); // NULL: nothing

// All: STATUS_SYSTEM where the registry does not answer, or refuses.
enum status etcd_grant(struct etcd *etcd, unsigned ttl_s, int64_t *ret_lease, struct error *err) MUST_CHECK;
enum status etcd_keep_alive(struct etcd *etcd, int64_t lease, bool *ret_is_alive, struct error *err) MUST_CHECK;
void etcd_revoke(struct etcd *etcd, int64_t lease); // as far as possible
// The key must not exist: *ret_is_taken, and nothing is written.
enum status etcd_create(struct etcd *etcd, const char *key, const struct buf *value, int64_t lease, bool *ret_is_taken,
                        struct error *err) MUST_CHECK;
enum status etcd_put(struct etcd *etcd, const char *key, const struct buf *value, int64_t lease,
                     struct error *err) MUST_CHECK;
// All keys that begin with `prefix`, in order. Texts are in `arena`.
enum status etcd_list(struct etcd *etcd, const char *prefix, struct arena *arena, struct etcd_entries *ret_entries,
                      struct error *err) MUST_CHECK;

#endif
