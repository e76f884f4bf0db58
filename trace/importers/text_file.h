// SPDX-License-Identifier: Apache-2.0
// What importers of text files share: lines, cells of CSV, decimal times, numbers. Inside this room only.
#ifndef XSP_IMPORTERS_TEXT_FILE_H
#define XSP_IMPORTERS_TEXT_FILE_H

#include "base/buf.h"
#include "importers/importer.h"

// Hands each line that is not empty to `take`: valid UTF-8, without its end ("\n" or "\r\n"), which `take` may change.
// STATUS_INPUT: a line of more than 1 MiB.
typedef enum status import_line_function(void *context, struct buf *line, struct error *err);
enum status import_each_line(struct import *import, import_line_function *take, void *context,
                             struct error *err) MUST_CHECK;

// Cuts a line of CSV into at most `most` cells, without their quotes, in place. Returns how many there are; 0: it is not a
// row of CSV, or has more.
size_t import_csv_cut(char *line, size_t length, struct slice *cells, size_t most);

// A decimal number; the time is number × 10^exponent µs.
struct import_decimal {
  struct slice number;
  int exponent;
};
// Start and duration of a span, computed exactly. *ret_has_times false: one is missing or the duration is negative, and the
// event is skipped. STATUS_INPUT: a time is beyond 64 bits of nanoseconds.
enum status import_decimal_times(struct import *import, struct import_decimal start, struct import_decimal duration,
                                 struct store_span *span, bool *ret_has_times, struct error *err) MUST_CHECK;

// The exponent of a unit of time for struct import_decimal: ns, us, ms, s. False: it is none of them.
bool import_time_unit(struct slice unit, int *ret_exponent);

// A finite number at the beginning of a cell; *ret_rest is what comes after it.
bool import_number(struct slice cell, double *ret_number, struct slice *ret_rest);

// A whole number as an integer, another as a double, NaN as no tag.
void import_tag_number(struct import *import, int64_t span_id, uint32_t key, double number);

// import_string of bytes of unknown origin: what is no UTF-8 becomes U+FFFD.
uint32_t import_repaired(struct import *import, struct slice text);

#endif
