// SPDX-License-Identifier: Apache-2.0
// The search for a framework's library; see library.h for the order. Called by predictors and by `xsp check`; never in
// a traced process that is not ours, because asking python3 for its folders (python.h) starts a process.
#include "base/library.h"

#include "base/python.h"

#include <ctype.h>
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
  const struct library_names *names;
  struct library *found;
  char looked[4096]; // what was tried and why it was not taken, for the error; what has no room is left out
  size_t looked_length;
};

static bool open_path(struct search *search, const char *path, int flags, const char *route)
{
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
  if (handle == NULL)
    return false;
  search->found->handle = handle;
  search->found->route = route;
  struct link_map *map = NULL;
  bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL && map->l_name[0] != 0;
  snprintf(search->found->path, sizeof search->found->path, "%s", known ? map->l_name : path);
  return true;
}

static void note(struct search *search, const char *place, const char *reason)
{
  size_t left = sizeof search->looked - search->looked_length;
  int length = snprintf(search->looked + search->looked_length, left, "%s%s (%s)",
                        search->looked_length > 0 ? ", " : "", place, reason);
  if (length > 0 && (size_t)length < left)
    search->looked_length += (size_t)length;
  else
    search->looked[search->looked_length] = 0;
}

// Tries every match of `folder`/package_glob. Returns true where one opened.
static bool try_packages(struct search *search, const char *folder)
{
  char pattern[PATH_MAX];
  if (snprintf(pattern, sizeof pattern, "%s/%s", folder, search->names->package_glob) >= (int)sizeof pattern)
    return false;
  glob_t matches;
  if (glob(pattern, 0, NULL, &matches) != 0)
    return false;
  bool opened = false;
  for (size_t i = 0; i < matches.gl_pathc && !opened; i++) {
    opened = open_path(search, matches.gl_pathv[i], 0, "python environment");
    if (!opened)
      note(search, matches.gl_pathv[i], dlerror());
  }
  globfree(&matches);
  return opened;
}

static bool visit_packages(void *context, const char *folder)
{
  return try_packages(context, folder);
}

// A folder given in a file's place: a Python environment, its site-packages, or an installation with lib/.
static bool try_folder(struct search *search, const char *folder)
{
  static const char *const below[] = {"", "lib/", "lib64/"};
  if (search->names->package_glob != NULL &&
      (try_packages(search, folder) || python_visit_environment(folder, visit_packages, search)))
    return true;
  for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
    for (const char *const *soname = search->names->sonames; *soname != NULL; soname++) {
      char path[PATH_MAX];
      if (snprintf(path, sizeof path, "%s/%s%s", folder, below[i], *soname) >= (int)sizeof path ||
          access(path, F_OK) != 0)
        continue;
      if (open_path(search, path, 0, "given"))
        return true;
      note(search, path, dlerror());
    }
  return false;
}

static void note_missed(void *context, const char *environment, const char *reason)
{
  note(context, environment, reason);
}

const char *library_variable(const char *name, char variable[LIBRARY_VARIABLE_SIZE])
{
  int length = snprintf(variable, LIBRARY_VARIABLE_SIZE, "XSP_LIBRARY_%s", name);
  for (int i = 0; i < length && i + 1 < LIBRARY_VARIABLE_SIZE; i++)
    variable[i] = (char)toupper((unsigned char)variable[i]);
  const char *value = getenv(variable);
  return value != NULL && value[0] != 0 ? value : NULL;
}

static enum status cannot_open(const char *given, const char *path, const char *advice, struct error *err)
{
  const char *why = dlerror(); // begins with the path, which is named already
  size_t length = strlen(path);
  if (why == NULL)
    why = "not known why";
  if (strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0)
    why += length + 2;
  return error_set(err, STATUS_SYSTEM, "cannot open library", given, advice, "%s", why);
}

// "/opt/torch/bin/python3" stands for "/opt/torch".
static void cut_interpreter(char *path)
{
  char *slash = strrchr(path, '/');
  if (slash - path > 4 && strncmp(slash - 4, "/bin/python", 11) == 0)
    slash[-4] = 0;
}

// What was given is final: it opens, or the search ends.
static enum status open_given(struct search *search, const char *given, struct error *err)
{
  char advice[256], variable[LIBRARY_VARIABLE_SIZE];
  library_variable(search->names->name, variable);
  snprintf(advice, sizeof advice, "--library %s=PATH or %s=PATH, of the library's file or its Python environment",
           search->names->name, variable);
  // dlopen takes a name without a slash for one to search; a given path is a path.
  char path[PATH_MAX];
  struct stat there;
  snprintf(path, sizeof path, "%s%s", strchr(given, '/') == NULL ? "./" : "", given);
  cut_interpreter(path);
  bool is_there = stat(path, &there) == 0;
  if (is_there && !S_ISDIR(there.st_mode) && !S_ISREG(there.st_mode)) // dlopen would wait for a FIFO's writer
    return error_set(err, STATUS_SYSTEM, "cannot open library", given, advice, "it is a pipe or a device, not a file");
  if (!is_there || !S_ISDIR(there.st_mode))
    return open_path(search, path, 0, "given") ? STATUS_OK : cannot_open(given, path, advice, err);
  if (!try_folder(search, path))
    return error_set(err, STATUS_SYSTEM, "cannot find library", given, advice, "the folder has no %s that opens%s%s",
                     search->names->name, search->looked_length > 0 ? ": " : "", search->looked);
  search->found->route = "given";
  return STATUS_OK;
}

enum status library_open(const struct library_names *names, const char *given, struct library *ret_library,
                         struct error *err)
{
  *ret_library = (struct library){0};
  struct search search = {.names = names, .found = ret_library, .looked = ""};
  char variable[LIBRARY_VARIABLE_SIZE];
  const char *from_environment = library_variable(names->name, variable);
  if (given == NULL)
    given = from_environment;
  if (given != NULL)
    return open_given(&search, given, err);
  // The loader's own search finds a single name, too, where no packages are to be looked into first.
  const bool is_single = names->package_glob == NULL && (names->sonames[0] == NULL || names->sonames[1] == NULL);
  for (const char *const *soname = names->sonames; *soname != NULL && !is_single; soname++)
    if (open_path(&search, *soname, RTLD_NOLOAD, "already loaded"))
      return STATUS_OK;
  if (names->package_glob != NULL && python_visit(visit_packages, note_missed, &search))
    return STATUS_OK;
  for (const char *const *soname = names->sonames; *soname != NULL; soname++)
    if (open_path(&search, *soname, 0, "system"))
      return STATUS_OK;
  note(&search, "the system's loader", "not there");
  char advice[256];
  snprintf(advice, sizeof advice, "%s; or %s=PATH", names->advice, variable);
  return error_set(err, STATUS_SYSTEM, "cannot find library", names->name, advice, "looked into %s", search.looked);
}

enum status library_functions(const struct library *library, const char *what, const char *expected, const char *advice,
                              const struct library_function *wanted, size_t count, void *functions, struct error *err)
{
  for (size_t i = 0; i < count; i++) {
    void *symbol = dlsym(library->handle, wanted[i].name);
    if (symbol == NULL && !wanted[i].is_optional)
      return error_set(err, STATUS_SYSTEM, what, library->path, advice, "not %s: %s is missing", expected,
                       wanted[i].name);
    memcpy((char *)functions + wanted[i].offset, &symbol, sizeof symbol);
  }
  return STATUS_OK;
}
