// SPDX-License-Identifier: Apache-2.0
// Texts that name files: parts of addresses, and paths inside a folder. Pure.
#ifndef XSP_BASE_PATH_TEXT_H
#define XSP_BASE_PATH_TEXT_H

#include "base/arena.h"
#include "base/slice.h"

// A relative path that stays below its folder: without "..", "." and empty parts.
static inline bool path_is_inner(const char *path)
{
  for (const char *part = path;; part++) {
    size_t length = strcspn(part, "/");
    if (length == 0 || (length == 1 && part[0] == '.') || (length == 2 && strncmp(part, "..", 2) == 0))
      return false;
    part += length;
    if (*part == 0)
      return true;
  }
}

// Is `path` the folder or below it? Both as texts: absolute, without ".." and links.
static inline bool path_is_below(const char *path, const char *folder)
{
  size_t length = strlen(folder);
  return strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == 0);
}

// `text` without percent encoding, in `arena`. NULL: malformed, or it has a zero byte.
char *percent_decode(struct slice text, struct arena *arena);

#endif
