// SPDX-License-Identifier: Apache-2.0
// What is written often, once; see pieces.h. Called by the exports to OTLP and CSV. Pure.
#include "report/exports/pieces.h"

#define PIECES_BYTES ((size_t)1 << 20)

bool pieces_find(const struct pieces *pieces, struct map_key key, struct slice *ret_bytes)
{
  const uint64_t *place = map_find(&pieces->places, key);
  if (place != NULL)
    *ret_bytes = (struct slice){pieces->bytes.data + (*place >> 32), (uint32_t)*place};
  return place != NULL;
}

void pieces_add(struct pieces *pieces, struct map_key key, struct slice bytes)
{
  if (pieces->bytes.length + bytes.length > PIECES_BYTES)
    pieces_forget(pieces);
  if (bytes.length > PIECES_BYTES)
    return;
  *map_at(&pieces->places, key, NULL) = (uint64_t)pieces->bytes.length << 32 | bytes.length;
  buf_put(&pieces->bytes, bytes.data, bytes.length);
}

void pieces_forget(struct pieces *pieces)
{
  map_done(&pieces->places);
  buf_clear(&pieces->bytes);
}

void pieces_done(struct pieces *pieces)
{
  map_done(&pieces->places);
  buf_done(&pieces->bytes);
}
