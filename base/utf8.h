// SPDX-License-Identifier: Apache-2.0
// What is well-formed UTF-8: one answer for all that reads or writes text of unknown origin.
#ifndef XSP_BASE_UTF8_H
#define XSP_BASE_UTF8_H

#include <stddef.h>

// Bytes of the well-formed sequence at `text`, of which `left` bytes may be read; 0: malformed (overlong, surrogate, cut,
// beyond U+10FFFF).
size_t utf8_sequence(const unsigned char *text, size_t left);

#endif
