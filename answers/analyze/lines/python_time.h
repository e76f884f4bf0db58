// SPDX-License-Identifier: Apache-2.0
// How long observations are in Python, by the samples of their own threads.
#ifndef XSP_ANALYZE_LINES_PYTHON_TIME_H
#define XSP_ANALYZE_LINES_PYTHON_TIME_H

#include "analyze/view.h"

struct python_time { // NaN: no sample is in an observation
  double ms;         // mean over the kept observations
  double error_ms;   // of sampling, half of the 95 % interval
};
enum status python_time_load(struct question *question, const struct view_set *set, struct python_time *ret_time,
                             struct error *err) MUST_CHECK;

#endif
