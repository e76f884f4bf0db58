// SPDX-License-Identifier: Apache-2.0
// Escapes text for HTML. Called by whatever writes pages.
#include "base/html.h"

#include <string.h>

static void put(struct buf *out, const char *text, size_t length)
{
  struct buf valid SCOPED(buf_done) = {0};
  buf_utf8(&valid, text, length);
  for (const char *at = valid.data; at != NULL && *at != 0; at++) {
    const char *entity = *at == '&'   ? "&amp;"
                         : *at == '<' ? "&lt;"
                         : *at == '>' ? "&gt;"
                         : *at == '"' ? "&quot;"
                                      : NULL;
    if (entity != NULL)
      buf_text(out, entity);
    else
      buf_put(out, at, 1);
  }
}

void html_put(struct buf *out, const char *text)
{
  put(out, text, strlen(text));
}

void html_put_short(struct buf *out, const char *text, size_t most)
{
  size_t length = strlen(text);
  if (length > most) {
    length = most;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
      length--;
  }
  put(out, text, length);
  buf_text(out, text[length] != 0 ? "…" : "");
}
