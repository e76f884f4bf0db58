// SPDX-License-Identifier: Apache-2.0
// Finds or makes a root file system in the cache. A process that is killed meanwhile leaves a part, which the next one removes. Called by
// container.c and build.c.
#include "isolation/image_cache.h"

#include "base/cache.h"
#include "base/folder.h"
#include "base/scoped.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cache image_cache = {"images of containers", "XSP_IMAGE_CACHE", "images"};

static enum status make(const struct image_maker *maker, const char *root, const char *part, struct arena *arena,
                        struct error *err)
{
  folder_remove_tree(part);
  if (mkdir(part, 0755) != 0)
    return cache_no_place(&image_cache, part, err);
  enum status status = maker->make(maker->context, root, part, arena, err);
  if (status == STATUS_OK && rename(part, root) != 0)
    status = cache_no_place(&image_cache, root, err);
  if (status != STATUS_OK)
    folder_remove_tree(part);
  return status;
}

enum status isolation_image_keep(const char *hex, const struct image_maker *maker, message_fn message,
                                 struct arena *arena, const char **ret_root, struct error *err)
{
  const char *cache = NULL;
  XSP_TRY(cache_folder(&image_cache, arena, &cache, err));
  const char *root = *ret_root = arena_format(arena, "%s/%s", cache, hex);
  int lock SCOPED(scoped_close) = -1;
  XSP_TRY(cache_make_folders(&image_cache, cache, 0700, err));
  XSP_TRY(cache_lock(&image_cache, arena_format(arena, "%s.lock", root), message, "waiting for another xsp to make it",
                     &lock, err));
  return access(root, F_OK) == 0 ? cache_check_owner(&image_cache, root, err)
                                 : make(maker, root, arena_format(arena, "%s.part", root), arena, err);
}
