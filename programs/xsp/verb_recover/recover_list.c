// SPDX-License-Identifier: Apache-2.0
// Lists what `xsp recover` could take. Called by verb_recover.c.
#include "programs/xsp/verb_recover/recover_list.h"

#include "base/slice.h"
#include "base/vector.h"
#include "collect/collect.h"
#include "programs/xsp/output.h"
#include "store/leftovers.h"
#include "table/builder.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEFT_OVER "nothing to recover: rm -r"

static void put_row(struct table_builder *table, const char *kind, const char *path, int64_t modified_s,
                    struct table_cell size_bytes, const char *state)
{
  time_t seconds = (time_t)modified_s;
  struct tm local;
  char when[64] = "";
  if (localtime_r(&seconds, &local) != NULL)
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
  table_row(table);
  table_put(table, "kind", cell_text(kind));
  table_put(table, "path", cell_text(path));
  table_put(table, "modified", cell_text(arena_copy(table->arena, when, strlen(when))));
  table_put_optional(table, "size_bytes", size_bytes);
  table_put_optional(table, "state", cell_text(state));
}

// ---- folders that a killed xsp left ------------------------------------------------------------------------------------
struct folder {
  const char *path;
  int64_t modified_s;
  bool is_in_use;
};
typedef VECTOR(struct folder) folder_list;

static void add_folder(const char *path, struct arena *arena, folder_list *folders)
{
  struct stat facts;
  if (lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid())
    return;
  for (size_t i = 0; i < folders->count; i++)
    if (strcmp(folders->items[i].path, path) == 0)
      return;
  DIR *folder SCOPED(scoped_closedir) = opendir(path);
  bool is_in_use = folder != NULL && flock(dirfd(folder), LOCK_SH | LOCK_NB) != 0; // by who made it
  *vector_add(folders) = (struct folder){arena_copy(arena, path, strlen(path)), facts.st_mtim.tv_sec, is_in_use};
}

// Of runners (lab/launch/runner_process.c) and keepers (lab/isolation/keeper.c).
static void find_folders(struct arena *arena, folder_list *folders)
{
  const char *bases[] = {getenv("TMPDIR"), "/tmp"};
  char path[PATH_MAX];
  for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
    DIR *base SCOPED(scoped_closedir) = bases[i] != NULL ? opendir(bases[i]) : NULL;
    for (struct dirent *entry; base != NULL && (entry = readdir(base)) != NULL;)
      if ((text_begins_with(entry->d_name, "xsp-work-") || text_begins_with(entry->d_name, "xsp-isolation-")) &&
          snprintf(path, sizeof path, "%s/%s", bases[i], entry->d_name) < (int)sizeof path)
        add_folder(path, arena, folders);
  }
}

enum status recover_list(bool is_json, struct error *err)
{
  folder_list folders SCOPED(vector_end) = {0};
  struct arena arena SCOPED(arena_done) = {0};
  struct collect_found *sessions = NULL;
  struct leftover *files = NULL;
  size_t session_count = 0, file_count = 0;
  collect_find(&arena, &sessions, &session_count);
  enum status status = leftovers_find(".", NULL, &arena, &files, &file_count, err);
  find_folders(&arena, &folders);
  struct table_builder builder;
  struct table table = {0};
  table_start(&builder, &arena);
  put_row(&builder, "", "", 0, (struct table_cell){0}, "");
  table_declared(&builder, session_count + file_count + folders.count);
  for (size_t i = 0; i < session_count; i++)
    put_row(&builder, sessions[i].is_left_over ? "folder" : "session", sessions[i].path, sessions[i].modified_s,
            (struct table_cell){0},
            sessions[i].is_left_over ? LEFT_OVER
            : sessions[i].is_in_use  ? "in use"
                                     : NULL);
  for (size_t i = 0; i < folders.count; i++)
    put_row(&builder, "folder", folders.items[i].path, folders.items[i].modified_s, (struct table_cell){0},
            folders.items[i].is_in_use ? "in use" : LEFT_OVER);
  for (size_t i = 0; i < file_count; i++)
    put_row(&builder, "file", files[i].path, files[i].modified_s, cell_int(files[i].size_bytes), NULL);
  table_answer(&builder, &table);
  if (status == STATUS_OK && table.row_count == 0 && !is_json)
    output_message("xsp: nothing to recover: no session of yours in /dev/shm, TMPDIR or /tmp, no unfinished file here");
  else if (status == STATUS_OK)
    status = output_tables(&table, 1, is_json ? REPORT_JSON : REPORT_TEXT, false, err);
  return status;
}
