// SPDX-License-Identifier: Apache-2.0
// Copies of the store's texts, each made once, for answers that outlive the store. Private to analyze.
#ifndef XSP_ANALYZE_KEEP_H
#define XSP_ANALYZE_KEEP_H

#include "base/arena.h"

#include <stddef.h>

struct keep {
  struct arena *arena; // of the copies
  struct kept_text *slots;
  size_t mask, count;
};

// `text` as store_text gives it: one address a text. Replaces it with the copy; NULL stays NULL.
void keep_text(struct keep *keep, const char **text);
void keep_done(struct keep *keep); // frees what finds them, not the copies

#endif
