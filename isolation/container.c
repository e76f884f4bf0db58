// SPDX-License-Identifier: Apache-2.0
// Finds a container's root file system: a folder as it is, or an OCI image layout, whose layers are unpacked once for each manifest.
#include "isolation/isolation.h"

#include "assets/checksum.h"
#include "base/cache.h"
#include "base/folder.h"
#include "base/input_file.h"
#include "base/slice.h"
#include "isolation/layer.h"
#include "isolation/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define INDEXES_MOST 4 // an index may name another one

static const struct cache image_cache = {"unpacked images", "XSP_IMAGE_CACHE", "images"};

static bool has(const char *folder, const char *name)
{
  char path[PATH_MAX];
  return (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path && access(path, F_OK) == 0;
}

static enum status wrong(const char *folder, const char *why, struct error *err)
{
  return error_set(err, STATUS_INPUT, "cannot use the container", folder,
                   "a folder with a root file system, or an OCI image layout (docs/isolation.md)", "%s", why);
}

// ---- the layout --------------------------------------------------------------------------------------------------------

static const char *blob_path(const char *layout, const char *hex, struct arena *arena)
{
  return arena_format(arena, "%s/blobs/sha256/%s", layout, hex);
}

static enum status check_blob(const char *layout, const struct layout_blob *blob, struct arena *arena,
                              struct error *err)
{
  char hex[CHECKSUM_TEXT_SIZE];
  const char *path = blob_path(layout, blob->hex, arena);
  struct stat facts;
  if (blob->size_bytes >= 0 && stat(path, &facts) == 0 && facts.st_size != blob->size_bytes)
    return wrong(path, "its size is another than its image says", err);
  XSP_TRY(checksum_of_file(path, hex, err));
  return strcmp(hex, blob->hex) == 0 ? STATUS_OK : wrong(path, "its content does not have its digest", err);
}

static enum status read_layout(const char *path, struct arena *arena, struct layout *ret_layout, struct error *err)
{
  static const char *const names[][2] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}};
  struct utsname machine;
  FILE *stream = NULL;
  const char *architecture = uname(&machine) == 0 ? machine.machine : "";
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(architecture, names[i][0]) == 0)
      architecture = names[i][1];
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, "cannot open the container's description", &stream, err));
  char *text = arena_alloc(arena, LAYOUT_TEXT_MOST + 1);
  size_t length = fread(text, 1, LAYOUT_TEXT_MOST + 1, stream);
  fclose(stream);
  if (length > LAYOUT_TEXT_MOST)
    return wrong(path, "it is larger than 4 MiB", err);
  const char *problem = layout_read(text, length, architecture, arena, ret_layout);
  return problem == NULL ? STATUS_OK : wrong(path, problem, err);
}

// Follows indexes to the manifest for this machine.
static enum status find_manifest(const char *folder, struct arena *arena, struct layout_blob *ret_manifest,
                                 struct layout *ret_layout, struct error *err)
{
  const char *path = arena_format(arena, "%s/index.json", folder);
  XSP_TRY(read_layout(path, arena, ret_layout, err));
  for (int i = 0; i < INDEXES_MOST && ret_layout->chosen.hex[0] != 0; i++) {
    *ret_manifest = ret_layout->chosen;
    XSP_TRY(check_blob(folder, ret_manifest, arena, err));
    XSP_TRY(read_layout(blob_path(folder, ret_manifest->hex, arena), arena, ret_layout, err));
  }
  return ret_layout->layer_count > 0 ? STATUS_OK : wrong(folder, "it has no image for this machine", err);
}

// ---- unpacking ---------------------------------------------------------------------------------------------------------

static enum status unpack(const char *folder, const struct layout *layout, const char *part, struct arena *arena,
                          struct error *err)
{
  folder_remove_tree(part); // what a killed process left
  int root = mkdir(part, 0755) == 0 ? open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (root < 0)
    return cache_no_place(&image_cache, part, err);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < layout->layer_count && status == STATUS_OK; i++) {
    const struct layout_blob *layer = &layout->layers[i];
    if (text_ends_with(layer->media_type, "zstd"))
      status = wrong(folder, "a layer is compressed by zstd; only gzip and plain archives are read", err);
    if (status == STATUS_OK)
      status = check_blob(folder, layer, arena, err);
    if (status == STATUS_OK)
      status = layer_unpack(blob_path(folder, layer->hex, arena), root, err);
  }
  close(root);
  return status;
}

static enum status find_unpacked(const char *folder, const struct layout_blob *manifest, const struct layout *layout,
                                 message_fn message, struct arena *arena, const char **ret_root, struct error *err)
{
  const char *cache = NULL;
  XSP_TRY(cache_folder(&image_cache, arena, &cache, err));
  const char *root = arena_format(arena, "%s/%s", cache, manifest->hex), *part = arena_format(arena, "%s.part", root);
  int lock = -1;
  *ret_root = root;
  XSP_TRY(cache_make_folders(&image_cache, cache, 0700, err));
  XSP_TRY(cache_lock(&image_cache, arena_format(arena, "%s.lock", root), message, "waiting for another xsp to unpack",
                     &lock, err));
  enum status status = STATUS_OK;
  if (access(root, F_OK) == 0) {
    status = cache_check_owner(&image_cache, root, err);
  } else {
    if (message != NULL)
      message("xsp: unpacking %zu layers of %s into %s", layout->layer_count, folder, root);
    status = unpack(folder, layout, part, arena, err);
    if (status == STATUS_OK && rename(part, root) != 0)
      status = cache_no_place(&image_cache, root, err);
    if (status != STATUS_OK)
      folder_remove_tree(part);
  }
  close(lock);
  return status;
}

// ---- the container -----------------------------------------------------------------------------------------------------

enum status isolation_open_container(const char *folder, message_fn message, struct arena *arena,
                                     struct isolation *isolation, struct error *err)
{
  struct layout layout;
  struct layout_blob manifest = {0};
  char *real = realpath(folder, arena_alloc(arena, PATH_MAX));
  isolation->container = folder;
  if (real == NULL)
    return error_set_errno(err, STATUS_INPUT, "cannot use the container", folder, "another folder");
  if (has(real, "oci-layout")) {
    XSP_TRY(find_manifest(real, arena, &manifest, &layout, err));
    XSP_TRY(find_unpacked(real, &manifest, &layout, message, arena, &isolation->root, err));
    isolation->digest = arena_format(arena, "sha256:%s", manifest.hex);
  } else {
    if (!has(real, "usr") && !has(real, "lib") && !has(real, "bin"))
      return wrong(folder, "it has neither oci-layout nor usr, lib or bin", err);
    isolation->root = real;
  }
  if (strpbrk(isolation->root, ":,\\") != NULL)
    return wrong(isolation->root, "its path has a colon, a comma or a backslash", err);
  return STATUS_OK;
}

enum status isolation_named_container(const char *name, struct arena *arena, const char **ret_folder, struct error *err)
{
  const char *images = getenv("XSP_IMAGES");
  char *safe = arena_copy(arena, name, strlen(name));
  for (char *at = strpbrk(safe, "/:@"); at != NULL; at = strpbrk(at, "/:@"))
    *at = '_';
  *ret_folder = NULL;
  if (images == NULL || images[0] == 0)
    return STATUS_OK;
  *ret_folder = arena_format(arena, "%s/%s", images, safe);
  if (safe[0] == '.' || access(*ret_folder, F_OK) != 0)
    return error_set(err, STATUS_INPUT, "cannot find the model's container", name,
                     "--container FOLDER, or an OCI image layout at that place (skopeo copy makes one)",
                     "%s is missing", *ret_folder);
  return STATUS_OK;
}
