// SPDX-License-Identifier: Apache-2.0
// Sorts a run's spans into lanes, its tags by span and its asynchronous spans by correlation id. Part of timeline.h.
#ifndef XSP_REPORT_EXPORTS_TIMELINE_LANES_H
#define XSP_REPORT_EXPORTS_TIMELINE_LANES_H

#include "report/exports/timeline.h"

// By span id, then file order.
void timeline_sort_tags(struct store_tag *tags, size_t count);
// The position of a span's first tag in sorted tags; where it has none, of the next span's.
size_t timeline_first_tag(const struct store_tag *tags, size_t count, int64_t span_id);
// First position in `order`, rows by `numbers`, whose number is not below `number`.
size_t timeline_lower_bound(const int64_t *numbers, const uint32_t *order, size_t count, int64_t number);
enum status timeline_lay_lanes(struct arena *arena, struct timeline_run *run, struct error *err) MUST_CHECK;

#endif
