// SPDX-License-Identifier: Apache-2.0
// Two maps: who owns an id, and which id has what came later and could not have its own. Called twice a span.
#include "otlp/ids.h"

#define TOP_BIT (UINT64_C(1) << 63)
#define IS_SPAN TOP_BIT                  // in the value of either map: has been seen as a span
#define RESERVED UINT64_MAX              // owns made-up ids
#define MADE_UP_FROM (UINT64_C(1) << 48) // numbers that sources seldom use, and that a double holds

// Makes an id up that nobody has, and sees to it that nobody claims it later.
static uint64_t make_up(struct otlp_ids *ids)
{
  for (bool is_new;;) {
    uint64_t id = MADE_UP_FROM + ++ids->given;
    uint64_t *owner = map_at(&ids->owners, map_number(id), &is_new);
    if (is_new) {
      *owner = RESERVED;
      return id;
    }
  }
}

int64_t otlp_ids_find(struct otlp_ids *ids, uint32_t trace, uint64_t number, bool is_span, bool *ret_is_repeated)
{
  uint64_t id = number & ~TOP_BIT, *entry = NULL;
  uint64_t claim = number >> 63 << 32 | trace;
  bool is_new = false;
  if (id != 0) {
    uint64_t *owner = map_at(&ids->owners, map_number(id), &is_new);
    if (is_new)
      *owner = claim;
    if ((*owner & ~IS_SPAN) == claim)
      entry = owner;
  }
  if (entry == NULL) {
    entry = map_at(&ids->others, (struct map_key){number, trace}, &is_new);
    if (is_new)
      *entry = make_up(ids);
    id = *entry & ~IS_SPAN;
  }
  ids->absent_count += is_new;
  *ret_is_repeated = is_span && (*entry & IS_SPAN) != 0;
  if (is_span && !*ret_is_repeated) {
    *entry |= IS_SPAN;
    ids->absent_count--;
  }
  return (int64_t)id;
}

void otlp_ids_done(struct otlp_ids *ids)
{
  map_done(&ids->owners);
  map_done(&ids->others);
}
