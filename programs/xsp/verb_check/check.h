// SPDX-License-Identifier: Apache-2.0
// The parts of `xsp check`, each in the file of its name. Called by verb_check.c.
#ifndef XSP_PROGRAMS_XSP_CHECK_H
#define XSP_PROGRAMS_XSP_CHECK_H

#include "base/vector.h"
#include "experiment/experiment.h"
#include "launch/launch.h"
#include "programs/xsp/verb.h"
#include "report/report.h"

struct check_subject {
  const struct predictor *predictor; // NULL: a tracer
  const char *name;
  const char *path; // of the library that --library names, NULL: search; of the tracer's file
  struct probe_result result;
};
struct check_subjects {
  VECTOR(struct check_subject) list;
};

// What was found, to stdout. with_machine: also what the machine is like; `peaks` may be NULL.
enum status check_print(const struct check_subjects *subjects, enum report_format format, bool with_machine,
                        const struct peaks *peaks, struct error *err) MUST_CHECK;
// Facts of the machine that decide how well xsp can measure here, one a line. `peaks` NULL: not asked for.
void check_machine(struct buf *out, unsigned width, const struct peaks *peaks);
// `xsp check --links FILE`: what trace/correlate/check_links.h found, to stdout. STATUS_NO where links disagree.
enum status check_links_run(const char *path, enum report_format format, struct error *err) MUST_CHECK;
// `xsp check X.yml`: manifests, their models, checksums and frameworks, without measuring. All arguments are manifests. A wrong
// one does not keep the others from being checked; the status is that of the first.
enum status check_manifests(const struct invocation *invocation, enum report_format format,
                            struct error *err) MUST_CHECK;

#endif
