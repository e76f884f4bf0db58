// SPDX-License-Identifier: Apache-2.0
// What a store records of calls and executions besides their correlation ids. Private to correlate.
#ifndef XSP_CORRELATE_LAUNCH_FACTS_H
#define XSP_CORRELATE_LAUNCH_FACTS_H

#include "correlate/correlate.h"

struct launch_facts_source { // the context of launch_facts_load
  struct store *store;
  int64_t run_id;
  const struct store_spans *spans;
  const struct store_track *tracks;
  size_t track_count;
};
// A correlate_load_facts: devices of tracks; tags `device`, `external_id` and, of calls, `kernel`; names of executions.
enum status launch_facts_load(void *source, struct correlate_facts *facts, size_t count, struct error *err) MUST_CHECK;

#endif
