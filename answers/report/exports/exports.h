// SPDX-License-Identifier: Apache-2.0
// The exports of this room, for the table in exports.c.
#ifndef XSP_REPORT_EXPORTS_EXPORTS_H
#define XSP_REPORT_EXPORTS_EXPORTS_H

#include "report/report.h"

extern const struct report_export report_export_perfetto;
extern const struct report_export report_export_chrome;
extern const struct report_export report_export_otlp;
extern const struct report_export report_export_otlp_proto;
extern const struct report_export report_export_otlp_profiles;
extern const struct report_export report_export_sqlite;
extern const struct report_export report_export_csv;
extern const struct report_export report_export_speedscope;
extern const struct report_export report_export_folded;
extern const struct report_export report_export_pprof;

enum status folded_difference_write(const struct compare_answer *answer, const char *path,
                                    struct error *err) MUST_CHECK;

#endif
