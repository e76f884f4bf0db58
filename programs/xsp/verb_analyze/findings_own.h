// SPDX-License-Identifier: Apache-2.0
// Findings of the user's own: the queries (*.sql) and Python programs (*.py) of a folder, as rows of the table of findings.
#ifndef XSP_PROGRAMS_XSP_FINDINGS_OWN_H
#define XSP_PROGRAMS_XSP_FINDINGS_OWN_H

#include "report/report.h"
#include "store/store.h"

struct findings_folder {
  const char *path;        // NULL: there are none
  unsigned timeout_s;      // of each query and program; 0: none
  const char *const *only; // of --only, built-in ones among them; only_count 0: all of the folder
  size_t only_count;
};

// Runs the regular files of `folder` by name on an open trace. What they find goes to the tables of findings of the trace's
// experiments (at least one): a row to that of its run, else to the first; rows are then in order again. Programs are given the
// store's path. The first that fails is the error. Texts live in `arena`.
enum status findings_own_add(const struct findings_folder *folder, struct store *store, struct table *tables,
                             size_t table_count, struct arena *arena, struct error *err) MUST_CHECK;
// Whether the folder has a file of this name, which lacks .sql and .py.
bool findings_own_has(const char *folder, const char *name);

#endif
