// SPDX-License-Identifier: Apache-2.0
// Links that a source recorded, compared with those that are found without them.
#ifndef XSP_CORRELATE_CHECK_LINKS_H
#define XSP_CORRELATE_CHECK_LINKS_H

#include "correlate/correlate.h"

enum link_kind {
  LINK_PARENT,   // the parent that the source named, or said that there is none
  LINK_OPERATOR, // the operator that has the execution's external id (PyTorch), against its nearest layer
  LINK_KINDS,
};
enum link_outcome { LINK_AGREES, LINK_DISAGREES, LINK_ONLY_RECORDED, LINK_ONLY_OURS, LINK_ABSENT, LINK_OUTCOMES };
extern const char *const link_kind_names[LINK_KINDS];      // "parents", "operators"
extern const char *const link_outcome_keys[LINK_OUTCOMES]; // "agree", …

#define LINK_EXAMPLES 5u // disagreements named for each run and kind
struct link_example {
  int64_t span_id, recorded_id, our_id;
  uint32_t name, recorded_name, our_name; // string ids
  unsigned level, basis;
};
struct run_links { // of one kind, in one run
  int64_t run_id;
  enum link_kind kind;
  size_t count[XSP_LEVEL_COUNT][BASIS_COUNT][LINK_OUTCOMES]; // by level of the span, and basis of what was found
  struct link_example example[LINK_EXAMPLES];
  size_t example_count;
  // LINK_OPERATOR: external ids that are only correlation ids name no operator, but may hit one by accident.
  bool is_trap;
  size_t with_both, same_number;          // executions with both numbers; where they are equal
  int64_t recorded_ns, our_ns, kernel_ns; // time of kernels in the recorded operator, in ours, in all
};
struct check_links {
  struct run_links *links; // in the arena
  size_t count;
  size_t total[LINK_OUTCOMES]; // without traps
};

enum status link_check_compare(struct store *store, struct arena *arena, struct check_links *ret_links,
                               struct error *err) MUST_CHECK;
size_t link_check_sum(const struct run_links *links, enum link_outcome outcome);

#endif
