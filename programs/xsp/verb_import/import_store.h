// SPDX-License-Identifier: Apache-2.0
// What `xsp import` shares with verbs that read another profiler's file at once: filling a store, and signals meanwhile.
#ifndef XSP_PROGRAMS_XSP_IMPORT_STORE_H
#define XSP_PROGRAMS_XSP_IMPORT_STORE_H

#include "programs/xsp/verb_import/import_print.h"

// The first Ctrl-C, hang-up or plain kill ends the import in good order, also where it waits for a pipe.
void import_store_catch_signals(void);
// After an import that failed: ends xsp by the signal that ended the import, if one did.
void import_store_leave_interrupted(void);

// Imports, correlates and commits; store_finish is left to the caller. `options`: its cancel is set. `arena`: of the report.
// STATUS_SYSTEM where a signal came.
enum status import_store_fill(const char *const *paths, size_t count, struct import_options *options,
                              struct store *store, struct arena *arena, struct import_report *ret_report,
                              struct error *err) MUST_CHECK;

// Imports one file, with the defaults, into a file without a name that ends with *ret_store. `shown`: its name in messages.
enum status import_store_open_as(const char *path, const char *shown, struct store **ret_store,
                                 struct error *err) MUST_CHECK;
// The same, with a message on stderr.
enum status import_store_open(const char *path, struct store **ret_store, struct error *err) MUST_CHECK;

#endif
