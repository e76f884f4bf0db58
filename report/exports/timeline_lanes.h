// SPDX-License-Identifier: Apache-2.0
// Sorts a run's spans into lanes, its tags by span and its asynchronous spans by correlation id. Part of timeline.h.
#ifndef XSP_REPORT_EXPORTS_TIMELINE_LANES_H
#define XSP_REPORT_EXPORTS_TIMELINE_LANES_H

#include "report/exports/timeline.h"

enum status timeline_lay_lanes(struct arena *arena, struct timeline_run *run, struct error *err) MUST_CHECK;

#endif
