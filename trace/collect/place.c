// SPDX-License-Identifier: Apache-2.0
// Opens and removes session folders; see place.h. Called by folder.c, rings.c and tracks.c.
//
// Folders are in places that everybody writes to (/dev/shm). Owner and mode are those of the descriptor, so that nobody
// can exchange anything after the check: only the caller, or root, can then put files into the folder.
#include "collect/place.h"

#include "base/input_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define MOUNT_NAME "xsp-session"
#define FILES_MOST 65536u // of a bounded session

static enum status check_owner(int folder, const char *path, const char *what, struct error *err)
{
  struct stat facts;
  if (fstat(folder, &facts) != 0)
    return error_set_errno(err, STATUS_INPUT, what, path, NULL);
  if (facts.st_uid != geteuid())
    return error_set(err, STATUS_INPUT, what, path, "as that user", "it belongs to user %u", (unsigned)facts.st_uid);
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return error_set(err, STATUS_INPUT, what, path, "chmod go-w, if its files are all yours",
                     "other users can write to it");
  return STATUS_OK;
}

enum status collect_place_open(const char *directory, const char *what, char *ret_path, size_t size, int *ret_folder,
                               struct error *err)
{
  char path[PATH_MAX];
  *ret_folder = -1;
  if (realpath(directory, path) == NULL)
    return error_set_errno(err, STATUS_INPUT, what, directory, NULL);
  if (strlen(path) >= size)
    return error_set(err, STATUS_INPUT, what, directory, NULL, "the path is too long");
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0)
    return error_set_errno(err, STATUS_INPUT, what, directory, NULL);
  enum status status = check_owner(folder, directory, what, err);
  if (status != STATUS_OK) {
    close(folder);
    return status;
  }
  memcpy(ret_path, path, strlen(path) + 1);
  *ret_folder = folder;
  return STATUS_OK;
}

int collect_place_file(int folder, const char *name, int flags, struct stat *ret_facts)
{
  int file = regular_file_open(folder, name, flags, ret_facts);
  if (file < 0 && errno == EWOULDBLOCK) { // another xsp asks whether it is alone: until it has the answer
    int waited = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    if (waited >= 0)
      close(waited);
    file = regular_file_open(folder, name, flags, ret_facts);
  }
  if (file < 0 || ret_facts->st_uid == geteuid())
    return file;
  close(file);
  errno = EPERM;
  return -1;
}

// ---- removing --------------------------------------------------------------------------------------------------------
static bool is_session_file(const char *name)
{
  static const char *const prefixes[] = {"ring-", "process-", "tracer-", ".session-", ".catalog-"};
  if (strcmp(name, "session") == 0 || strcmp(name, "catalog") == 0 || strcmp(name, "arrivals") == 0 ||
      strcmp(name, "collector") == 0 || strcmp(name, "tracks") == 0)
    return true;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t length = strlen(prefixes[i]);
    if (strncmp(name, prefixes[i], length) == 0 && name[length] != '\0' &&
        strspn(name + length, "0123456789") == strlen(name + length))
      return true;
  }
  return false;
}

// The mount is xsp's own, not one of the user's on a folder that programs recorded into.
static bool is_bounded(const char *path)
{
  FILE *mounts = setmntent("/proc/self/mounts", "re");
  struct mntent entry;
  char text[4 * PATH_MAX];
  bool is_own = false;
  while (mounts != NULL && getmntent_r(mounts, &entry, text, sizeof text) != NULL)
    if (strcmp(entry.mnt_dir, path) == 0) // the last one is on top
      is_own = strcmp(entry.mnt_fsname, MOUNT_NAME) == 0 && strcmp(entry.mnt_type, "tmpfs") == 0;
  if (mounts != NULL)
    endmntent(mounts);
  return is_own;
}

bool collect_place_lock(int file)
{
  return fcntl(file, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK}) == 0;
}

bool collect_place_is_locked(int file)
{
  struct flock lock = {.l_type = F_WRLCK};
  return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// The kernel gives a lease for writing to the only one that has a file. Who opens the file between the two calls gets EWOULDBLOCK, or
// waits, and xsp gets a signal that nobody sees. A traced program does not wait, as xsp may be stopped here (capture_file_map).
bool collect_place_is_alone(int file)
{
  if (fcntl(file, F_SETSIG, SIGURG) != 0 || fcntl(file, F_SETLEASE, F_WRLCK) != 0)
    return false;
  (void)fcntl(file, F_SETLEASE, F_UNLCK);
  return true;
}

enum status collect_place_bound(const char *path, const char *what, uint64_t bytes, struct error *err)
{
  char options[128];
  snprintf(options, sizeof options, "size=%" PRIu64 ",nr_inodes=%u,mode=0700", bytes, FILES_MOST);
  if (mount(MOUNT_NAME, path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0)
    return STATUS_OK;
  return error_set_errno(err, STATUS_SYSTEM, what, path, "a machine or container in which xsp may mount a tmpfs");
}

void collect_place_remove(int folder, const char *path)
{
  DIR *entries = fdopendir(folder);
  if (!entries) {
    close(folder);
    return;
  }
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
    if (is_session_file(entry->d_name))
      (void)unlinkat(dirfd(entries), entry->d_name, 0);
  closedir(entries);
  if (geteuid() == 0 && is_bounded(path))
    (void)umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
  (void)rmdir(path);
}
