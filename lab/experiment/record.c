// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of an experiment's file. Called by model_experiment.c and program_experiment.c.
#include "experiment/record.h"

#include "base/clock.h"
#include "experiment/system.h"

#include <string.h>

#define SYSTEM_VALUES_MAXIMUM 56

enum status record_experiment(struct store *store, struct store_experiment *row, const struct store_system_value *more,
                              size_t more_count, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_system_value values[SYSTEM_VALUES_MAXIMUM];
  size_t count;
  enum status status = system_describe(&arena, values, SYSTEM_VALUES_MAXIMUM - more_count, &count, err);
  for (size_t i = 0; i < more_count; i++) {
    size_t at = 0;
    while (at < count && strcmp(values[at].key, more[i].key) != 0)
      at++;
    values[at] = more[i];
    count += at == count;
  }
  if (status == STATUS_OK)
    status = store_add_system(store, values, count, &row->system_id, err);
  row->created_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
  row->xsp_version = XSP_VERSION;
  if (status == STATUS_OK)
    status = store_add_experiment(store, row, err);
  return status;
}

void record_give_up(struct store *store, bool has_measured, bool has_committed, message_fn warning)
{
  if (!has_measured) {
    store_discard(store);
    return;
  }
  if (store_commit(store, NULL) == STATUS_OK || has_committed)
    warning("xsp: what was measured until then is in %s.partial", store_path(store));
  store_close(store);
}
