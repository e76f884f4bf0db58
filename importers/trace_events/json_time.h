// SPDX-License-Identifier: Apache-2.0
// Times as traces write them: decimal microseconds with any number of digits, read exactly, without doubles. Pure.
#ifndef XSP_IMPORTERS_TRACE_EVENTS_JSON_TIME_H
#define XSP_IMPORTERS_TRACE_EVENTS_JSON_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Both texts must be JSON numbers. start = ⌊start µs⌋ and end = ⌊start µs + duration µs⌋ in ns, computed exactly;
// `duration` NULL: end = start. False where one does not fit an int64.
bool json_time(const char *start, size_t start_length, const char *duration, size_t duration_length,
               int64_t *ret_start_ns, int64_t *ret_end_ns);

// Whether all of the text is one JSON number.
bool json_time_is_number(const char *text, size_t length);

#endif
