// SPDX-License-Identifier: Apache-2.0
// Removes the runner's work folder (from xsp or from the runner, whichever ends last) and half-made models; see folder.h. Makes the
// folders of publish/ and agent/, whose contents outlive them.
#include "base/folder.h"

#include "base/memory.h"
#include "base/scoped.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void folder_remove_flat(const char *path)
{
  DIR *folder SCOPED(scoped_closedir) = opendir(path);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    unlinkat(dirfd(folder), entry->d_name, 0);
  rmdir(path);
}

// ---- trees -----------------------------------------------------------------------------------------------------------
// Folders inside are moved up to the root of the tree, where they are emptied in turn. So two descriptors are enough for any depth, no
// path is built, and nothing leads out of the tree, whatever it holds and whoever changes it meanwhile.

static bool remove_at(int folder, const char *name)
{
  return unlinkat(folder, name, 0) == 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

static bool is_entry(const struct dirent *entry)
{
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

// Takes what is in a folder of `root` away. True: something was.
static bool empty_inner(int root, const char *name, unsigned *number)
{
  int file = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *inner SCOPED(scoped_closedir) = file >= 0 ? fdopendir(file) : NULL;
  bool has_moved = false;
  if (inner == NULL) {
    if (file >= 0)
      close(file);
    return false;
  }
  (void)fchmod(file, 0700); // it may forbid its owner to remove what is in it
  for (struct dirent *entry; (entry = readdir(inner)) != NULL;) {
    char moved[32];
    if (!is_entry(entry))
      continue;
    snprintf(moved, sizeof moved, "xsp-removed-%u", ++*number); // where it is taken, the next number is tried later
    has_moved |= remove_at(file, entry->d_name) || renameat(file, entry->d_name, root, moved) == 0;
  }
  return has_moved;
}

static bool remove_some(DIR *root, unsigned *number)
{
  bool has_removed = false;
  rewinddir(root);
  for (struct dirent *entry; (entry = readdir(root)) != NULL;)
    if (is_entry(entry))
      has_removed |= remove_at(dirfd(root), entry->d_name) || empty_inner(dirfd(root), entry->d_name, number);
  return has_removed;
}

void folder_remove_tree(const char *path)
{
  int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0)
    unlink(path); // a file or a link
  DIR *root = file >= 0 ? fdopendir(file) : NULL;
  unsigned number = 0;
  while (root != NULL && remove_some(root, &number))
    continue;
  if (root != NULL)
    closedir(root);
  else if (file >= 0)
    close(file);
  rmdir(path);
}

// ---- keeping ---------------------------------------------------------------------------------------------------------
bool folder_state_path(const char *name, char *path, size_t size)
{
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  int length = -1;
  if (state != NULL && state[0] == '/') // others are to be ignored, says the standard
    length = snprintf(path, size, "%s/xsp/%s", state, name);
  else if (home != NULL && home[0] == '/')
    length = snprintf(path, size, "%s/.local/state/xsp/%s", home, name);
  return length >= 0 && (size_t)length < size;
}

// Those above it, too.
static bool make(const char *path)
{
  char *part = memory_text(path);
  bool is_there = true;
  for (char *slash = part; is_there && (slash = strchr(slash + 1, '/')) != NULL;) {
    *slash = 0;
    is_there = mkdir(part, 0700) == 0 || errno == EEXIST;
    *slash = '/';
  }
  free(part);
  return is_there && (mkdir(path, 0700) == 0 || errno == EEXIST);
}

enum status folder_keep(const char *path, const char *what, const char *advice, int *ret_folder, struct error *err)
{
  struct stat facts;
  errno = ENOENT; // of an empty path
  int folder = *path != 0 && make(path) ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  enum status status = STATUS_OK;
  *ret_folder = -1;
  if (folder < 0 || fstat(folder, &facts) != 0)
    status = error_set_errno(err, STATUS_SYSTEM, what, path, advice);
  else if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    status = error_set(err, STATUS_SYSTEM, what, path, advice, "other users can write to it");
  if (status == STATUS_OK)
    *ret_folder = folder;
  else if (folder >= 0)
    close(folder);
  return status;
}
