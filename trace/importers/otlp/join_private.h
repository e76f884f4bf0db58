// SPDX-License-Identifier: Apache-2.0
// Clocks of the runs that join.c joined: how far each machine's is ahead of the caller's. Inside this folder only.
#ifndef XSP_IMPORTERS_OTLP_JOIN_PRIVATE_H
#define XSP_IMPORTERS_OTLP_JOIN_PRIVATE_H

#include "importers/otlp/join.h"

struct otlp_join_call { // a span and its child in another run
  uint64_t parent_id;
  uint32_t parent_run, child_run; // numbers
  int64_t parent_start_ns, parent_end_ns, child_start_ns, child_end_ns;
  bool may_outlive;
};
// Sets `shift` of joined runs on other machines. Machines are told apart by `clock` of runs; a run without one has its own.
void import_otlp_join_clocks(struct otlp_model *model, const struct otlp_join_call *calls, size_t count);
// Its times were moved, or cannot be compared.
bool import_otlp_join_needs_word(const struct otlp_run *run);
// What was found, in the arena; NULL: the run is on the same machine, or was not joined.
const char *import_otlp_join_clock_text(const struct otlp_run *run, struct arena *arena);

#endif
