// SPDX-License-Identifier: Apache-2.0
// What a writer keeps of a file's call paths: frames and contexts, each once. Private to the store. One thread.
#ifndef XSP_STORE_PATH_TABLE_H
#define XSP_STORE_PATH_TABLE_H

#include "base/buf.h"
#include "base/interner.h"
#include "base/map.h"
#include "base/vector.h"
#include "store/store.h"

struct call_paths {       // starts as {0}
  struct interner frames; // a frame's numbers and texts as one key; its id is the key's + 1
  VECTOR(struct store_context) contexts;
  VECTOR(uint16_t) depths; // of the contexts
  struct map context_of;   // caller and frame to the context's id
  uint32_t frames_written, contexts_written;
  uint32_t frames_named; // that store_name_frames has looked at
  struct buf key;
};

void store_call_paths_done(struct call_paths *paths);
enum status store_call_paths_write(struct store *store,
                                   struct error *err) MUST_CHECK; // what the file does not have yet

#endif
