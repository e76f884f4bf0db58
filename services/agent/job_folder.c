// SPDX-License-Identifier: Apache-2.0
// Records of evaluations as files; see job_folder.h. Never follows links, removes only what has an agent's names.
#include "agent/job_folder.h"

#include "base/file_place.h"
#include "base/folder.h"
#include "base/input_file.h"
#include "base/transfer.h"
#include "base/vector.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#define ENDING ".evaluation"
#define LOCK_NAME ".xsp-agent.lock"
#define RECORD_BYTES_MOST ((size_t)1 << 20) // a request has at most 256 KiB; escapes make it longer
static const char cannot_keep[] = "cannot keep evaluations";

// ---- the folder ------------------------------------------------------------------------------------------------------
enum status job_folder_open(const char *path, struct job_folder *ret_folder, struct error *err)
{
  *ret_folder = JOB_FOLDER_CLOSED;
  ret_folder->path = path;
  XSP_TRY(folder_keep(path, cannot_keep, "--state FOLDER", &ret_folder->file, err));
  ret_folder->lock = openat(ret_folder->file, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (ret_folder->lock < 0)
    return error_set_errno(err, STATUS_SYSTEM, cannot_keep, path, "--state with a folder that can be written to");
  if (flock(ret_folder->lock, LOCK_EX | LOCK_NB) != 0)
    return error_set(err, STATUS_SYSTEM, cannot_keep, path, "--name NAME, or --state with another folder",
                     "another xsp agent uses it");
  return STATUS_OK;
}

void job_folder_close(struct job_folder *folder)
{
  if (folder->lock >= 0)
    close(folder->lock);
  if (folder->file >= 0)
    close(folder->file);
  *folder = JOB_FOLDER_CLOSED;
}

void job_folder_path(const struct job_folder *folder, const char *id, const char *name, char path[PATH_MAX])
{
  snprintf(path, PATH_MAX, "%s/%s%s%s", folder->path, id, name != NULL ? "/" : "", name != NULL ? name : "");
}

static void record_path(const struct job_folder *folder, const char *id, char path[PATH_MAX])
{
  snprintf(path, PATH_MAX, "%s/%s" ENDING, folder->path, id);
}

// ---- what is there ---------------------------------------------------------------------------------------------------
// The name's beginning is an id; *ret_rest is what follows.
static bool begins_with_id(const char *name, const char **ret_rest)
{
  size_t digits = strspn(name, "0123456789abcdef");
  *ret_rest = name + digits;
  return digits == JOB_ID_DIGITS;
}

// Of a record that was being written, or of an evaluation whose record is gone.
static void remove_leftover(const struct job_folder *folder, const char *name, const char *rest)
{
  char path[PATH_MAX];
  if (text_begins_with(rest, ENDING ".") && text_ends_with(rest, ".partial"))
    unlinkat(folder->file, name, 0);
  record_path(folder, name, path);
  if (*rest == 0 && access(path, F_OK) != 0) {
    job_folder_path(folder, name, NULL, path);
    folder_remove_tree(path);
  }
}

enum status job_folder_list(const struct job_folder *folder, struct arena *arena, const char *const **ret_ids,
                            struct error *err)
{
  VECTOR(const char *) ids SCOPED(vector_end) = {0};
  int copy = openat(folder->file, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries SCOPED(scoped_closedir) = copy >= 0 ? fdopendir(copy) : NULL;
  if (entries == NULL) {
    enum status status = error_set_errno(err, STATUS_SYSTEM, cannot_keep, folder->path, "--state FOLDER");
    if (copy >= 0)
      close(copy);
    return status;
  }
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    const char *rest;
    if (!begins_with_id(entry->d_name, &rest))
      continue;
    if (strcmp(rest, ENDING) == 0)
      *vector_add(&ids) = arena_copy(arena, entry->d_name, JOB_ID_DIGITS);
    else
      remove_leftover(folder, entry->d_name, rest);
  }
  const char **list = arena_alloc_array(arena, ids.count + 1, sizeof *list);
  if (ids.count > 0)
    memcpy(list, ids.items, ids.count * sizeof *list);
  *ret_ids = list;
  return STATUS_OK;
}

// ---- a record --------------------------------------------------------------------------------------------------------
enum status job_folder_read(const struct job_folder *folder, const char *id, struct arena *arena,
                            struct job_record *ret_record, struct error *err)
{
  static const char what[] = "cannot read the evaluation";
  char path[PATH_MAX];
  struct buf text SCOPED(buf_done);
  buf_init(&text, RECORD_BYTES_MOST);
  record_path(folder, id, path);
  enum status status = input_file_read(path, what, &text, err);
  const char *problem =
      status == STATUS_OK ? job_record_read((struct slice){text.data, text.length}, arena, ret_record) : NULL;
  if (problem != NULL)
    status = error_set(err, STATUS_INPUT, what, path, "removing this file", "%s", problem);
  return status;
}

enum status job_folder_write(const struct job_folder *folder, const char *id, const struct job_record *record,
                             struct error *err)
{
  char path[PATH_MAX], partial[PATH_MAX];
  struct buf text SCOPED(buf_done) = {0};
  enum status status = STATUS_OK;
  record_path(folder, id, path);
  job_record_write(record, &text);
  int file = file_place_begin(path, partial);
  if (file < 0 || fchmod(file, 0600) != 0 || !transfer_write(file, text.data, text.length) || fsync(file) != 0 ||
      file_place(partial, path, true) != 0)
    status = error_set_errno(err, STATUS_SYSTEM, cannot_keep, folder->path, "freeing space");
  else
    fsync(folder->file); // some file systems cannot; then only a power failure matters
  if (file >= 0)
    close(file);
  if (file >= 0 && status != STATUS_OK)
    unlink(partial);
  return status;
}

void job_folder_remove(const struct job_folder *folder, const char *id)
{
  char path[PATH_MAX];
  record_path(folder, id, path);
  unlink(path); // first: without it the rest is a leftover
  job_folder_path(folder, id, NULL, path);
  folder_remove_tree(path);
}
