// SPDX-License-Identifier: Apache-2.0
// Models that a script makes: once, then cached. A model is made in a folder next to its place and renamed, under a
// lock: no half-made model is ever found, and two xsp that want the same model make it once.
#include "manifests/source.h"

#include "base/folder.h"
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_DIGITS 16

struct place { // of one model in the cache
  const char *cache;
  const char *folder; // of the model, once it is there
  const char *making; // while it is made
  const char *lock;
  const char *result; // in folder
};

// ---- folders ---------------------------------------------------------------------------------------------------------

static enum status no_place(const char *path, struct error *err)
{
  return error_set_errno(err, STATUS_SYSTEM, "no place for made models", path, "XSP_MODEL_CACHE=FOLDER");
}

static enum status cache_folder(struct arena *arena, const char **ret_folder, struct error *err)
{
  const char *own = getenv("XSP_MODEL_CACHE"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own != NULL && own[0] != 0) {
    *ret_folder = arena_format(arena, "%s", own);
  } else if (shared != NULL && shared[0] == '/') {
    *ret_folder = arena_format(arena, "%s/xsp/models", shared);
  } else {
    const struct passwd *user = home == NULL || home[0] == 0 ? getpwuid(getuid()) : NULL;
    home = user != NULL ? user->pw_dir : home;
    if (home == NULL || home[0] == 0)
      return error_set(err, STATUS_SYSTEM, "no place for made models", NULL, "XSP_MODEL_CACHE=FOLDER",
                       "neither XSP_MODEL_CACHE nor HOME is set");
    *ret_folder = arena_format(arena, "%s/.cache/xsp/models", home);
  }
  return STATUS_OK;
}

static enum status make_folders(const char *path, struct arena *arena, struct error *err)
{
  for (size_t length = 1; path[length - 1] != 0; length++) {
    length += strcspn(path + length, "/");
    const char *each = arena_copy(arena, path, length);
    if (mkdir(each, 0777) != 0 && errno != EEXIST)
      return no_place(each, err);
  }
  return STATUS_OK;
}

// ---- which model it is -----------------------------------------------------------------------------------------------

enum status manifest_script(const struct manifest *manifest, const char *script, struct arena *arena,
                            const char **ret_path, struct error *err)
{
  char real[PATH_MAX], folder[PATH_MAX];
  const char *path = manifest_relative(manifest, script, arena);
  const char *parent = manifest_relative(manifest, ".", arena);
  if (realpath(path, real) == NULL)
    return manifest_wrong(manifest, manifest->source_line, STATUS_INPUT, "a path from the manifest's folder", err,
                          "cannot read %s: %m", script);
  size_t length = realpath(parent, folder) != NULL ? strlen(folder) : 0;
  if (length == 0 || strncmp(real, folder, length) != 0 || (length > 1 && real[length] != '/'))
    return manifest_wrong(manifest, manifest->source_line, STATUS_INPUT, "a copy of it there", err,
                          "%s is outside of the manifest's folder (%s), and scripts must be in it", script, real);
  *ret_path = arena_copy(arena, real, strlen(real));
  return STATUS_OK;
}

static void add_text(struct checksum *key, const char *text)
{
  checksum_add(key, text, strlen(text) + 1); // with its end: ["ab"] is not ["a", "b"]
}

// Of what the result depends on: the scripts' contents, the arguments, the packages.
static enum status hash_key(const struct manifest *manifest, const char *script, struct arena *arena,
                            char hex[CHECKSUM_TEXT_SIZE], struct error *err)
{
  struct checksum *key = checksum_start();
  enum status status = checksum_add_file(key, script, err);
  for (size_t i = 0; i < manifest->uses.count && status == STATUS_OK; i++) {
    const char *used = NULL;
    status = manifest_script(manifest, manifest->uses.items[i], arena, &used, err);
    if (status == STATUS_OK)
      status = checksum_add_file(key, used, err);
  }
  add_text(key, manifest->produces);
  for (size_t i = 0; i < manifest->arguments.count; i++)
    add_text(key, manifest->arguments.items[i]);
  add_text(key, "");
  for (size_t i = 0; i < manifest->python.count; i++)
    add_text(key, manifest->python.items[i]);
  checksum_finish(key, hex);
  return status;
}

static enum status find_place(const struct manifest *manifest, const char *script, struct arena *arena,
                              struct place *ret_place, struct error *err)
{
  char key[CHECKSUM_TEXT_SIZE];
  XSP_TRY(hash_key(manifest, script, arena, key, err));
  XSP_TRY(cache_folder(arena, &ret_place->cache, err));
  const char *name = arena_format(arena, "%s-%s-%.*s", manifest->name, manifest->version, KEY_DIGITS, key);
  ret_place->folder = arena_format(arena, "%s/%s", ret_place->cache, name);
  ret_place->making = arena_format(arena, "%s/.%s.making", ret_place->cache, name);
  ret_place->lock = arena_format(arena, "%s/.%s.lock", ret_place->cache, name);
  ret_place->result = arena_format(arena, "%s/%s", ret_place->folder, manifest->produces);
  return STATUS_OK;
}

// ---- making it -------------------------------------------------------------------------------------------------------

// The lock is a file that is removed with the lock: after locking a removed file, try again.
static enum status lock_place(const struct place *place, message_fn message, int *ret_fd, struct error *err)
{
  for (bool is_announced = message == NULL;;) {
    struct stat held;
    int fd = regular_file_open(AT_FDCWD, place->lock, O_RDWR | O_CREAT, &held);
    if (fd < 0)
      return no_place(place->lock, err);
    if (!is_announced && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      message("xsp: waiting for another xsp that makes %s", basename(place->folder));
      is_announced = true;
    }
    bool is_locked = flock(fd, LOCK_EX) == 0;
    if (!is_locked && errno != EINTR) { // a file system without locks
      enum status status = no_place(place->lock, err);
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

static enum status run_generator(const struct manifest *manifest, const char *script, const struct place *place,
                                 message_fn message, struct arena *arena, struct error *err)
{
  const char **arguments = arena_alloc_array(arena, manifest->arguments.count + 4, sizeof *arguments);
  size_t count = 0;
  arguments[count++] = script;
  for (size_t i = 0; i < manifest->arguments.count; i++)
    arguments[count++] = manifest->arguments.items[i];
  arguments[count++] = "--output";
  arguments[count++] = arena_format(arena, "%s/%s", place->making, manifest->produces);
  folder_remove_tree(place->making); // of one that was killed
  if (mkdir(place->making, 0755) != 0)
    return no_place(place->making, err);
  XSP_TRY(manifest_run_python(manifest, arguments, message, err));
  if (access(arguments[count - 1], R_OK) != 0)
    return manifest_wrong(manifest, manifest->source_line, STATUS_SYSTEM, "the script by hand", err,
                          "%s ended well but did not make %s", manifest->generator, manifest->produces);
  folder_remove_tree(place->folder); // one without the result
  if (rename(place->making, place->folder) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot keep the made model", place->folder, "XSP_MODEL_CACHE=FOLDER");
  return STATUS_OK;
}

// A framework loads the model: one that another user could have made or changed is not used.
static enum status find_made(const struct place *place, bool *ret_is_there, struct error *err)
{
  struct stat facts;
  *ret_is_there = access(place->result, R_OK) == 0;
  if (!*ret_is_there)
    return STATUS_OK;
  if (lstat(place->folder, &facts) != 0)
    return no_place(place->folder, err);
  bool is_own = S_ISDIR(facts.st_mode) && (facts.st_uid == geteuid() || facts.st_uid == 0);
  if (is_own && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return STATUS_OK;
  return error_set(err, STATUS_SYSTEM, "cannot use the made model", place->folder,
                   is_own ? "chmod go-w, if its files are all yours" : "XSP_MODEL_CACHE=FOLDER",
                   is_own ? "other users can write to it" : "it is not a folder of yours");
}

enum status generator_make(const struct manifest *manifest, message_fn message, struct arena *arena,
                           const char **ret_path, bool *ret_was_made, struct error *err)
{
  const char *script = NULL;
  struct place place = {0};
  XSP_TRY(manifest_script(manifest, manifest->generator, arena, &script, err));
  XSP_TRY(find_place(manifest, script, arena, &place, err));
  *ret_path = place.result;
  *ret_was_made = false;
  bool is_there;
  XSP_TRY(find_made(&place, &is_there, err));
  if (is_there)
    return STATUS_OK;
  for (size_t i = 0; i < manifest->python.count; i++) {
    struct python_package package;
    XSP_TRY(package_find(manifest, manifest->source_line, manifest->python.items[i], arena, &package, err));
  }
  int lock = -1;
  XSP_TRY(make_folders(place.cache, arena, err));
  XSP_TRY(lock_place(&place, message, &lock, err));
  enum status status = find_made(&place, &is_there, err);
  if (status == STATUS_OK && !is_there) { // else another xsp made it meanwhile
    status = run_generator(manifest, script, &place, message, arena, err);
    *ret_was_made = status == STATUS_OK;
    if (status != STATUS_OK)
      folder_remove_tree(place.making);
  }
  unlink(place.lock);
  close(lock);
  manifest_run_end(); // a signal that came meanwhile is taken now
  return status;
}
