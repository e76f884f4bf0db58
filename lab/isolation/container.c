// SPDX-License-Identifier: Apache-2.0
// Finds a container's root file system: a folder as it is, an OCI image layout, whose layers are unpacked once for each manifest, or a
// Dockerfile.
#include "isolation/isolation.h"

#include "assets/checksum.h"
#include "base/input_file.h"
#include "base/root.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "isolation/build.h"
#include "isolation/image_cache.h"
#include "isolation/layer.h"
#include "isolation/layout.h"
#include "isolation/tar.h"

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

// A folder that a stranger filled: `name` is for messages.
struct place {
  int folder;
  const char *name;
};

static enum status open_part(const struct place *place, const char *part, off_t most, struct arena *arena,
                             int *ret_file, struct error *err)
{
  struct stat facts;
  const char *path = arena_format(arena, "%s/%s", place->name, part);
  *ret_file = root_file(place->folder, part, most, &facts);
  if (*ret_file >= 0)
    return STATUS_OK;
  if (errno == EINVAL || errno == EFBIG)
    return wrong(path, errno == EINVAL ? "it is not a file" : "it is too large", err);
  return error_set_errno(err, STATUS_INPUT, "cannot use the container", path, "another folder");
}

static const char *blob_path(const struct layout_blob *blob, struct arena *arena)
{
  return arena_format(arena, "blobs/sha256/%s", blob->hex);
}

// Opens a blob of the image and compares it with its digest. It is then read from its beginning.
static enum status open_blob(const struct place *place, const struct layout_blob *blob, off_t most, struct arena *arena,
                             int *ret_file, struct error *err)
{
  char hex[CHECKSUM_TEXT_SIZE], bytes[65536];
  const char *part = blob_path(blob, arena);
  XSP_TRY(open_part(place, part, most, arena, ret_file, err));
  struct checksum *checksum = checksum_start();
  ssize_t got = 0;
  off_t length = 0;
  while (length <= most && (got = read(*ret_file, bytes, sizeof bytes)) > 0) {
    checksum_add(checksum, bytes, (size_t)got);
    length += got;
  }
  checksum_finish(checksum, hex);
  const char *problem = blob->size_bytes >= 0 && length != blob->size_bytes ? "its size is another than its image says"
                        : strcmp(hex, blob->hex) != 0                       ? "its content does not have its digest"
                                                                            : NULL;
  if (problem == NULL && lseek(*ret_file, 0, SEEK_SET) == 0)
    return STATUS_OK;
  close(*ret_file);
  return wrong(arena_format(arena, "%s/%s", place->name, part), problem != NULL ? problem : "it cannot be read", err);
}

// Reads index.json or a manifest; takes the descriptor.
static enum status read_layout(int file, const char *name, struct arena *arena, struct layout *ret_layout,
                               struct error *err)
{
  static const char *const names[][2] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}};
  struct utsname machine;
  const char *architecture = uname(&machine) == 0 ? machine.machine : "";
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(architecture, names[i][0]) == 0)
      architecture = names[i][1];
  char *text = arena_alloc(arena, LAYOUT_TEXT_MOST);
  size_t length = 0;
  for (ssize_t got; length < LAYOUT_TEXT_MOST && (got = read(file, text + length, LAYOUT_TEXT_MOST - length)) > 0;)
    length += (size_t)got;
  close(file);
  const char *problem = isolation_layout_read(text, length, architecture, arena, ret_layout);
  return problem == NULL ? STATUS_OK : wrong(name, problem, err);
}

// Follows indexes to the manifest for this machine.
static enum status find_manifest(const struct place *image, struct arena *arena, struct layout_blob *ret_manifest,
                                 struct layout *ret_layout, struct error *err)
{
  const char *name = arena_format(arena, "%s/index.json", image->name);
  int file = -1;
  XSP_TRY(open_part(image, "index.json", LAYOUT_TEXT_MOST, arena, &file, err));
  XSP_TRY(read_layout(file, name, arena, ret_layout, err));
  for (int i = 0; i < INDEXES_MOST && ret_layout->chosen.hex[0] != 0; i++) {
    *ret_manifest = ret_layout->chosen;
    XSP_TRY(open_blob(image, ret_manifest, LAYOUT_TEXT_MOST, arena, &file, err));
    name = arena_format(arena, "%s/%s", image->name, blob_path(ret_manifest, arena));
    XSP_TRY(read_layout(file, name, arena, ret_layout, err));
  }
  return ret_layout->layer_count > 0 ? STATUS_OK : wrong(image->name, "it has no image for this machine", err);
}

// ---- unpacking ---------------------------------------------------------------------------------------------------------

static enum status unpack_layer(const struct place *image, const struct layout_blob *layer, int root,
                                struct arena *arena, struct error *err)
{
  int file SCOPED(scoped_close) = -1;
  if (text_ends_with(layer->media_type, "zstd"))
    return wrong(image->name, "a layer is compressed by zstd; only gzip and plain archives are read", err);
  XSP_TRY(open_blob(image, layer, (off_t)TAR_BYTES_MOST, arena, &file, err));
  const char *name = arena_format(arena, "%s/%s", image->name, blob_path(layer, arena));
  return isolation_layer_unpack(file, name, root, err);
}

struct unpacking {
  const struct place *image;
  const struct layout *layout;
  message_fn message;
};

static enum status unpack(const void *context, const char *root, const char *part, struct arena *arena,
                          struct error *err)
{
  const struct unpacking *unpacking = context;
  int folder SCOPED(scoped_close) = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot unpack the container", part, NULL);
  if (unpacking->message != NULL)
    unpacking->message("xsp: unpacking %zu layers of %s into %s", unpacking->layout->layer_count,
                       unpacking->image->name, root);
  for (size_t i = 0; i < unpacking->layout->layer_count; i++)
    XSP_TRY(unpack_layer(unpacking->image, &unpacking->layout->layers[i], folder, arena, err));
  return STATUS_OK;
}

// ---- the container -----------------------------------------------------------------------------------------------------

static enum status open_image(const char *folder, message_fn message, struct arena *arena, struct isolation *isolation,
                              struct error *err)
{
  struct layout layout;
  struct layout_blob manifest = {0};
  const struct place image = {open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), folder};
  if (image.folder < 0)
    return error_set_errno(err, STATUS_INPUT, "cannot use the container", folder, "another folder");
  const struct unpacking unpacking = {&image, &layout, message};
  const struct image_maker maker = {unpack, &unpacking};
  enum status status = find_manifest(&image, arena, &manifest, &layout, err);
  if (status == STATUS_OK)
    status = isolation_image_keep(manifest.hex, &maker, message, arena, &isolation->root, err);
  close(image.folder);
  isolation->digest = arena_format(arena, "sha256:%s", manifest.hex);
  return status;
}

// A builder's message on an archive would say nothing of what was meant.
static enum status require_text(const char *file, struct error *err)
{
  char head[1024];
  FILE *stream SCOPED(scoped_fclose) = NULL;
  XSP_TRY(input_file_stream(file, INPUT_FILE_REGULAR, "cannot use the container", &stream, err));
  return memchr(head, 0, fread(head, 1, sizeof head, stream)) == NULL
             ? STATUS_OK
             : wrong(file, "it is neither a folder nor a Dockerfile", err);
}

enum status isolation_open_container(const char *folder, message_fn message, struct arena *arena,
                                     struct isolation *isolation, struct error *err)
{
  char *real = realpath(folder, arena_alloc(arena, PATH_MAX));
  struct stat facts;
  isolation->container = folder;
  if (real == NULL)
    return error_set_errno(err, STATUS_INPUT, "cannot use the container", folder, "another folder");
  if (stat(real, &facts) == 0 && S_ISREG(facts.st_mode)) {
    XSP_TRY(require_text(real, err));
    XSP_TRY(isolation_build(real, message, arena, isolation, err));
  } else if (has(real, "oci-layout")) {
    XSP_TRY(open_image(real, message, arena, isolation, err));
  } else if (!has(real, "usr") && !has(real, "lib") && !has(real, "bin")) {
    return wrong(folder, "it has neither oci-layout nor usr, lib or bin", err);
  } else {
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
