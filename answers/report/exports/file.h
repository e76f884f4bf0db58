// SPDX-License-Identifier: Apache-2.0
// An output file that is written in one pass with bounded memory. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_FILE_H
#define XSP_REPORT_EXPORTS_FILE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/headway.h"

#include <stdio.h>

struct store;
struct export_file {
  struct buf out; // append here, then flush
  const char *path;
  FILE *stream;
  enum status status;             // of the first write that failed; later ones do nothing
  struct error *err;              // borrowed, gets that failure
  bool is_scratch;                // it can be made again: it need not be on the disk
  struct headway_watcher watcher; // of spans
  uint64_t spans, all_spans;      // written, of how many
};

// Makes the new file `path`, or writes to stdout where it is "-". *ret_file needs export_file_close even after an error.
enum status export_file_open(const char *path, struct export_file *ret_file, struct error *err) MUST_CHECK;
// Makes the new, empty file `path` for a writer of its own.
enum status export_file_make(const char *path, struct error *err) MUST_CHECK;
// Call often: writes `out` once it is a quarter of a megabyte long.
void export_file_flush(struct export_file *file);
// Counts spans as written; reports to the watcher every 4096.
void export_file_spans(struct export_file *file, size_t count);
// The number of spans in the store, where somebody watches.
enum status export_file_count_spans(struct export_file *file, struct store *store, struct error *err) MUST_CHECK;
// Writes what `out` holds, then `buf`; clears both.
void export_file_put(struct export_file *file, struct buf *buf);
// Writes what `out` holds, then these bytes.
void export_file_put_bytes(struct export_file *file, const void *bytes, size_t length);
// Closes the file. Where `status` is STATUS_OK and no write failed, everything is on the disk before. Returns
// `status` or the first failure.
enum status export_file_close(struct export_file *file, enum status status) MUST_CHECK;

#endif
