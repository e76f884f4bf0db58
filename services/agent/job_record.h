// SPDX-License-Identifier: Apache-2.0
// What an agent keeps of an evaluation on disk, as JSON, so that its queue outlives it. Pure; fuzzed.
#ifndef XSP_AGENT_JOB_RECORD_H
#define XSP_AGENT_JOB_RECORD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdint.h>

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELLED };
extern const char *const job_state_names[]; // "queued" …
bool job_state_read(const char *name, enum job_state *ret_state);

struct job_record {
  uint64_t number;  // in the order in which they came, from 1
  const char *user; // "": the owner
  enum job_state state;
  uint64_t starts;     // how often it was started
  const char *error;   // of JOB_FAILED; else NULL
  const char *request; // the body of POST /evaluations
};

void job_record_write(const struct job_record *record, struct buf *out);
// Texts in `arena`. NULL, or what is wrong.
const char *job_record_read(struct slice text, struct arena *arena, struct job_record *ret_record);

#endif
