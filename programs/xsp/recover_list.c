// SPDX-License-Identifier: Apache-2.0
// Lists what `xsp recover` could take. Called by verb_recover.c.
#include "programs/xsp/recover_list.h"

#include "collect/collect.h"
#include "programs/xsp/output.h"
#include "store/leftovers.h"
#include "table/builder.h"

#include <string.h>
#include <time.h>

static void put_row(struct table_builder *table, const char *kind, const char *path, int64_t modified_s,
                    struct table_cell size_bytes, const char *state)
{
  time_t seconds = (time_t)modified_s;
  struct tm local;
  char when[64] = "";
  if (localtime_r(&seconds, &local) != NULL)
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
  table_row(table);
  table_put(table, "kind", "", "kind", cell_text(kind));
  table_put(table, "path", "", "path", cell_text(path));
  table_put(table, "modified", "", "modified", cell_text(arena_copy(table->arena, when, strlen(when))));
  table_put_optional(table, "size_bytes", "bytes", "size", size_bytes);
  table_put_optional(table, "state", "", "state", cell_text(state));
}

enum status recover_list(struct error *err)
{
  struct arena arena = {0};
  struct collect_found *sessions = NULL;
  struct leftover *files = NULL;
  size_t session_count = 0, file_count = 0;
  collect_find(&arena, &sessions, &session_count);
  enum status status = leftovers_find(".", NULL, &arena, &files, &file_count, err);
  struct table_builder builder;
  struct table table = {0};
  table_start(&builder, &arena);
  put_row(&builder, "", "", 0, (struct table_cell){0}, "");
  table_declared(&builder, session_count + file_count);
  for (size_t i = 0; i < session_count; i++)
    put_row(&builder, "session", sessions[i].path, sessions[i].modified_s, (struct table_cell){0},
            sessions[i].is_in_use ? "in use" : NULL);
  for (size_t i = 0; i < file_count; i++)
    put_row(&builder, "file", files[i].path, files[i].modified_s, cell_int(files[i].size_bytes), NULL);
  table_answer(&builder, &table);
  if (status == STATUS_OK && table.row_count == 0)
    output_message("xsp: nothing to recover: no session of yours in /dev/shm, TMPDIR or /tmp, no unfinished file here");
  else if (status == STATUS_OK)
    status = output_tables(&table, 1, REPORT_TEXT, false, err);
  arena_done(&arena);
  return status;
}
