// SPDX-License-Identifier: Apache-2.0
// Formats times. Called by whatever prints tables.
#include "base/time_text.h"

#include <time.h>

const char *time_text(int64_t unix_ns, struct arena *arena)
{
  time_t seconds = unix_ns / 1000000000;
  struct tm parts;
  char text[32];
  if (unix_ns <= 0 || gmtime_r(&seconds, &parts) == NULL ||
      strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
    return NULL;
  return arena_format(arena, "%s", text);
}
