// SPDX-License-Identifier: Apache-2.0
// Numbers that printf wrote with %g and its like, in the C locale's form: a traced program's locale may have another decimal
// point, such as a comma. Pure.
#ifndef XSP_BASE_PLAIN_NUMBER_H
#define XSP_BASE_PLAIN_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

// Whatever is no part of a number, of one byte or several, becomes one point. Returns the length.
static inline size_t plain_number(char *text)
{
  size_t length = 0;
  bool is_in_point = false;
  for (const char *at = text; *at != '\0'; at++) {
    bool is_plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || *at == '-' || *at == '+';
    if (is_plain || !is_in_point)
      text[length++] = *at;
    if (!is_plain)
      text[length - 1] = '.';
    is_in_point = !is_plain;
  }
  text[length] = '\0';
  return length;
}

#endif
