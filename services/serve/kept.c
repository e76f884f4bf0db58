// SPDX-License-Identifier: Apache-2.0
// Lists and opens what the server's folder holds. Called by handlers.
#include "serve/kept.h"

#include "base/clock.h"
#include "base/input_file.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "base/sorted.h"
#include "http/route.h"
#include "serve/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define WHAT "cannot read folder"
#define PARTIAL ".xsp-serve-"
#define PARTIAL_END ".partial"
#define PARTIALS_MOST 100000u // at a time

// ---- the folder ------------------------------------------------------------------------------------------------------
static DIR *list(int folder, const char *name)
{
  int own = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); // threads must not share a position
  return own >= 0 ? fdopendir(own) : NULL;
}

void kept_remove_partials(int folder, const char *name, const char *beginning)
{
  DIR *entries SCOPED(scoped_closedir) = list(folder, name);
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
    if (text_begins_with(entry->d_name, beginning) && text_ends_with(entry->d_name, PARTIAL_END))
      unlinkat(dirfd(entries), entry->d_name, 0);
}

enum status kept_folder_open(const char *path, int *ret_folder, struct error *err)
{
  *ret_folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*ret_folder < 0)
    return error_set_errno(err, STATUS_SYSTEM, WHAT, path, "--dir with another folder");
  kept_remove_partials(*ret_folder, ".", PARTIAL);
  return STATUS_OK;
}

// ---- its files -------------------------------------------------------------------------------------------------------

int kept_open(int folder, const char *name, struct stat *ret_facts)
{
  return regular_file_open(folder, name, O_RDONLY, ret_facts);
}

static bool has_journal(int folder, const char *name)
{
  char journal[300];
  snprintf(journal, sizeof journal, "%.*s.journal", (int)(strlen(name) - strlen(".xsp")), name);
  return faccessat(folder, journal, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

SORTED_BY(newest_first, struct kept_file, FALLING(changed_ns) ?: strcmp(b->name, a->name))

enum status kept_list(int folder, struct kept_files *ret_files, struct error *err)
{
  *ret_files = (struct kept_files){0};
  DIR *entries SCOPED(scoped_closedir) = list(folder, ".");
  if (entries == NULL)
    return error_set_errno(err, STATUS_SYSTEM, WHAT, NULL, NULL);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    struct stat facts;
    if (!route_is_file_name(entry->d_name) || fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode))
      continue;
    struct kept_file *file = vector_add(&ret_files->list);
    snprintf(file->name, sizeof file->name, "%s", entry->d_name);
    file->bytes = (uint64_t)facts.st_size;
    file->number = facts.st_ino;
    file->changed_ns = clock_ns_of(facts.st_mtim);
    file->is_growing = has_journal(folder, file->name);
  }
  vector_sort(&ret_files->list, newest_first);
  return STATUS_OK;
}

// ---- new ones --------------------------------------------------------------------------------------------------------
int kept_partial(int folder, char ret_name[KEPT_PARTIAL_SIZE])
{
  for (unsigned i = 0; i < PARTIALS_MOST; i++) {
    snprintf(ret_name, KEPT_PARTIAL_SIZE, PARTIAL "%u" PARTIAL_END, i);
    int file = openat(folder, ret_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST)
      return file;
  }
  return -1;
}

int kept_temporary(int folder)
{
  char name[KEPT_PARTIAL_SIZE];
  int file = kept_partial(folder, name);
  if (file >= 0)
    unlinkat(folder, name, 0);
  return file;
}

// ---- uses ------------------------------------------------------------------------------------------------------------
void kept_use(struct kept_uses *uses, const char *name)
{
  SCOPED_LOCK(&uses->lock);
  *vector_add(&uses->names) = name;
}

void kept_use_end(struct kept_uses *uses, const char *name)
{
  SCOPED_LOCK(&uses->lock);
  size_t at = 0;
  while (uses->names.items[at] != name)
    at++;
  uses->names.items[at] = uses->names.items[--uses->names.count];
}

bool kept_remove(struct kept_uses *uses, int folder, const char *name)
{
  bool is_used = false;
  SCOPED_LOCK(&uses->lock);
  for (size_t i = 0; i < uses->names.count; i++)
    is_used |= strcmp(uses->names.items[i], name) == 0;
  return !is_used && unlinkat(folder, name, 0) == 0;
}
