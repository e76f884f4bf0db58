// SPDX-License-Identifier: Apache-2.0
// What an import made of its files, counted from the correlated store: spans by level, parents by basis, and the kernels
// that belong to nothing, by reason. Called by verb_import.c and programs/xsp/verb_run/run_print.c. Prints nothing.
#ifndef XSP_CORRELATE_ACCOUNT_H
#define XSP_CORRELATE_ACCOUNT_H

#include "store/store.h"

enum unattributed_reason { // why a kernel has no parent
  UNATTRIBUTED_NO_LAUNCH,  // its launch was not recorded
  UNATTRIBUTED_OUTSIDE,    // its launch (or itself, where it ran synchronously) lies in no range
  UNATTRIBUTED_AMBIGUOUS,  // two ranges that cross could be its parent
  UNATTRIBUTED_REASONS,
};
extern const char *const unattributed_names[UNATTRIBUTED_REASONS];

struct import_account {
  uint64_t spans_by_level[XSP_LEVEL_COUNT];
  uint64_t parents[BASIS_COUNT]; // by basis
  uint64_t kernels;              // spans of category kernel but launches
  uint64_t unattributed[UNATTRIBUTED_REASONS];
  uint64_t unattributed_count; // of all three together
  int64_t unattributed_ns;
  int64_t kernels_ns;
  uint64_t open; // spans that never finished
};
// All runs of a store that was correlated.
enum status correlate_account(struct store *store, struct import_account *ret_account, struct error *err) MUST_CHECK;

// One run of `xsp run`: the span of the program itself (category program) encloses what lies in no range of the program, and
// does not make it attributed.
enum status correlate_account_run(struct store *store, int64_t run_id, struct import_account *ret_account,
                                  struct error *err) MUST_CHECK;

#endif
