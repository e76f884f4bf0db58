// SPDX-License-Identifier: Apache-2.0
// See cache.h. Called by what makes models and by what fetches assets.
#include "base/cache.h"

#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct cache_texts {
  char what[128], advice[128];
};

static struct cache_texts texts_of(const struct cache *cache)
{
  struct cache_texts texts;
  snprintf(texts.what, sizeof texts.what, "no place for %s", cache->contents);
  snprintf(texts.advice, sizeof texts.advice, "%s=FOLDER", cache->variable);
  return texts;
}

enum status cache_no_place(const struct cache *cache, const char *path, struct error *err)
{
  int reason = errno;
  const struct cache_texts texts = texts_of(cache);
  errno = reason;
  return error_set_errno(err, STATUS_SYSTEM, texts.what, path, texts.advice);
}

enum status cache_folder(const struct cache *cache, struct arena *arena, const char **ret_folder, struct error *err)
{
  const char *own = getenv(cache->variable), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own != NULL && own[0] != 0) {
    *ret_folder = arena_format(arena, "%s", own);
  } else if (shared != NULL && shared[0] == '/') {
    *ret_folder = arena_format(arena, "%s/xsp/%s", shared, cache->name);
  } else {
    const struct passwd *user = home == NULL || home[0] == 0 ? getpwuid(getuid()) : NULL;
    const struct cache_texts texts = texts_of(cache);
    home = user != NULL ? user->pw_dir : home;
    if (home == NULL || home[0] == 0)
      return error_set(err, STATUS_SYSTEM, texts.what, NULL, texts.advice, "neither %s nor HOME is set",
                       cache->variable);
    *ret_folder = arena_format(arena, "%s/.cache/xsp/%s", home, cache->name);
  }
  return STATUS_OK;
}

enum status cache_make_folders(const struct cache *cache, const char *path, unsigned mode, struct error *err)
{
  char each[PATH_MAX];
  for (size_t length = 1; path[length - 1] != 0; length++) {
    length += strcspn(path + length, "/");
    if (snprintf(each, sizeof each, "%.*s", (int)length, path) >= (int)sizeof each)
      errno = ENAMETOOLONG;
    else if (mkdir(each, mode) == 0 || errno == EEXIST)
      continue;
    return cache_no_place(cache, each, err);
  }
  return STATUS_OK;
}

enum status cache_check_owner(const struct cache *cache, const char *path, struct error *err)
{
  struct stat facts;
  if (lstat(path, &facts) != 0)
    return cache_no_place(cache, path, err);
  bool is_own = S_ISDIR(facts.st_mode) && (facts.st_uid == geteuid() || facts.st_uid == 0);
  if (is_own && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return STATUS_OK;
  char what[128];
  snprintf(what, sizeof what, "cannot use the cache of %s", cache->contents);
  return error_set(err, STATUS_SYSTEM, what, path,
                   is_own ? "chmod go-w, if its files are all yours" : texts_of(cache).advice,
                   is_own ? "other users can write to it" : "it is not a folder of yours");
}

// The file may be removed with the lock: after locking a removed file, try again.
enum status cache_lock(const struct cache *cache, const char *path, message_fn message, const char *waiting,
                       int *ret_fd, struct error *err)
{
  for (bool is_announced = message == NULL;;) {
    struct stat held;
    int fd = regular_file_open(AT_FDCWD, path, O_RDWR | O_CREAT, &held);
    if (fd < 0)
      return cache_no_place(cache, path, err);
    if (!is_announced && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      message("%s", waiting);
      is_announced = true;
    }
    bool is_locked = flock(fd, LOCK_EX) == 0;
    if (!is_locked && errno != EINTR) { // a file system without locks
      enum status status = cache_no_place(cache, path, err);
      close(fd);
      return status;
    }
    if (is_locked && fstat(fd, &held) == 0 && held.st_nlink > 0) {
      *ret_fd = fd;
      return STATUS_OK;
    }
    close(fd);
  }
}
