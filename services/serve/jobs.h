// SPDX-License-Identifier: Apache-2.0
// Programs that run under `xsp run --remote-control` and report to this server: which levels are on there, and which its users want.
// In memory alone: a job reports each second, so a server that starts again knows it soon. Any thread.
#ifndef XSP_SERVE_JOBS_H
#define XSP_SERVE_JOBS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOBS_MOST 1000u
#define JOB_ID_DIGITS 32u
#define JOB_GONE_NS UINT64_C(5000000000) // without a report for so long a job has ended

struct job {
  char id[JOB_ID_DIGITS + 1];
  char name[128], host[128]; // of clients: any bytes, cut
  int64_t process_id;        // of xsp, on its host
  uint32_t possible_mask;    // levels that its owner lets be switched on
  uint32_t level_mask;       // that were on at the last report
  uint32_t wanted_mask;
  uint64_t reported_ns; // monotonic
};

struct jobs;
struct jobs *jobs_new(void);
void jobs_free(struct jobs *jobs); // NULL: nothing

bool job_is_id(const char *text); // lower-case hex digits, as many as a job's number has
// A report as JSON: {"name", "host", "process_id", "possible", "levels"}; others are ignored. NULL, or what is wrong with it.
const char *job_read_report(struct slice text, struct job *ret_job);
// The body of PUT …/levels: {"levels"}. NULL, or what is wrong with it.
const char *job_read_levels(struct slice text, uint32_t *ret_mask);

// Adds or renews the job; what is wanted of a new one is what is on there. False: there are too many.
bool jobs_report(struct jobs *jobs, const struct job *report, uint64_t now_ns, struct job *ret_job);
// Those that have not ended, as they came: at most `most`; returns how many.
size_t jobs_list(struct jobs *jobs, uint64_t now_ns, struct job *ret_jobs, size_t most);
bool jobs_find(struct jobs *jobs, const char *id, uint64_t now_ns, struct job *ret_job);
// False: there is no such job. Levels that it does not offer: ret_job->wanted_mask is another one than `mask` then.
bool jobs_want(struct jobs *jobs, const char *id, uint32_t mask, uint64_t now_ns, struct job *ret_job);

#endif
