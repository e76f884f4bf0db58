// SPDX-License-Identifier: Apache-2.0
// What `xsp check` found, and how it is printed.
#ifndef XSP_PROGRAMS_XSP_CHECK_PRINT_H
#define XSP_PROGRAMS_XSP_CHECK_PRINT_H

#include "experiment/experiment.h"
#include "launch/launch.h"
#include "report/report.h"

enum subject_kind { SUBJECT_PREDICTOR, SUBJECT_TRACER };

struct check_subject {
  enum subject_kind kind;
  bool has_given_library; // by option or environment
  struct probe_result result;
};

struct check_subjects {
  struct check_subject *items; // malloc'ed
  size_t count;
};

// To stdout. with_machine: also what the machine is like; `peaks` may be NULL.
enum status check_print(const struct check_subjects *subjects, enum report_format format, bool with_machine,
                        const struct peaks *peaks, struct error *err) MUST_CHECK;

#endif
