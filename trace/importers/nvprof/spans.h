// SPDX-License-Identifier: Apache-2.0
// From rows of nvprof's tables to spans. Private to this folder. One thread at a time.
#ifndef XSP_IMPORTERS_NVPROF_SPANS_H
#define XSP_IMPORTERS_NVPROF_SPANS_H

#include "base/map.h"
#include "importers/nvprof/table.h"
#include "importers/text_file.h"

struct nvprof_reading {
  struct import *import;
  struct nvprof_table table;
  struct map tracks;    // (run and name, process and context) → track
  struct map processes; // process → its number in this file, from 1
  int64_t process_id;   // of the lines; STORE_NONE: not known
  struct {
    int64_t run_id, last_span_id; // run_id 0: not begun
  } runs[2];                      // of rows with times, and of metrics
};

// A row of the table that has begun: a span, or an event that is skipped. STATUS_INPUT: a time beyond 64 bits.
enum status nvprof_read_row(struct nvprof_reading *reading, const struct slice *cells, struct error *err);

#endif
