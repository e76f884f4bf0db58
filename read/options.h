// SPDX-License-Identifier: Apache-2.0
// Options of an analysis, by the names that `xsp analyze` has. Inside this room only.
#ifndef XSP_READ_OPTIONS_H
#define XSP_READ_OPTIONS_H

#include "report/report.h"

// `options`: names and values in turn, then NULL; or NULL. Texts are borrowed, lists are in `arena`.
enum status options_read(const char *const *options, struct arena *arena, struct analyze_request *ret_request,
                         struct error *err) MUST_CHECK;

#endif
