// SPDX-License-Identifier: Apache-2.0
// Errors of the store: SQLite's codes as statuses, with advice where there is some.
#ifndef XSP_STORE_PROBLEM_H
#define XSP_STORE_PROBLEM_H

#include "base/error.h"

struct sqlite3;

// From the handle's last error. Broken file: STATUS_INPUT; disk, permission, lock: STATUS_SYSTEM; memory: STATUS_MEMORY.
enum status problem_sqlite(struct error *err, const char *what, const char *path, struct sqlite3 *db);
__attribute__((format(printf, 3, 4))) enum status problem_broken(struct error *err, const char *path,
                                                                 const char *why_format, ...);

#endif
