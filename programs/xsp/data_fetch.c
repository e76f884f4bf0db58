// SPDX-License-Identifier: Apache-2.0
// xsp data fetch: a file that is somewhere, on this machine.
#include "base/buf.h"
#include "base/clock.h"
#include "programs/xsp/data.h"
#include "programs/xsp/output.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOW_EVERY_NS UINT64_C(200000000)

static void show_progress(void *context, const char *url, uint64_t done_bytes, uint64_t total_bytes)
{
  char line[512];
  uint64_t *shown_ns = context, now_ns = clock_now_ns(CLOCK_MONOTONIC);
  if (now_ns - *shown_ns < SHOW_EVERY_NS)
    return;
  *shown_ns = now_ns;
  if (total_bytes > 0)
    snprintf(line, sizeof line, "%.400s: %.0f of %.0f MB", url, (double)done_bytes / 1e6, (double)total_bytes / 1e6);
  else
    snprintf(line, sizeof line, "%.400s: %.0f MB", url, (double)done_bytes / 1e6);
  output_progress(line, false);
}

enum status data_request(const struct invocation *invocation, struct asset_request *ret_request, struct error *err)
{
  static uint64_t shown_ns;
  *ret_request = (struct asset_request){.repository = invocation_value(invocation, "repository"),
                                        .is_offline = invocation_has(invocation, "offline"),
                                        .may_change = invocation_has(invocation, "update"),
                                        .progress = invocation_has(invocation, "quiet") ? NULL : show_progress,
                                        .context = &shown_ns,
                                        .message = output_message};
  XSP_TRY(invocation_unsigned(invocation, "timeout", 0, 86400, &ret_request->stall_s, err));
  return invocation_bytes(invocation, "limit-bytes", 1, UINT64_MAX, &ret_request->bytes_most, err);
}

enum status data_fetch(const struct data_call *call, struct arena *arena, struct error *err)
{
  struct asset_request request;
  struct buf out = {0};
  XSP_TRY(data_request(call->invocation, &request, err));
  request.sha256 = invocation_value(call->invocation, "sha256");
  for (size_t i = 0; i < call->count; i++) {
    const char *path = NULL;
    request.url = call->arguments[i];
    enum status status = asset_get(&request, arena, &path, err);
    output_progress(NULL, true);
    if (status != STATUS_OK) {
      buf_done(&out);
      return status;
    }
    buf_format(&out, "%s\n", path);
  }
  return output_buf(&out, err);
}
