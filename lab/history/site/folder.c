// SPDX-License-Identifier: Apache-2.0
// The folder of a site. Pages are made in a folder inside it, then renamed one by one, so that every page is complete at any time. A
// list of what was written is kept, since other files in the folder stay. Called by pages.c.
#include "history/site/site.h"

#include "base/file_place.h"
#include "base/folder.h"
#include "base/input_file.h"
#include "base/interner.h"
#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGING ".xsp-publish"
#define LIST ".xsp-site" // names of the site's pages, one on each line
#define LIST_BYTES_MOST ((size_t)64 << 20)

static const char *const folders[] = {"models", "systems", "reports"};
static const char what[] = "cannot publish";

static const char *path_of(struct site *site, const char *folder, const char *name)
{
  return arena_format(&site->arena, "%s/%s", folder, name);
}

static enum status failed(const char *path, struct error *err)
{
  return error_set_errno(err, STATUS_SYSTEM, what, path, "another folder, with room and the right to write");
}

static enum status make_folder(const char *path, mode_t mode, struct error *err)
{
  struct stat facts;
  if (mkdir(path, mode) == 0 || (errno == EEXIST && lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode)))
    return STATUS_OK;
  if (errno == EEXIST)
    return error_set(err, STATUS_USE, what, path, "another folder", "it exists and is not a folder");
  return failed(path, err);
}

static void remove_staged(struct site *site)
{
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    folder_remove_flat(path_of(site, site->staging, folders[i]));
  unlink(path_of(site, site->staging, "index.html"));
  unlink(path_of(site, site->staging, LIST));
}

enum status history_site_folder_open(struct site *site, struct error *err)
{
  struct stat facts;
  site->staging = path_of(site, site->folder, STAGING);
  if (mkdir(site->folder, 0777) != 0 && errno != EEXIST)
    return failed(site->folder, err);
  if (stat(site->folder, &facts) != 0 || !S_ISDIR(facts.st_mode))
    return error_set(err, STATUS_USE, what, site->folder, "xsp publish DIR FILE...", "it is not a folder");
  XSP_TRY(make_folder(site->staging, 0700, err));
  site->lock = open(site->staging, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (site->lock < 0)
    return failed(site->staging, err);
  if (flock(site->lock, LOCK_EX | LOCK_NB) != 0)
    return error_set(err, STATUS_USE, what, site->folder, "when it is done", "another xsp publishes there");
  remove_staged(site); // what a killed process left
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    XSP_TRY(make_folder(path_of(site, site->staging, folders[i]), 0700, err));
  return STATUS_OK;
}

const char *history_site_folder_stage(struct site *site, const char *name)
{
  *vector_add(&site->pages) = name;
  return path_of(site, site->staging, name);
}

static enum status write_file(const char *path, struct buf *text, struct error *err)
{
  FILE *file = text->failed ? NULL : fopen(path, "wxe");
  if (text->failed)
    return error_set(err, STATUS_MEMORY, what, path, "fewer evaluations: --since, --top", "the page is too large");
  if (file == NULL)
    return failed(path, err);
  bool is_written =
      fwrite(text->data, 1, text->length, file) == text->length && fflush(file) == 0 && fsync(fileno(file)) == 0;
  int problem = errno;
  if ((fclose(file) == 0 && is_written))
    return STATUS_OK;
  errno = is_written ? errno : problem;
  return failed(path, err);
}

enum status history_site_folder_write(struct site *site, const char *name, struct buf *page, struct error *err)
{
  enum status status = write_file(history_site_folder_stage(site, name), page, err);
  buf_done(page);
  return status;
}

// ---- what earlier calls wrote ----------------------------------------------------------------------------------------
// The list is in a folder of others': a name that no page has is not believed.
static bool is_page(const char *name)
{
  if (strcmp(name, "index.html") == 0)
    return true;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    size_t length = strlen(folders[i]);
    if (text_begins_with(name, folders[i]) && name[length] == '/' && text_ends_with(name, ".html"))
      return name[length + 1 + strspn(name + length + 1, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == 0;
  }
  return false;
}

static enum status read_list(struct site *site, struct interner *pages, struct error *err)
{
  const char *path = path_of(site, site->folder, LIST);
  char *line SCOPED(scoped_free) = NULL;
  size_t room = 0, bytes = 0;
  struct stat facts;
  FILE *file SCOPED(scoped_fclose) = NULL;
  if (lstat(path, &facts) != 0 && errno == ENOENT)
    return STATUS_OK;
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, what, &file, err));
  for (ssize_t length; bytes < LIST_BYTES_MOST && (length = getline(&line, &room, file)) > 0; bytes += (size_t)length) {
    line[strcspn(line, "\n")] = 0;
    if (is_page(line))
      interner_at(pages, line, strlen(line));
  }
  return STATUS_OK;
}

static enum status write_list(struct site *site, const struct interner *pages, struct error *err)
{
  struct buf text = {0};
  for (uint32_t i = 0; i < interner_count(pages); i++)
    buf_format(&text, "%s\n", interner_text(pages, i).data);
  const char *path = path_of(site, site->staging, LIST);
  enum status status = write_file(path, &text, err);
  buf_done(&text);
  XSP_TRY(status);
  return file_place(path, path_of(site, site->folder, LIST), true) == 0 ? STATUS_OK : failed(site->folder, err);
}

// ---- into place ------------------------------------------------------------------------------------------------------
static enum status check_names(struct site *site, struct interner *old, struct error *err)
{
  for (size_t i = 0; i < site->pages.count; i++) {
    uint32_t unused;
    struct stat facts;
    const char *name = site->pages.items[i], *path = path_of(site, site->folder, name);
    if (!interner_find(old, name, strlen(name), &unused) && lstat(path, &facts) == 0)
      return error_set(err, STATUS_USE, what, path, "another folder", "it exists, and xsp publish did not write it");
  }
  return STATUS_OK;
}

static enum status move(struct site *site, const char *name, struct error *err)
{
  const char *path = path_of(site, site->folder, name);
  return file_place(path_of(site, site->staging, name), path, true) == 0 ? STATUS_OK : failed(path, err);
}

static enum status move_all(struct site *site, struct interner *old, struct error *err)
{
  struct interner all = {0}; // of both, so that a call that ends early is followed by one that knows its pages
  XSP_TRY(check_names(site, old, err));
  for (uint32_t i = 0; i < interner_count(old); i++)
    interner_at(&all, interner_text(old, i).data, interner_text(old, i).length);
  for (size_t i = 0; i < site->pages.count; i++)
    interner_at(&all, site->pages.items[i], strlen(site->pages.items[i]));
  enum status status = write_list(site, &all, err);
  interner_done(&all);
  for (size_t i = 0; status == STATUS_OK && i < sizeof folders / sizeof folders[0]; i++)
    status = make_folder(path_of(site, site->folder, folders[i]), 0777, err);
  for (size_t i = 0; status == STATUS_OK && i < site->pages.count; i++)
    if (strcmp(site->pages.items[i], "index.html") != 0)
      status = move(site, site->pages.items[i], err);
  return status == STATUS_OK ? move(site, "index.html", err) : status;
}

enum status history_site_folder_move(struct site *site, struct error *err)
{
  struct interner old SCOPED(interner_done) = {0}, pages SCOPED(interner_done) = {0};
  XSP_TRY(read_list(site, &old, err));
  XSP_TRY(move_all(site, &old, err));
  for (size_t i = 0; i < site->pages.count; i++)
    interner_at(&pages, site->pages.items[i], strlen(site->pages.items[i]));
  for (uint32_t i = 0; i < interner_count(&old); i++) {
    uint32_t unused;
    struct slice name = interner_text(&old, i);
    if (!interner_find(&pages, name.data, name.length, &unused))
      unlink(path_of(site, site->folder, name.data));
  }
  return write_list(site, &pages, err);
}

void history_site_folder_close(struct site *site)
{
  if (site->lock < 0)
    return;
  remove_staged(site);
  rmdir(site->staging);
  close(site->lock);
}
