// SPDX-License-Identifier: Apache-2.0
// What `xsp profile` shows at once: throughput, overhead per level, slowest layers, share by type, noise.
#ifndef XSP_PROGRAMS_XSP_PROFILE_PRINT_H
#define XSP_PROGRAMS_XSP_PROFILE_PRINT_H

#include "experiment/experiment.h"
#include "report/report.h"

// Writes to stdout in `format`; has_next: also what to do next, on stderr.
enum status profile_summary(const struct profile_options *options, const struct profile_result *result,
                            enum report_format format, bool has_next, struct error *err) MUST_CHECK;

#endif
