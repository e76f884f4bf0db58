// SPDX-License-Identifier: Apache-2.0
// An output file that is written in one pass with bounded memory. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_FILE_H
#define XSP_REPORT_EXPORTS_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdio.h>

struct export_file {
  const char *path;
  FILE *stream;
};

enum status export_file_open(const char *path, struct export_file *ret_file, struct error *err) MUST_CHECK;
enum status export_file_write(struct export_file *file, const void *bytes, size_t length, struct error *err) MUST_CHECK;
// Writes the buf and clears it; a buf that failed is STATUS_MEMORY.
enum status export_file_flush_buf(struct export_file *file, struct buf *buf, struct error *err) MUST_CHECK;
// Writes what is left to the disk and closes. Call once; on an earlier error use export_file_abandon.
enum status export_file_close(struct export_file *file, struct error *err) MUST_CHECK;
void export_file_abandon(struct export_file *file); // closes; safe on {0}

#endif
