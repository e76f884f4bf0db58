// SPDX-License-Identifier: Apache-2.0
// Parents that become known after a run was written: the recorded column is written again, part by part. Called by `xsp
// run --resolve`, before it correlates again.
#include "base/memory.h"
#include "base/sorted.h"
#include "store/handle.h"

#include <stdlib.h>

SORTED_BY(compare_links, struct store_link, RISING(span_id))

struct naming {
  const struct store_link *links; // by span id
  size_t count, named;
};

static bool name_in(struct naming *naming, const int64_t *span_ids, int64_t *parent_ids, uint32_t count)
{
  bool has_any = false;
  for (uint32_t i = 0; i < count && naming->count > 0; i++) {
    size_t at = sorted_lower_bound_i64(span_ids[i], &naming->links->span_id, naming->count, sizeof *naming->links);
    if (at == naming->count || naming->links[at].span_id != span_ids[i])
      continue;
    parent_ids[i] = naming->links[at].parent_id;
    naming->named++;
    has_any = true;
  }
  return has_any;
}

// The part that is still open is written again when rows are added to it: its copy in memory must agree.
static void name_pending(struct store *store, int64_t run_id, struct naming *naming)
{
  struct pending_series *series = &pending_find(store, run_id)->series[SERIES_SPAN];
  (void)name_in(naming, series->columns[STORE_SPAN_ID], series->columns[STORE_RECORDED_PARENT_ID], series->row_count);
}

static enum status name_parts(struct store *store, int64_t run_id, const struct reader_series *series,
                              struct naming *naming, int64_t *span_ids, int64_t *parent_ids, struct error *err)
{
  for (size_t i = 0; i < series->part_count; i++) {
    const struct reader_part *part = &series->parts[i];
    XSP_TRY(reader_part_column(&store->reader, series, part, STORE_SPAN_ID, span_ids, err));
    XSP_TRY(reader_part_column(&store->reader, series, part, STORE_RECORDED_PARENT_ID, parent_ids, err));
    if (name_in(naming, span_ids, parent_ids, part->row_count))
      XSP_TRY(pending_write_column(store, run_id, SERIES_SPAN, (int64_t)i, STORE_RECORDED_PARENT_ID, parent_ids,
                                   part->row_count, err));
  }
  return STATUS_OK;
}

enum status store_name_parents(struct store *store, int64_t run_id, struct store_link *links, size_t count,
                               struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(pending_flush(store, err));
  XSP_TRY(reader_refresh(&store->reader, err));
  const struct run_chunks *run = reader_run(&store->reader, run_id);
  int64_t *values = memory_resize(NULL, 2 * STORE_CHUNK_ROWS, sizeof *values);
  qsort(links, count, sizeof *links, compare_links);
  struct naming naming = {.links = links, .count = count};
  enum status status = STATUS_OK;
  if (run != NULL)
    status = name_parts(store, run_id, &run->series[SERIES_SPAN], &naming, values, values + STORE_CHUNK_ROWS, err);
  free(values);
  if (status == STATUS_OK && naming.named != count)
    status = error_set(err, STATUS_USE, "cannot name parents", store->path, NULL, "%zu of %zu spans are not there",
                       count - naming.named, count);
  name_pending(store, run_id, &naming);
  reader_invalidate_run(&store->reader, run_id);
  return status;
}
