// SPDX-License-Identifier: Apache-2.0
// Text of unknown origin in HTML and SVG.
#ifndef XSP_BASE_HTML_H
#define XSP_BASE_HTML_H

#include "base/buf.h"

// Appends `text` so that it is text between tags and in quoted attributes; malformed UTF-8 becomes U+FFFD.
void html_put(struct buf *out, const char *text);
// The same, cut between two characters after `most` bytes, with … at its end.
void html_put_short(struct buf *out, const char *text, size_t most);

#endif
