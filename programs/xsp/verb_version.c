// SPDX-License-Identifier: Apache-2.0
// xsp version: which program this is, and which formats it speaks.
#include "base/json_write.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb.h"
#include "store/store.h"

#include <sqlite3.h>

static enum status run(const struct invocation *invocation, struct error *err)
{
  enum report_format format;
  XSP_TRY(verb_reader_format(invocation, &format, err));
  struct buf out = {0};
  if (format == REPORT_JSON) {
    struct json_writer json;
    json_start(&json, &out);
    json_object(&json);
    json_member_string(&json, "version", XSP_VERSION);
    json_member_int(&json, "format_version", STORE_FORMAT_VERSION);
    json_member_int(&json, "abi_version", XSP_ABI_VERSION);
    json_member_string(&json, "sqlite_version", sqlite3_libversion());
    json_object_end(&json);
    buf_text(&out, "\n");
  } else if (report_format_is_csv(format)) {
    buf_format(&out, "version,format_version,abi_version,sqlite_version\r\n%s,%d,%d,%s\r\n", XSP_VERSION,
               STORE_FORMAT_VERSION, XSP_ABI_VERSION, sqlite3_libversion());
  } else {
    buf_format(&out, "xsp %s (file format %d, tracer ABI %d, SQLite %s)\n", XSP_VERSION, STORE_FORMAT_VERSION,
               XSP_ABI_VERSION, sqlite3_libversion());
  }
  return output_buf(&out, err);
}

const struct verb verb_version = {
    .name = "version",
    .summary = "print the version of xsp and of the formats it speaks",
    .synopsis = "[OPTION...]",
    .description = "Prints the program's version, the version of the .xsp files it writes (older ones open too) and of "
                   "the tracer interface.",
    .is_reader = true,
    .see_also = "check",
    .run = run,
};
