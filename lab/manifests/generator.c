// SPDX-License-Identifier: Apache-2.0
// Models that a script makes: once, then cached. A model is made in a folder next to its place and renamed, under a
// lock: no half-made model is ever found, and two xsp that want the same model make it once.
#include "manifests/source.h"

#include "base/cache.h"
#include "base/folder.h"
#include "base/scoped.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const struct cache cache = {"made models", "XSP_MODEL_CACHE", "models"};

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
  XSP_TRY(cache_folder(&cache, arena, &ret_place->cache, err));
  const char *name = arena_format(arena, "%s-%s-%.*s", manifest->name, manifest->version, KEY_DIGITS, key);
  ret_place->folder = arena_format(arena, "%s/%s", ret_place->cache, name);
  ret_place->making = arena_format(arena, "%s/.%s.making", ret_place->cache, name);
  ret_place->lock = arena_format(arena, "%s/.%s.lock", ret_place->cache, name);
  ret_place->result = arena_format(arena, "%s/%s", ret_place->folder, manifest->produces);
  return STATUS_OK;
}

// ---- making it -------------------------------------------------------------------------------------------------------

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
    return cache_no_place(&cache, place->making, err);
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
  *ret_is_there = access(place->result, R_OK) == 0;
  return *ret_is_there ? cache_check_owner(&cache, place->folder, err) : STATUS_OK;
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
  int lock SCOPED(scoped_close) = -1;
  XSP_TRY(cache_make_folders(&cache, place.cache, 0777, err));
  const char *waiting = arena_format(arena, "xsp: waiting for another xsp that makes %s", basename(place.folder));
  XSP_TRY(cache_lock(&cache, place.lock, message, waiting, &lock, err));
  enum status status = find_made(&place, &is_there, err);
  if (status == STATUS_OK && !is_there) { // else another xsp made it meanwhile
    status = run_generator(manifest, script, &place, message, arena, err);
    *ret_was_made = status == STATUS_OK;
    if (status != STATUS_OK)
      folder_remove_tree(place.making);
  }
  unlink(place.lock);
  manifest_run_end(); // a signal that came meanwhile is taken now
  return status;
}
