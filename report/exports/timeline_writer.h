// SPDX-License-Identifier: Apache-2.0
// What the exports of timelines share: reading the store run by run, and the output file. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_TIMELINE_WRITER_H
#define XSP_REPORT_EXPORTS_TIMELINE_WRITER_H

#include "report/exports/file.h"
#include "report/exports/timeline.h"

struct timeline_writer { // the first member of an export's own struct, which starts as {0}
  struct timeline timeline;
  struct timeline_run run; // the one that is written
  struct export_file file;
};
struct timeline_parts { // an export's functions; begin and end may be NULL
  void (*begin)(struct timeline_writer *writer);
  void (*put_run)(struct timeline_writer *writer);
  void (*end)(struct timeline_writer *writer);
};
// Writes begin, all runs and end to a new file at `path`.
enum status timeline_write(struct timeline_writer *writer, const struct timeline_parts *parts, struct store *store,
                           const char *path, struct error *err) MUST_CHECK;

#endif
