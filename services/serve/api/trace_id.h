// SPDX-License-Identifier: Apache-2.0
// Trace ids in files.
#ifndef XSP_SERVE_API_TRACE_ID_H
#define XSP_SERVE_API_TRACE_ID_H

#include "serve/api/catalogue.h"

bool trace_id_is(const char *text); // 32 hex digits
// The file's runs that have the trace id, in any case of letters: an array in `arena`.
enum status trace_id_runs(const struct catalogue_file *file, const char *folder, const char *trace_id,
                          struct arena *arena, int64_t **ret_runs, size_t *ret_count, struct error *err) MUST_CHECK;

#endif
