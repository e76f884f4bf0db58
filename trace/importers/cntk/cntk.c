// SPDX-License-Identifier: Apache-2.0
// Detail files of CNTK's profiler (…_detail_….csv, before CNTK 2.5): one event of a thread a line. Later versions write Chrome's form. See
// docs/importers.md.
//
//      EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)
//      "_Minibatch Iteration",4711,1500000000000.12500000,1500000000010.50000000
#include "base/map.h"
#include "importers/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MILLISECONDS 3 // as a power of ten of µs
#define UNIX_NS                                                                                                        \
  1000000000000000000 // of 2001: the clock counts from 1970 on Linux, from the start of the machine on Windows
static const char header[] = "EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)";

static int recognize(struct slice head, bool is_all)
{
  return slice_starts_with(head, header) ? 3 : 0;
}

struct reading {
  struct import *import;
  struct map tracks; // thread → track
  int64_t last_span_id;
  bool is_after_header, is_unix;
};

static enum status find_track(struct reading *reading, int64_t thread, uint32_t *ret_track_id, struct error *err)
{
  bool is_new;
  uint64_t *known = map_at(&reading->tracks, map_number((uint64_t)thread), &is_new);
  if (is_new) {
    char name[64];
    struct store_track track = IMPORT_NO_PLACE;
    snprintf(name, sizeof name, "thread %" PRId64, thread);
    track.name = name;
    track.thread_id = thread;
    XSP_TRY(import_track(reading->import, &track, ret_track_id, err));
    *known = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*known;
  return STATUS_OK;
}

// Underscores before a name show how deep the writer expects it: one is a step of training, two are phases of it.
static void make_span(struct import *import, struct slice name, struct store_span *span)
{
  bool is_step = slice_is(name, "_Minibatch Iteration"), is_phase = slice_starts_with(name, "__");
  while (slice_starts_with(name, "_"))
    name = slice_after(name, 1);
  span->name = import_slice(import, name);
  span->level = is_step || is_phase ? XSP_LEVEL_MODEL : XSP_LEVEL_APPLICATION;
  span->flags = is_step ? STORE_SPAN_STEP : 0;
  span->kind = XSP_KIND_SYNC;
}

static enum status read_line(void *context, struct buf *line, struct error *err)
{
  struct reading *reading = context;
  struct import *import = reading->import;
  struct import_decimal zero = {slice_of("0"), 0};
  struct store_span span = {0}, end = {0};
  struct slice cells[4];
  bool has_begin = false, has_end = false;
  if (!reading->is_after_header) {
    reading->is_after_header = true;
    return STATUS_OK;
  }
  if (import_csv_cut(line->data, line->length, cells, 4) != 4) {
    import_skip(import, "not an event");
    return STATUS_OK;
  }
  XSP_TRY(import_decimal_times(import, (struct import_decimal){cells[2], MILLISECONDS}, zero, &span, &has_begin, err));
  if (has_begin)
    XSP_TRY(import_decimal_times(import, (struct import_decimal){cells[3], MILLISECONDS}, zero, &end, &has_end, err));
  if (!has_end) // counted by then
    return STATUS_OK;
  if (end.start_ns < span.start_ns) {
    import_skip(import, "negative duration");
    return STATUS_OK;
  }
  make_span(import, cells[0], &span);
  span.duration_ns = end.start_ns - span.start_ns;
  span.span_id = ++reading->last_span_id;
  reading->is_unix |= span.start_ns > UNIX_NS;
  XSP_TRY(find_track(reading, strtoll(cells[1].data, NULL, 10), &span.track_id, err));
  return import_span(import, &span, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  struct store_run run = {0};
  int64_t run_id = import_run(import, &run);
  import_framework(import, "cntk", NULL);
  enum status status = import_each_line(import, read_line, &reading, err);
  if (status == STATUS_OK && reading.is_unix) {
    run.run_id = run_id;
    run.epoch_is_unix = true;
    import_run_set(import, &run);
  }
  map_done(&reading.tracks);
  return status;
}

const struct importer importer_cntk = {
    .name = "cntk",
    .summary = "detail file of CNTK's profiler, as CSV",
    .recognize = recognize,
    .read = read_file,
};
