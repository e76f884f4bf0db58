// SPDX-License-Identifier: Apache-2.0
// Unpacks layers; see layer.h. Each path is resolved by the kernel with the root folder as its "/", so that links of the image stay in
// it; the last part of a path is never followed.
#include "isolation/layer.h"

#include "base/folder.h"
#include "base/root.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "base/transfer.h"
#include "isolation/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"

// ---- places ------------------------------------------------------------------------------------------------------------

static int open_inside(int root, const char *path)
{
  return root_open(root, path, O_PATH | O_DIRECTORY);
}

// A folder whose parent is there; `path` is as before afterwards. Failures show when it is opened.
static void make_folder_at(int root, char *path)
{
  char *slash = strrchr(path, '/');
  if (slash != NULL)
    *slash = 0;
  int above SCOPED(scoped_close) = open_inside(root, slash != NULL ? path : "");
  if (slash != NULL)
    *slash = '/';
  if (above < 0)
    return;
  (void)!mkdirat(above, slash != NULL ? slash + 1 : path, 0755);
}

// Opens the folder that has the path's last part, which *ret_name gets. Makes missing folders, from the root on: a path may have
// thousands. -1 with errno.
static int open_parent(int root, const char *path, bool makes, const char **ret_name)
{
  char parent[PATH_MAX];
  const char *slash = strrchr(path, '/');
  snprintf(parent, sizeof parent, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
  *ret_name = slash != NULL ? slash + 1 : path;
  int folder = open_inside(root, parent);
  if (folder >= 0 || errno != ENOENT || !makes)
    return folder;
  for (char *end = strchr(parent, '/'); end != NULL; end = strchr(end + 1, '/')) {
    *end = 0;
    make_folder_at(root, parent);
    *end = '/';
  }
  make_folder_at(root, parent);
  return open_inside(root, parent);
}

static void remove_entry(int folder, const char *name)
{
  char path[NAME_MAX + 32];
  if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
    return;
  snprintf(path, sizeof path, "/proc/self/fd/%d/%s", folder, name);
  folder_remove_tree(path);
}

static enum status cannot(const char *path, struct error *err)
{
  return error_set_errno(err, STATUS_SYSTEM, "cannot unpack the image", path,
                         "XSP_IMAGE_CACHE: a folder with more room");
}

// ---- entries -----------------------------------------------------------------------------------------------------------

static enum status write_file(struct tar *tar, const struct tar_entry *entry, int folder, const char *name,
                              struct error *err)
{
  char bytes[65536];
  remove_entry(folder, name);
  int file SCOPED(scoped_close) = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return cannot(entry->path, err);
  for (uint64_t left = entry->size_bytes; left > 0;) {
    size_t part = left < sizeof bytes ? (size_t)left : sizeof bytes;
    XSP_TRY(tar_read(tar, bytes, part, err));
    if (!transfer_write(file, bytes, part))
      return cannot(entry->path, err);
    left -= part;
  }
  return fchmod(file, entry->mode) == 0 ? STATUS_OK : cannot(entry->path, err);
}

static bool make_folder(int folder, const char *name, unsigned mode)
{
  struct stat facts;
  if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(facts.st_mode))
    remove_entry(folder, name);
  return (mkdirat(folder, name, 0700) == 0 || errno == EEXIST) && fchmodat(folder, name, mode | 0700, 0) == 0;
}

static bool make_hard_link(int root, const char *target, int folder, const char *name)
{
  const char *target_name = NULL;
  int target_folder SCOPED(scoped_close) = open_parent(root, target, false, &target_name);
  if (target_folder < 0)
    return false;
  remove_entry(folder, name);
  return linkat(target_folder, target_name, folder, name, 0) == 0;
}

static enum status put(struct tar *tar, const struct tar_entry *entry, int root, struct error *err)
{
  const char *name = NULL;
  bool is_made;
  int folder SCOPED(scoped_close) = open_parent(root, entry->path, true, &name);
  if (folder < 0)
    return cannot(entry->path, err);
  if (entry->kind == TAR_FILE)
    return write_file(tar, entry, folder, name, err);
  if (entry->kind == TAR_FOLDER) {
    is_made = make_folder(folder, name, entry->mode);
  } else if (entry->kind == TAR_SYMLINK) {
    remove_entry(folder, name);
    is_made = symlinkat(entry->link, folder, name) == 0;
  } else {
    is_made = make_hard_link(root, entry->link, folder, name);
  }
  return is_made ? STATUS_OK : cannot(entry->path, err);
}

// ".wh.NAME": NAME of earlier layers is gone; ".wh..wh..opq": all that its folder had.
static enum status take_away(const struct tar_entry *entry, int root, struct error *err)
{
  const char *name = NULL;
  char place[PATH_MAX + 32];
  int folder SCOPED(scoped_close) = open_parent(root, entry->path, false, &name);
  if (folder < 0)
    return errno == ENOENT ? STATUS_OK : cannot(entry->path, err);
  const char *gone = name + strlen(WHITEOUT);
  if (strcmp(name, OPAQUE) == 0) {
    snprintf(place, sizeof place, "/proc/self/fd/%d/.", folder);
    folder_remove_tree(place); // what is in it: "." itself cannot be removed
  } else if (gone[0] == 0 || strcmp(gone, ".") == 0 || strcmp(gone, "..") == 0) {
    return error_set(err, STATUS_INPUT, "cannot unpack the layer", entry->path, NULL, "its whiteout names no file");
  } else {
    remove_entry(folder, gone);
  }
  return STATUS_OK;
}

static bool is_whiteout(const struct tar_entry *entry)
{
  const char *slash = strrchr(entry->path, '/');
  return text_begins_with(slash != NULL ? slash + 1 : entry->path, WHITEOUT);
}

// A whiteout is about earlier layers, wherever it is in the archive: hence once for them, once for all else.
static enum status pass(int archive, const char *archive_name, int root, bool is_for_whiteouts, struct error *err)
{
  struct tar tar;
  struct tar_entry entry;
  bool is_end = false;
  int file = fcntl(archive, F_DUPFD_CLOEXEC, 0);
  if (file < 0 || lseek(file, 0, SEEK_SET) != 0)
    return cannot(archive_name, err);
  XSP_TRY(tar_open(&tar, file, archive_name, err));
  enum status status = tar_next(&tar, &entry, &is_end, err);
  while (status == STATUS_OK && !is_end) {
    if (is_whiteout(&entry) && is_for_whiteouts)
      status = take_away(&entry, root, err);
    else if (!is_whiteout(&entry) && !is_for_whiteouts && entry.path[0] != 0)
      status = put(&tar, &entry, root, err);
    if (status == STATUS_OK)
      status = tar_next(&tar, &entry, &is_end, err);
  }
  tar_close(&tar);
  return status;
}

enum status isolation_layer_unpack(int archive, const char *archive_name, int root, struct error *err)
{
  XSP_TRY(pass(archive, archive_name, root, true, err));
  return pass(archive, archive_name, root, false, err);
}
