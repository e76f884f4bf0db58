// SPDX-License-Identifier: Apache-2.0
// A table from texts of the store to their copies, by address. Called wherever names of many spans go into an answer.
#include "analyze/keep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct kept_text {
  const char *text, *copy;
};

static struct kept_text *find(const struct keep *keep, const char *text)
{
  uint64_t hash = (uint64_t)(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15);
  size_t at = (size_t)(hash ^ hash >> 32) & keep->mask;
  while (keep->slots[at].text != NULL && keep->slots[at].text != text)
    at = (at + 1) & keep->mask;
  return &keep->slots[at];
}

static void grow(struct keep *keep)
{
  struct keep larger = {.mask = keep->slots == NULL ? 63 : keep->mask * 2 + 1};
  larger.slots = calloc(larger.mask + 1, sizeof *larger.slots);
  for (size_t i = 0; keep->slots != NULL && i <= keep->mask; i++)
    if (keep->slots[i].text != NULL)
      *find(&larger, keep->slots[i].text) = keep->slots[i];
  free(keep->slots);
  keep->slots = larger.slots;
  keep->mask = larger.mask;
}

void keep_text(struct keep *keep, const char **text)
{
  if (*text == NULL)
    return;
  if (keep->slots == NULL || keep->count * 2 > keep->mask)
    grow(keep);
  struct kept_text *slot = find(keep, *text);
  if (slot->text == NULL) {
    *slot = (struct kept_text){*text, arena_copy(keep->arena, *text, strlen(*text))};
    keep->count++;
  }
  *text = slot->copy;
}

void keep_done(struct keep *keep)
{
  free(keep->slots);
  *keep = (struct keep){.arena = keep->arena};
}
