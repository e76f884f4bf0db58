// SPDX-License-Identifier: Apache-2.0
// `xsp check --links FILE`: what correlate/check_links.h found, printed.
#ifndef XSP_PROGRAMS_XSP_CHECK_LINKS_H
#define XSP_PROGRAMS_XSP_CHECK_LINKS_H

#include "report/report.h"

// STATUS_NO where links disagree.
enum status check_links_run(const char *path, enum report_format format, struct error *err) MUST_CHECK;

#endif
