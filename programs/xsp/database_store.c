// SPDX-License-Identifier: Apache-2.0
// A database's reply becomes a temporary file of OTLP, which the importer reads. Called by reader.c.
#include "programs/xsp/database_store.h"

#include "base/arena.h"
#include "base/scoped.h"
#include "clickhouse/clickhouse.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_import/import_store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum status open_nameless(int *ret_file, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  const char *folder = getenv("TMPDIR");
  char *path = arena_format(&arena, "%s/xsp-reply-XXXXXX", folder != NULL && folder[0] != 0 ? folder : "/tmp");
  *ret_file = mkostemp(path, O_CLOEXEC);
  enum status status = STATUS_OK;
  if (*ret_file < 0)
    status = error_set_errno(err, STATUS_SYSTEM, "cannot keep a reply", path, "TMPDIR=FOLDER");
  else
    unlink(path);
  return status;
}

enum status database_store_open(const char *address, enum trace_detail detail, const char *layer_mode,
                                struct store **ret_store, struct error *err)
{
  struct clickhouse_report report;
  char path[64];
  int file SCOPED(scoped_close) = -1;
  XSP_TRY(open_nameless(&file, err));
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  XSP_TRY(clickhouse_fetch(address, detail, layer_mode, file, &report, err));
  enum status status = import_store_open_as(path, address, ret_store, err);
  if (status == STATUS_INPUT)
    error_prefix(err, "the database's reply: ");
  if (status == STATUS_OK)
    output_note("xsp: %s: %" PRId64 " spans of %" PRId64 " runs; %" PRId64 " bytes came back", address, report.spans,
                report.runs, report.bytes);
  return status;
}
