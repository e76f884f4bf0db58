// SPDX-License-Identifier: Apache-2.0
// Bytes as hex digits and back. Allocates nothing; may be used in a traced process.
#ifndef XSP_BASE_HEX_H
#define XSP_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>

int hex_digit(char digit); // 0 to 15, either case; -1: not a hex digit
// Writes 2 * `count` lower-case digits, without a terminating zero; returns their end.
char *hex_encode(char *text, const void *bytes, size_t count);
// Reads 2 * `count` digits of either case; false where one is not a digit, and nothing after it is read.
bool hex_decode(const char *text, void *bytes, size_t count);

#endif
