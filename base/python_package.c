// SPDX-License-Identifier: Apache-2.0
// Python packages by their metadata (NAME-VERSION.dist-info/METADATA): found and read, never imported.
#include "base/python_package.h"

#include "base/python.h"
#include "base/scoped.h"
#include "base/slice.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_SIZE 128
#define METADATA_BYTES 16384 // name and version are the first lines

struct package_search {
  char name[NAME_SIZE]; // normalised
  struct arena *arena;
  struct python_package *found;
};

// As Python's index does: case does not count, and runs of '-', '_' and '.' are the same.
static void normalise(const char *name, size_t length, char normal[NAME_SIZE])
{
  size_t used = 0;
  for (size_t i = 0; i < length && used + 1 < NAME_SIZE; i++) {
    bool is_mark = strchr("-_.", name[i]) != NULL;
    if (!is_mark)
      normal[used++] = (char)tolower((unsigned char)name[i]);
    else if (used > 0 && normal[used - 1] != '_')
      normal[used++] = '_';
  }
  normal[used] = 0;
}

// "Name: " and "Version: " of the header. False: another package's, or not metadata.
static bool read_metadata(const char *path, const char *name, char *version, size_t size)
{
  FILE *file SCOPED(scoped_fclose) = fopen(path, "re");
  if (file == NULL)
    return false;
  char text[METADATA_BYTES];
  struct slice rest = {text, fread(text, 1, sizeof text, file)}, line;
  bool is_named = false;
  version[0] = 0;
  while (slice_cut(&rest, '\n', &line) && line.length > 0) { // an empty line ends the header
    struct slice value = line, key;
    slice_cut(&value, ':', &key);
    value = slice_trim(value);
    char normal[NAME_SIZE];
    normalise(value.data, value.length, normal);
    if (key.length == 4 && strncasecmp(key.data, "Name", 4) == 0)
      is_named = strcmp(normal, name) == 0;
    else if (key.length == 7 && strncasecmp(key.data, "Version", 7) == 0 && version[0] == 0)
      snprintf(version, size, "%.*s", (int)value.length, value.data);
  }
  return is_named && version[0] != 0;
}

static bool visit(void *context, const char *folder)
{
  static const struct {
    const char *ending, *file;
  } kinds[] = {{".dist-info", "METADATA"}, {".egg-info", "PKG-INFO"}};
  struct package_search *search = context;
  DIR *directory SCOPED(scoped_closedir) = opendir(folder);
  bool found = false;
  for (struct dirent *entry; directory != NULL && !found && (entry = readdir(directory)) != NULL;)
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !found; i++) {
      if (!text_ends_with(entry->d_name, kinds[i].ending))
        continue;
      char normal[NAME_SIZE], path[PATH_MAX];
      normalise(entry->d_name, strlen(entry->d_name) - strlen(kinds[i].ending), normal);
      if (strncmp(normal, search->name, strlen(search->name)) != 0) // cheap: the metadata decides
        continue;
      snprintf(path, sizeof path, "%s/%s/%s", folder, entry->d_name, kinds[i].file);
      found = read_metadata(path, search->name, search->found->version, sizeof search->found->version);
    }
  if (found)
    search->found->folder = arena_copy(search->arena, folder, strlen(folder));
  return found;
}

bool python_package_find(struct slice name, struct arena *arena, struct python_package *ret_package)
{
  *ret_package = (struct python_package){0};
  struct package_search search = {.arena = arena, .found = ret_package};
  normalise(name.data, name.length, search.name);
  return python_visit(visit, NULL, &search);
}
