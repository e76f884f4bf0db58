// SPDX-License-Identifier: Apache-2.0
// Pieces of an output that come again and again, as they are written: escaped names, attributes of a track. Bounded: when a megabyte is
// full, all are forgotten. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_PIECES_H
#define XSP_REPORT_EXPORTS_PIECES_H

#include "base/buf.h"
#include "base/map.h"
#include "base/slice.h"

struct pieces {      // starts as {0}
  struct map places; // in `bytes` << 32 | length
  struct buf bytes;
};

// *ret_bytes is valid until the next pieces_add.
bool pieces_find(const struct pieces *pieces, struct map_key key, struct slice *ret_bytes);
// Of a key that was not found. Not kept where it is too long.
void pieces_add(struct pieces *pieces, struct map_key key, struct slice bytes);
void pieces_forget(struct pieces *pieces);
void pieces_done(struct pieces *pieces);

#endif
