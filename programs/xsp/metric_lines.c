// SPDX-License-Identifier: Apache-2.0
// Runs with metrics are several, and mostly report the same. Called by the summaries of `xsp run` and `xsp profile`.
#include "programs/xsp/metric_lines.h"

#include "base/slice.h"
#include "report/display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct lines {
  struct buf *out, seen; // seen: with a line feed before and after each
};

static enum status put_note(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct lines *lines = context;
  struct slice rest = {cells[0].text, cells[0].length}, line;
  while (slice_cut(&rest, '\n', &line)) {
    struct buf whole SCOPED(buf_done) = {0};
    buf_format(&whole, "\n%.*s\n", (int)line.length, line.data);
    if (line.length > 0 && strstr(lines->seen.data, whole.data) == NULL) {
      buf_format(lines->out, "%-8s ", lines->seen.length == 1 ? "metrics" : "");
      display_escape(lines->out, line.data, line.length);
      buf_text(lines->out, "\n");
      buf_text(&lines->seen, whole.data + 1);
    }
  }
  return STATUS_OK;
}

enum status metric_lines(struct store *store, int64_t shown_run_id, struct buf *out, struct error *err)
{
  char sql[256];
  struct lines lines = {.out = out};
  const struct store_query_sink sink = {.context = &lines, .row = put_note};
  snprintf(
      sql, sizeof sql,
      "select n.value from note n join run r using (run_id) where n.key = 'tracers' and r.levels like '%%+metrics' "
      "and r.run_id <> %" PRId64 " order by r.run_id",
      shown_run_id);
  buf_text(&lines.seen, "\n");
  enum status status = store_query(store, sql, &sink, err);
  buf_done(&lines.seen);
  return status;
}
