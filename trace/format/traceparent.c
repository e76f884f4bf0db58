// SPDX-License-Identifier: Apache-2.0
// Reads and writes traceparent; see traceparent.h.
#include "format/traceparent.h"

#include "base/hex.h"

#include <xsp/span.h>

#include <string.h>

#define LENGTH (XSP_TRACEPARENT_SIZE - 1u)

// Both headers are lower case.
static bool read_lower(const char *text, uint8_t *bytes, size_t count)
{
  for (size_t i = 0; i < 2 * count; i++)
    if (text[i] < '0' || (text[i] >= 'A' && text[i] <= 'F'))
      return false;
  return hex_decode(text, bytes, count);
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
  uint8_t any = 0;
  for (size_t i = 0; i < count; i++)
    any |= bytes[i];
  return any == 0;
}

bool traceparent_read(const char *header, uint8_t trace_id[16], uint8_t parent_id[8])
{
  uint8_t version, flags, trace[16], parent[8];
  size_t length = header == NULL ? 0 : strnlen(header, LENGTH + 1);
  if (length < LENGTH || header[2] != '-' || header[35] != '-' || header[52] != '-')
    return false;
  if (!read_lower(header, &version, 1) || version == 0xff || !read_lower(header + 3, trace, 16) || is_zero(trace, 16) ||
      !read_lower(header + 36, parent, 8) || is_zero(parent, 8) || !read_lower(header + 53, &flags, 1))
    return false;
  if (length > LENGTH && (version == 0 || header[LENGTH] != '-'))
    return false;
  memcpy(trace_id, trace, sizeof trace);
  memcpy(parent_id, parent, sizeof parent);
  return true;
}

void traceparent_write(char *header, const uint8_t trace_id[16], const uint8_t parent_id[8])
{
  memcpy(header, "00-", 3);
  char *end = hex_encode(header + 3, trace_id, 16);
  *end++ = '-';
  end = hex_encode(end, parent_id, 8);
  memcpy(end, "-01", 4);
}

bool boot_id_read(const char *text, uint8_t boot_id[16])
{
  static const uint8_t groups[] = {4, 2, 2, 2, 6}; // bytes between dashes
  for (size_t i = 0; i < sizeof groups; i++) {
    if (!read_lower(text, boot_id, groups[i]))
      return false;
    text += 2 * groups[i];
    boot_id += groups[i];
    if (i + 1 < sizeof groups && *text++ != '-')
      return false;
  }
  return true;
}
