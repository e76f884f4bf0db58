// SPDX-License-Identifier: Apache-2.0
// Formatting and parsing of protocol lines; used by the runner and by `xsp profile`.
#include "format/protocol.h"

#include <string.h>

void protocol_format(struct buf *out, const char *const *fields, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      buf_put(out, "\t", 1);
    for (const char *at = fields[i]; *at != 0; at++) {
      if (*at == '\t')
        buf_put(out, "\\t", 2);
      else if (*at == '\n')
        buf_put(out, "\\n", 2);
      else if (*at == '\\')
        buf_put(out, "\\\\", 2);
      else
        buf_put(out, at, 1);
    }
  }
  buf_put(out, "\n", 1);
}

size_t protocol_parse(char *line, char *fields[PROTOCOL_FIELDS])
{
  size_t count = 0;
  char *to = line;
  fields[count++] = to;
  for (const char *from = line; *from != 0; from++) {
    if (*from == '\t') {
      if (count == PROTOCOL_FIELDS)
        return 0;
      *to++ = 0;
      fields[count++] = to;
    } else if (*from == '\\') {
      from++;
      if (*from != 't' && *from != 'n' && *from != '\\')
        return 0;
      *to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : '\\';
    } else {
      *to++ = *from;
    }
  }
  *to = 0;
  return count;
}
