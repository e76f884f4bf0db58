// SPDX-License-Identifier: Apache-2.0
// See path_text.h. Called by what reads addresses.
#include "base/path_text.h"

#include "base/hex.h"

char *percent_decode(struct slice text, struct arena *arena)
{
  char *decoded = arena_alloc(arena, text.length + 1), *to = decoded;
  for (size_t i = 0; i < text.length; i++, to++) {
    *to = text.data[i];
    if (text.data[i] == '%') {
      if (text.length - i < 3 || !hex_decode(text.data + i + 1, to, 1))
        return NULL;
      i += 2;
    }
    if (*to == 0)
      return NULL;
  }
  return decoded;
}
