// SPDX-License-Identifier: Apache-2.0
// Counters over time: what a process, a thread, a device or the machine used while a run was made. Part of store.h, which
// includes it.
#ifndef XSP_STORE_COUNTERS_H
#define XSP_STORE_COUNTERS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_counter {
  int64_t counter_id;                       // >= 1, unique within the run
  const char *name;                         // with its unit, "cpu_ns"
  const char *source;                       // what it was read from where there are several, "package-0"; NULL: nothing
  int64_t process_id, thread_id, device_id; // STORE_NONE: does not apply
  bool is_total; // it only grows, and counts from its first value; else the value at that time
};
// Between two values a counter is as at the first of them. A total grew evenly between them.
struct store_counter_value {
  int64_t counter_id, time_ns;
  double value;
};

enum status store_add_counter(struct store *store, int64_t run_id, const struct store_counter *counter,
                              struct error *err) MUST_CHECK;
enum status store_add_counter_value(struct store *store, int64_t run_id, const struct store_counter_value *value,
                                    struct error *err) MUST_CHECK;
enum status store_counters(struct store *store, int64_t run_id, struct arena *arena, struct store_counter **ret,
                           size_t *ret_count, struct error *err) MUST_CHECK; // by id
enum status store_counter_values(struct store *store, int64_t run_id, struct arena *arena,
                                 struct store_counter_value **ret, size_t *ret_count,
                                 struct error *err) MUST_CHECK; // by counter, then by time

#endif
