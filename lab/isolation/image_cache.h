// SPDX-License-Identifier: Apache-2.0
// Root file systems that were unpacked or built, each once, in a folder of the user's cache (XSP_IMAGE_CACHE).
#ifndef XSP_ISOLATION_IMAGE_CACHE_H
#define XSP_ISOLATION_IMAGE_CACHE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/message.h"

struct image_maker {
  // Fills `part`, an empty folder, which becomes `root`.
  enum status (*make)(const void *context, const char *root, const char *part, struct arena *arena, struct error *err);
  const void *context;
};
// The root file system of the checksum `hex`; one process at a time makes it. `message` is told of waiting for another one.
enum status isolation_image_keep(const char *hex, const struct image_maker *maker, message_fn message,
                                 struct arena *arena, const char **ret_root, struct error *err) MUST_CHECK;

#endif
