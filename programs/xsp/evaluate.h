// SPDX-License-Identifier: Apache-2.0
// What `xsp evaluate` prints. Called by verb_evaluate.c.
#ifndef XSP_PROGRAMS_XSP_EVALUATE_H
#define XSP_PROGRAMS_XSP_EVALUATE_H

#include "experiment/experiment.h"
#include "report/report.h"

// The tables to stdout in `format`: accuracy and times of each model; with_items: what each made of each picture.
enum status evaluate_print(const struct evaluation_options *options, const struct evaluation *evaluation,
                           bool with_items, enum report_format format, struct error *err) MUST_CHECK;

#endif
