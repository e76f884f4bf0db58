// SPDX-License-Identifier: Apache-2.0
// The value of `xsp report --range`.
#ifndef XSP_PROGRAMS_REPORT_RANGE_H
#define XSP_PROGRAMS_REPORT_RANGE_H

#include "report/report.h"

// FROM-TO, each a number followed by ns, us, µs, ms, s or min; 0 needs no unit. One of both may be left out: up to the
// end, from the start. STATUS_USE where the text is anything else.
enum status report_range_parse(const char *text, struct page_range *ret_range, struct error *err) MUST_CHECK;

#endif
