// SPDX-License-Identifier: Apache-2.0
// What killed writers left: NAME.partial, and NAME.partial~, NAME.partial~2, … where a later writer of NAME found one and
// set it aside. None is ever overwritten.
#ifndef XSP_STORE_LEFTOVERS_H
#define XSP_STORE_LEFTOVERS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

struct leftover {
  const char *path;
  int64_t size_bytes, modified_s; // Unix time
};
// Of file `name` in `folder`, or of any trace where `name` is NULL. Only regular files that begin with SQLite's header, by
// path. In `arena`.
enum status leftovers_find(const char *folder, const char *name, struct arena *arena, struct leftover **ret_leftovers,
                           size_t *ret_count, struct error *err) MUST_CHECK;

// Renames `partial_path` and its journal to the first free number; *ret_path is to be freed.
enum status leftover_set_aside(const char *partial_path, char **ret_path, struct error *err) MUST_CHECK;

#endif
