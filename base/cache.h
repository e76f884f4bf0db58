// SPDX-License-Identifier: Apache-2.0
// A user's cache: a folder of what can be made again. Where it is, whose an entry is, and one maker at a time. Any thread.
// Errors: STATUS_SYSTEM, with the folder and the variable that names another.
#ifndef XSP_BASE_CACHE_H
#define XSP_BASE_CACHE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/message.h"

struct cache {
  const char *contents; // for messages: "made models"
  const char *variable; // of the environment, with the folder
  const char *name;     // of the folder below the user's cache, where the variable is not set
};

// $VARIABLE, else $XDG_CACHE_HOME/xsp/NAME, else ~/.cache/xsp/NAME; in `arena`. It may not be there yet.
enum status cache_folder(const struct cache *cache, struct arena *arena, const char **ret_folder,
                         struct error *err) MUST_CHECK;
// Makes the folder and those above it, with `mode` for new ones.
enum status cache_make_folders(const struct cache *cache, const char *path, unsigned mode,
                               struct error *err) MUST_CHECK;
// Refuses an entry that is not a folder of the caller's or root's, or that others can write to. `path` is there.
enum status cache_check_owner(const struct cache *cache, const char *path, struct error *err) MUST_CHECK;
// Takes the lock `path`, a file that is made for it; `waiting` goes to `message` (may be NULL) where another process has it. The
// holder may remove the file before it closes *ret_fd, which ends the lock.
enum status cache_lock(const struct cache *cache, const char *path, message_fn message, const char *waiting,
                       int *ret_fd, struct error *err) MUST_CHECK;
// "no place for CONTENTS", with errno's text.
enum status cache_no_place(const struct cache *cache, const char *path, struct error *err);

#endif
