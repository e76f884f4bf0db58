// SPDX-License-Identifier: Apache-2.0
// Findings of the user's own: the queries (*.sql) and Python programs (*.py) of a folder, as rows of the table of findings.
#ifndef XSP_PROGRAMS_XSP_FINDINGS_OWN_H
#define XSP_PROGRAMS_XSP_FINDINGS_OWN_H

#include "report/report.h"
#include "store/store.h"

struct findings_folder {
  const char *path;   // NULL: there are none
  unsigned timeout_s; // of each query and program; 0: none
};

// Runs the regular files of `folder` by name on an open trace and adds what they find to `table`, whose rows are then in order
// again. Programs are given the store's path. The first that fails is the error. Texts live in `arena`.
enum status findings_own_add(const struct findings_folder *folder, struct store *store, struct table *table,
                             struct arena *arena, struct error *err) MUST_CHECK;

#endif
