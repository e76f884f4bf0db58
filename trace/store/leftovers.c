// SPDX-License-Identifier: Apache-2.0
// Names of unfinished files, set aside and found again. Called by write.c and by `xsp recover`.
#include "store/leftovers.h"

#include "base/file_place.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/slice.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTIAL ".partial"
#define NUMBERS_MOST 100000u // a folder with more is not asked further

// ---- finding ---------------------------------------------------------------------------------------------------------
// "", "~", "~2"
static bool is_numbering(const char *text)
{
  return text[0] == 0 || (text[0] == '~' && strspn(text + 1, "0123456789") == strlen(text + 1));
}

// NAME.PID.partial: an export's, which is no trace, whatever its format.
static bool is_export(struct slice output)
{
  size_t length = output.length;
  while (length > 0 && output.data[length - 1] >= '0' && output.data[length - 1] <= '9')
    length--;
  return length > 0 && length < output.length && output.data[length - 1] == '.' &&
         !(length > 4 && memcmp(output.data + length - 5, ".xsp", 4) == 0);
}

static bool is_leftover(const char *entry, const char *name)
{
  const char *end = NULL; // the last .partial of the entry
  for (const char *at = entry; (at = strstr(at, PARTIAL)) != NULL; at++)
    end = at;
  if (end == NULL || end == entry || !is_numbering(end + sizeof PARTIAL - 1))
    return false;
  struct slice output = {entry, (size_t)(end - entry)};
  return name == NULL ? !is_export(output) : slice_is(output, name);
}

// Writers of traces begin with a whole header; an unfinished file without it holds nothing.
static bool is_database(int folder, const char *entry, struct stat *ret_facts)
{
  char head[16];
  int file SCOPED(scoped_close) = regular_file_open(folder, entry, O_RDONLY, ret_facts);
  return file >= 0 && pread(file, head, sizeof head, 0) == sizeof head && memcmp(head, "SQLite format 3", 16) == 0;
}

SORTED_BY(compare_paths, struct leftover, strcmp(a->path, b->path))

enum status leftovers_find(const char *folder, const char *name, struct arena *arena, struct leftover **ret_leftovers,
                           size_t *ret_count, struct error *err)
{
  VECTOR(struct leftover) found SCOPED(vector_end) = {0};
  DIR *entries SCOPED(scoped_closedir) = opendir(folder);
  if (entries == NULL)
    return error_set_errno(err, STATUS_INPUT, "cannot look for unfinished traces", folder, NULL);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    struct stat facts;
    if (!is_leftover(entry->d_name, name) || !is_database(dirfd(entries), entry->d_name, &facts))
      continue;
    const char *path = strcmp(folder, ".") == 0 ? arena_copy(arena, entry->d_name, strlen(entry->d_name))
                                                : arena_format(arena, "%s/%s", folder, entry->d_name);
    *vector_add(&found) = (struct leftover){path, facts.st_size, facts.st_mtim.tv_sec};
  }
  vector_sort(&found, compare_paths);
  *ret_count = found.count;
  *ret_leftovers = arena_alloc_array(arena, found.count + 1, sizeof **ret_leftovers);
  for (size_t i = 0; i < found.count; i++)
    (*ret_leftovers)[i] = found.items[i];
  return STATUS_OK;
}

// ---- setting aside ---------------------------------------------------------------------------------------------------
// A journal without its file may be all that is left too: its name counts as taken.
static bool has_journal(const char *path)
{
  char *journal SCOPED(scoped_free) = memory_resize(NULL, strlen(path) + sizeof "-journal", 1);
  struct stat facts;
  sprintf(journal, "%s-journal", path);
  bool has = lstat(journal, &facts) == 0;
  return has;
}

enum status leftover_set_aside(const char *partial_path, char **ret_path, struct error *err)
{
  size_t size = strlen(partial_path) + sizeof "~4294967295-journal";
  char *aside = memory_new(size, 1), *from = memory_new(size, 1), *to = memory_new(size, 1);
  int code = -1;
  errno = EEXIST;
  for (unsigned number = 1; code != 0 && errno == EEXIST && number <= NUMBERS_MOST; number++) {
    snprintf(aside, size, number == 1 ? "%s~" : "%s~%u", partial_path, number);
    if (!has_journal(aside))
      code = file_place(partial_path, aside, false);
  }
  snprintf(from, size, "%s-journal", partial_path);
  snprintf(to, size, "%s-journal", aside);
  enum status status = STATUS_OK;
  if (code != 0 || (file_place(from, to, false) != 0 && errno != ENOENT))
    status = error_set_errno(err, STATUS_SYSTEM, "cannot set aside an unfinished trace",
                             code == 0 ? from : partial_path, "another output path");
  free(from);
  free(to);
  if (status == STATUS_OK)
    *ret_path = aside;
  else
    free(aside);
  return status;
}
