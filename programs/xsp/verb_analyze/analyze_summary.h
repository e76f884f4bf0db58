// SPDX-License-Identifier: Apache-2.0
// `xsp analyze FILE` without an analysis: the first rows of three, and the list of all. Called by verb_analyze.c.
#ifndef XSP_PROGRAMS_XSP_ANALYZE_SUMMARY_H
#define XSP_PROGRAMS_XSP_ANALYZE_SUMMARY_H

#include "analyze/analyze.h"
#include "report/report.h"

// To stdout: the causes (not as CSV), A1, A2 and A10 where the files have them, the last two with request->top rows (0: five),
// then id, title and needed levels of every analysis. JSON: {"causes": [{"experiment", "rule", "text"}], "A1": …, "A2": …,
// "A10": …, "findings": …, "analyses": [{"id", "title", "needs"}]}, an array of tables where there are several experiments.
// `path` is the first file's, for the proposal on stderr.
enum status analyze_summary(struct store *const *stores, size_t count, const struct analyze_request *request,
                            enum report_format format, const char *path, struct error *err) MUST_CHECK;

#endif
