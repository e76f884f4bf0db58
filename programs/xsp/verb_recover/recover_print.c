// SPDX-License-Identifier: Apache-2.0
// What a recovery did: messages for people, an account for scripts. Called by verb_recover.c.
#include "programs/xsp/verb_recover/recover_print.h"

#include "base/json_write.h"
#include "base/slice.h"
#include "programs/xsp/output.h"

#include <inttypes.h>
#include <stdlib.h>

static struct collect_counts sum_of(const struct recovery *recovery)
{
  struct collect_counts sum = {0};
  for (size_t i = 0; i < recovery->session_count; i++) {
    const struct collect_counts *counts = &recovery->sessions[i].counts;
    sum.spans += counts->spans;
    sum.open += counts->open;
    sum.dropped += counts->dropped + counts->lost;
    sum.overwritten += counts->overwritten;
    sum.torn += counts->torn;
    if (llabs(counts->clock_step_ns) > llabs(sum.clock_step_ns))
      sum.clock_step_ns = counts->clock_step_ns;
  }
  return sum;
}

enum status recover_print_json(const struct recovery *recovery, const char *path, struct error *err)
{
  struct buf text = {0};
  struct json_writer json;
  struct collect_counts sum = sum_of(recovery);
  json_start(&json, &text);
  json_object(&json);
  json_member_string(&json, "output", path);
  json_member_string(&json, "source", recovery->from != NULL ? recovery->source : NULL);
  json_member_int(&json, "committed_spans", (int64_t)recovery->copied);
  json_member_int(&json, "spans", (int64_t)sum.spans);
  json_member_int(&json, "open", (int64_t)sum.open);
  json_member_int(&json, "dropped", (int64_t)sum.dropped);
  json_member_int(&json, "overwritten", (int64_t)sum.overwritten);
  json_member_int(&json, "torn", (int64_t)sum.torn);
  json_object_end(&json);
  buf_text(&text, "\n");
  return output_buf(&text, err);
}

static void report_sessions(struct recovery *recovery, const char *path)
{
  struct collect_counts sum = sum_of(recovery);
  for (size_t i = 0; i < recovery->session_count; i++) {
    struct slice rest = slice_of(collect_messages(recovery->sessions[i].session, &recovery->arena)), line;
    while (slice_cut(&rest, '\n', &line))
      if (line.length > 0)
        output_message("xsp: %.*s", (int)line.length, line.data);
  }
  output_message("xsp: recovered %" PRIu64 " spans (%" PRIu64 " open, %" PRIu64 " dropped, %" PRIu64
                 " overwritten, %" PRIu64 " torn) from %zu session%s into %s",
                 sum.spans, sum.open, sum.dropped, sum.overwritten, sum.torn, recovery->session_count,
                 recovery->session_count == 1 ? "" : "s", path);
  if (recovery->from)
    output_message("xsp: with the %" PRIu64 " spans that %s held already", recovery->copied, recovery->source);
  if (sum.clock_step_ns)
    output_message("xsp: the wall clock was set by %" PRId64 " ns meanwhile; times follow the clock as it was at first",
                   sum.clock_step_ns);
}

void recover_report(struct recovery *recovery, const char *path)
{
  if (recovery->has_left_out)
    output_message("xsp: left out the journal next to %s: it belongs to another user than the file", recovery->source);
  if (recovery->session_count)
    report_sessions(recovery, path);
  else
    output_message("xsp: recovered %" PRIu64 " spans from %s, which stays as it is, into %s", recovery->copied,
                   recovery->source, path);
}
