// SPDX-License-Identifier: Apache-2.0
// Lines, cells and numbers of text files; see text_file.h. Called by importers of CSV, of logs and of SQLite.
#include "importers/text_file.h"

#include "base/utf8.h"
#include "importers/trace_events/trace_events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES_MOST ((size_t)1 << 20)
#define TIME_BYTES_MOST 40

// ---- lines -----------------------------------------------------------------------------------------------------------
static enum status read_lines(struct import *import, struct buf *line, import_line_function *take, void *context,
                              struct error *err)
{
  struct input *input = import->input;
  while (input->at != input->end || !input->is_last) {
    size_t rest = (size_t)(input->end - input->at);
    const char *end = memchr(input->at, '\n', rest);
    if (end == NULL && !input->is_last && rest < LINE_BYTES_MOST) {
      XSP_TRY(input_more(input, err));
      continue;
    }
    size_t length = end != NULL ? (size_t)(end - input->at) : rest;
    if (length >= LINE_BYTES_MOST)
      return import_broken(import, err, input_offset(input, input->at), "a line is too long");
    buf_clear(line);
    buf_utf8(line, input->at, length - (length > 0 && input->at[length - 1] == '\r'));
    input->at += length + (end != NULL);
    if (line->length > 0)
      XSP_TRY(take(context, line, err));
  }
  return STATUS_OK;
}

enum status import_each_line(struct import *import, import_line_function *take, void *context, struct error *err)
{
  struct buf line SCOPED(buf_done) = {0};
  return read_lines(import, &line, take, context, err);
}

size_t import_csv_cut(char *line, size_t length, struct slice *cells, size_t most)
{
  size_t count = 0;
  for (char *at = line, *end = line + length;; at++) {
    if (count == most)
      return 0;
    char *start = at, *to = at;
    bool is_quoted = at < end && *at == '"';
    if (is_quoted) {
      start = to = ++at;
      for (; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++) {
        at += *at == '"';
        *to++ = *at;
      }
      if (at++ == end) // the closing quote is missing
        return 0;
    } else {
      while (at < end && *at != ',')
        *to++ = *at++;
    }
    cells[count++] = (struct slice){start, (size_t)(to - start)};
    if (at == end)
      return count;
    if (*at != ',')
      return 0;
  }
}

// ---- times -----------------------------------------------------------------------------------------------------------
// In microseconds, as a text for json_time.
static bool decimal_text(struct import_decimal decimal, char text[TIME_BYTES_MOST])
{
  struct slice number = decimal.number;
  size_t mantissa = 0;
  int64_t exponent = 0;
  if (number.length > TIME_BYTES_MOST - 10 || !json_time_is_number(number.data, number.length))
    return false;
  while (mantissa < number.length && (number.data[mantissa] | ' ') != 'e')
    mantissa++;
  if (mantissa < number.length) { // as C's %g writes small numbers: 6.10352e-05
    struct slice rest = slice_after(number, mantissa + 1);
    if (rest.data[0] == '+')
      rest = slice_after(rest, 1);
    if (!slice_int64(rest, &exponent) || exponent < -9999 || exponent > 9999)
      return false;
  }
  snprintf(text, TIME_BYTES_MOST, "%.*se%d", (int)mantissa, number.data, decimal.exponent + (int)exponent);
  return true;
}

enum status import_decimal_times(struct import *import, struct import_decimal start, struct import_decimal duration,
                                 struct store_span *span, bool *ret_has_times, struct error *err)
{
  char start_text[TIME_BYTES_MOST], duration_text[TIME_BYTES_MOST];
  int64_t end_ns;
  *ret_has_times = false;
  if (!decimal_text(start, start_text) || !decimal_text(duration, duration_text)) {
    import_skip(import, "no times");
  } else if (!json_time(start_text, strlen(start_text), duration_text, strlen(duration_text), &span->start_ns,
                        &end_ns) ||
             __builtin_sub_overflow(end_ns, span->start_ns, &span->duration_ns)) {
    return import_broken(import, err, input_offset(import->input, import->input->at),
                         "a time before here is beyond 64 bits of nanoseconds");
  } else if (span->duration_ns < 0) {
    import_skip(import, "negative duration");
  } else {
    *ret_has_times = true;
  }
  return STATUS_OK;
}

bool import_time_unit(struct slice unit, int *ret_exponent)
{
  static const char *const units[] = {"ns", "us", "ms", "s"};
  for (int i = 0; i < 4; i++)
    if (slice_is(unit, units[i])) {
      *ret_exponent = 3 * i - 3;
      return true;
    }
  return false;
}

// ---- numbers ---------------------------------------------------------------------------------------------------------
bool import_number(struct slice cell, double *ret_number, struct slice *ret_rest)
{
  char text[64];
  size_t length = 0;
  while (length < cell.length && memchr("+-.0123456789eE", cell.data[length], 15) != NULL)
    length++;
  if (length >= sizeof text || !json_time_is_number(cell.data, length))
    return false;
  memcpy(text, cell.data, length);
  text[length] = 0;
  *ret_number = strtod(text, NULL);
  *ret_rest = slice_after(cell, length);
  return isfinite(*ret_number);
}

void import_tag_number(struct import *import, int64_t span_id, uint32_t key, double number)
{
  if (number == rint(number) && fabs(number) < 0x1p53)
    import_tag_int(import, span_id, key, (int64_t)number);
  else if (isfinite(number))
    import_tag_double(import, span_id, key, number);
}

uint32_t import_repaired(struct import *import, struct slice text)
{
  if (utf8_is_valid(text.data, text.length))
    return import_slice(import, text);
  struct buf clean SCOPED(buf_done);
  buf_init(&clean, 3 * text.length + 1);
  buf_utf8(&clean, text.data, text.length);
  return import_string(import, clean.data, clean.length);
}
