// SPDX-License-Identifier: Apache-2.0
// The account of an import as text and as JSON. Called by verb_import.c.
#ifndef XSP_PROGRAMS_XSP_IMPORT_PRINT_H
#define XSP_PROGRAMS_XSP_IMPORT_PRINT_H

#include "correlate/account.h"
#include "importers/import.h"

struct import_report {
  const struct import_file *files;
  size_t file_count;
  struct import_account account;
  const char *output; // the file that was written
};
// To stdout.
enum status import_print(const struct import_report *report, bool is_json, struct error *err) MUST_CHECK;

#endif
