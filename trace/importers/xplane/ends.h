// SPDX-License-Identifier: Apache-2.0
// Ends of operations (ends.c), for executions.c.
#ifndef XSP_IMPORTERS_XPLANE_ENDS_H
#define XSP_IMPORTERS_XPLANE_ENDS_H

#include "importers/xplane/xplane.h"

static inline int64_t xplane_number(const struct xplane_event *event, enum xplane_stat stat)
{
  return event->values[stat].type == VALUE_INT ? event->values[stat].integer : 0;
}
static inline struct map_key xplane_producer(const struct xplane *x, const struct xplane_plane *plane, int64_t producer)
{
  return (struct map_key){xplane_owner(x, plane), (uint64_t)producer};
}

// In the second pass: a mark, and the start of an operation on the line that is read. False: the starts before were not kept.
bool xplane_end_seen(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event);
void xplane_keep_start(struct xplane *x, int64_t start_ns);
// Afterwards. NULL: the operation has no mark, or needs none.
const struct xplane_end *xplane_end_find(const struct xplane *x, struct map_key producer);
// `end_ns`: that of the operation's own event.
int64_t xplane_end_of(const struct xplane *x, struct map_key producer, int64_t start_ns, int64_t end_ns);

#endif
