// SPDX-License-Identifier: Apache-2.0
// Text in a terminal, measured in columns. Names come from traces: control bytes, invalid UTF-8, and characters that
// are invisible or change the direction of writing are escaped (\xNN, \u{NNNN}), so that they never control the
// terminal.
#ifndef XSP_REPORT_DISPLAY_H
#define XSP_REPORT_DISPLAY_H

#include "base/buf.h"

#include <stdint.h>

// Bytes of the well-formed UTF-8 sequence at `text` and its code point; 0 where it is malformed.
size_t display_decode(const char *text, size_t length, uint32_t *ret_code_point);
// Appends `text`, escaped.
void display_escape(struct buf *out, const char *text, size_t length);
// Columns of escaped text.
size_t display_columns(const char *text, size_t length);
// Appends escaped text, cut in the middle ("resnet…Conv_3") to at most `columns` (>= 1).
void display_cut(struct buf *out, const char *text, size_t length, size_t columns);
// Appends a list of items with ", " between them: those of its first bytes, then how many more there are.
void display_list(struct buf *out, const char *text);
// Appends `text`, escaped, broken between words at `width` columns (0: unlimited); further lines begin with `indent`
// spaces. `column` is where the first word starts. Ends with a newline.
void display_wrap(struct buf *out, const char *text, size_t column, size_t indent, size_t width);

#endif
