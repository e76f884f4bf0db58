// SPDX-License-Identifier: Apache-2.0
// xsp data fetch: a file that is somewhere, on this machine.
#include "base/buf.h"
#include "base/clock.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_data/data.h"
#include "table/builder.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOW_EVERY_NS UINT64_C(500000000)

static void show_progress(void *context, const char *url, uint64_t done_bytes, uint64_t total_bytes)
{
  char line[512];
  uint64_t *shown_ns = context, now_ns = clock_now_ns(CLOCK_MONOTONIC);
  if (now_ns - *shown_ns < SHOW_EVERY_NS)
    return;
  *shown_ns = now_ns;
  if (total_bytes > 0)
    snprintf(line, sizeof line, "%.400s: %.1f of %.1f MB", url, (double)done_bytes / 1e6, (double)total_bytes / 1e6);
  else
    snprintf(line, sizeof line, "%.400s: %.1f MB", url, (double)done_bytes / 1e6);
  output_progress(line, false);
}

enum status data_fetch_request(const struct invocation *invocation, struct asset_request *ret_request,
                               struct error *err)
{
  static uint64_t shown_ns; // nothing is shown of a fetch that ends soon
  shown_ns = clock_now_ns(CLOCK_MONOTONIC);
  *ret_request = (struct asset_request){.repository = invocation_value(invocation, "repository"),
                                        .is_offline = invocation_has(invocation, "offline"),
                                        .may_change = invocation_has(invocation, "update"),
                                        .progress = invocation_has(invocation, "quiet") ? NULL : show_progress,
                                        .context = &shown_ns,
                                        .message = output_message};
  return invocation_bytes(invocation, "limit-bytes", 1, UINT64_MAX, &ret_request->bytes_most, err);
}

static enum status print_paths(const struct data_call *call, const char *const *paths, struct arena *arena,
                               struct error *err)
{
  struct buf out = {0};
  struct table table = {.id = "files"};
  struct table_builder builder;
  table_start(&builder, arena);
  for (size_t i = 0; i < call->count; i++) {
    table_row(&builder);
    table_put(&builder, "url", cell_text(call->arguments[i]));
    table_put(&builder, "path", cell_text(paths[i]));
    buf_format(&out, "%s\n", paths[i]);
  }
  if (call->format == REPORT_TEXT)
    return output_buf(&out, err);
  buf_done(&out);
  table_answer(&builder, &table);
  return output_tables(&table, 1, call->format, false, err);
}

enum status data_fetch(const struct data_call *call, struct arena *arena, struct error *err)
{
  struct asset_request request;
  const char **paths = arena_alloc_array(arena, call->count, sizeof *paths);
  XSP_TRY(data_fetch_request(call->invocation, &request, err));
  XSP_TRY(invocation_unsigned(call->invocation, "timeout", 1, 86400, &request.stall_s, err));
  request.sha256 = invocation_value(call->invocation, "sha256");
  if (request.sha256 != NULL && call->count > 1)
    return error_set(err, STATUS_USE, "wrong use", "--sha256", "one URL", "there are several URLs");
  for (size_t i = 0; i < call->count; i++) {
    request.url = call->arguments[i];
    enum status status = asset_get(&request, arena, &paths[i], err);
    output_progress(NULL, true);
    XSP_TRY(status);
  }
  return print_paths(call, paths, arena, err);
}
