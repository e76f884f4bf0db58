// SPDX-License-Identifier: Apache-2.0
// Copies of the store's texts, each made once, for answers that outlive the store.
#ifndef XSP_ANALYZE_KEEP_H
#define XSP_ANALYZE_KEEP_H

#include "base/arena.h"
#include "base/map.h"

#include <string.h>

struct keep {
  struct arena *arena; // of the copies
  struct map copies;   // by address
};

// Replaces `*text`, as store_text returns it (one address per text), with its copy; NULL stays NULL.
static inline void keep_text(struct keep *keep, const char **text)
{
  bool is_new;
  if (*text == NULL)
    return;
  uint64_t *copy = map_at(&keep->copies, map_number((uintptr_t)*text), &is_new);
  if (is_new)
    *copy = (uintptr_t)arena_copy(keep->arena, *text, strlen(*text));
  *text = (const char *)(uintptr_t)*copy;
}

static inline void keep_done(struct keep *keep) // the copies stay
{
  map_done(&keep->copies);
}

#endif
