// SPDX-License-Identifier: Apache-2.0
// Which frameworks are traced in this process. Called by door_interpose.c for every lookup of the program: a name that is
// not in the table costs a comparison per framework.
#include "frameworks/common/door.h"

#include "frameworks/common/door_python.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define X(name) &framework_##name,
static const struct framework *const frameworks[] = {EACH_DOOR(X)};
#undef X
#define COUNT (sizeof frameworks / sizeof frameworks[0])
#define PYTHON_ENTRANCE "PyInit_"

// Copies, because programs may change their environment. One after the other: each page costs every process a page fault.
static char texts[32768];
static size_t texts_used;
static const char *model_range;         // NULL: none
static const char *session_folder;      // likewise
static const char *tracer_paths[COUNT]; // NULL: not traced. Written before main, then only read.
static bool any_traced;

// NULL: too long.
static const char *keep_text(const char *text, size_t length)
{
  if (length >= sizeof texts - texts_used)
    return NULL;
  char *copy = texts + texts_used;
  memcpy(copy, text, length); // the rest is zero
  texts_used += length + 1;
  return copy;
}

// "@/a/onnxruntime.so:option=x,/b/other.so": the path of the item whose file is NAME.so.
static const char *find_tracer(const char *list, const char *name)
{
  size_t length = strlen(name);
  for (const char *item = list; *item != 0;) {
    item += *item == '@';
    size_t item_length = strcspn(item, ",");
    size_t end = strcspn(item, ":,");
    const char *file = memrchr(item, '/', end);
    if (file != NULL && (size_t)(item + end - file) == 1 + length + 3 && memcmp(file + 1, name, length) == 0 &&
        memcmp(file + 1 + length, ".so", 3) == 0)
      return keep_text(item, end);
    item += item_length;
    item += *item == ',';
  }
  return NULL;
}

// secure_getenv: a program with more rights than its caller loads nothing that the caller names.
__attribute__((constructor)) static void read_environment(void)
{
  const char *session = secure_getenv("XSP_SESSION"), *tracers = secure_getenv("XSP_TRACERS");
  if (session == NULL || *session == 0 || tracers == NULL)
    return;
  session_folder = keep_text(session, strlen(session));
  const char *range = secure_getenv("XSP_MODEL_RANGE");
  if (range != NULL && *range != 0)
    model_range = keep_text(range, strlen(range));
  for (size_t i = 0; i < COUNT; i++) {
    tracer_paths[i] = find_tracer(tracers, frameworks[i]->name);
    any_traced = any_traced || tracer_paths[i] != NULL;
  }
  for (size_t i = 0; i < COUNT; i++)
    if (tracer_paths[i] != NULL && frameworks[i]->program_starts != NULL)
      frameworks[i]->program_starts();
}

const char *framework_model_range(void)
{
  return model_range;
}

const char *framework_session(void)
{
  return session_folder;
}

const char *framework_tracer(const struct framework *framework)
{
  for (size_t i = 0; i < COUNT; i++)
    if (frameworks[i] == framework)
      return tracer_paths[i];
  return NULL;
}

// A namespace of dlmopen has libraries of its own, libxsp.so among them if it were drawn in: not ours.
static bool is_of_program(void *handle)
{
  Lmid_t namespace_id;
  return dlinfo(handle, RTLD_DI_LMID, &namespace_id) == 0 && namespace_id == LM_ID_BASE;
}

static bool has_prefix(const struct framework *framework, const char *name)
{
  return strncmp(name, framework->symbol_prefix, strlen(framework->symbol_prefix)) == 0;
}

static const struct framework_symbol *find_symbol(const struct framework *framework, const char *name)
{
  if (!has_prefix(framework, name))
    return NULL;
  for (const struct framework_symbol *symbol = framework->symbols; symbol->name != NULL; symbol++)
    if (strcmp(name, symbol->name) == 0)
      return symbol;
  return NULL;
}

static bool is_in_folder(const void *function, const char *folder)
{
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == NULL)
    return false;
  const char *file = strrchr(info.dli_fname, '/');
  size_t length = strlen(folder);
  return file != NULL && (size_t)(file - info.dli_fname) > length && file[-(ptrdiff_t)length - 1] == '/' &&
         memcmp(file - length, folder, length) == 0;
}

static bool is_python_entrance(const struct framework *framework, const char *name, const void *found)
{
  const size_t prefix = sizeof PYTHON_ENTRANCE - 1;
  return framework->python_module != NULL && strncmp(name, PYTHON_ENTRANCE, prefix) == 0 &&
         strcmp(name + prefix, framework->python_module) == 0 &&
         (framework->python_folder == NULL || is_in_folder(found, framework->python_folder));
}

// Frameworks are used in Python for the most part, and its servers give up rights before their first event. So the process
// joins its session with the first module that the interpreter loads, which takes longer than to join.
static void join_with_python(const char *name)
{
  static bool has_joined; // atomic
  if (__atomic_load_n(&has_joined, __ATOMIC_RELAXED) || strncmp(name, PYTHON_ENTRANCE, sizeof PYTHON_ENTRANCE - 1) != 0)
    return;
  __atomic_store_n(&has_joined, true, __ATOMIC_RELAXED);
  (void)xsp_session_levels();
}

void *framework_offer(void *handle, const char *name, void *found, const void *caller)
{
  if (any_traced)
    join_with_python(name);
  for (size_t i = 0; i < COUNT && any_traced; i++) {
    if (tracer_paths[i] == NULL)
      continue;
    const struct framework_symbol *symbol = find_symbol(frameworks[i], name);
    if (frameworks[i]->prefix_found != NULL && has_prefix(frameworks[i], name))
      frameworks[i]->prefix_found();
    if (symbol == NULL && !is_python_entrance(frameworks[i], name, found))
      continue;
    int saved_errno = errno;
    if (is_of_program(handle))
      found = symbol != NULL ? symbol->found(symbol, found) : framework_python_entrance(frameworks[i], found, caller);
    dlerror(); // the lookup succeeded: our own failed lookups are not the program's errors
    errno = saved_errno;
  }
  return found;
}

static void *find_in(const struct link_map *map, const char *name)
{
  if (map->l_name == NULL || map->l_name[0] == 0) // the program itself: all of its scope was looked through
    return NULL;
  void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD), *found = NULL;
  if (handle != NULL) {
    found = frameworks_lookup(handle, name);
    dlclose(handle);
  }
  return found;
}

// Searches where the loader would have without us: in the program's scope, then among the libraries that the caller was
// loaded with. The caller of a tail call is unknown; take any match.
void *framework_next(const char *name, const void *caller)
{
  int saved_errno = errno;
  void *found = frameworks_lookup(RTLD_NEXT, name);
  Dl_info info;
  struct link_map *map = NULL;
  if (found == NULL && dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL)
    found = find_in(map, name);
  while (map != NULL && map->l_prev != NULL)
    map = map->l_prev;
  void *own = NULL;
  if (found == NULL && dladdr1((const void *)tracer_paths, &info, &own, RTLD_DL_LINKMAP) != 0)
    for (; found == NULL && map != NULL; map = map->l_next)
      if (map != own)
        found = find_in(map, name);
  if (found == NULL)
    dlerror();
  errno = saved_errno;
  return found;
}

bool framework_hides(const char *name)
{
  for (size_t i = 0; i < COUNT; i++)
    if (find_symbol(frameworks[i], name) != NULL)
      return frameworks_lookup(RTLD_NEXT, name) == NULL; // leaves dlerror as a failed lookup would
  return false;
}

// A handle of the program's own scope (dlopen of NULL) leads to our exports, too.
bool framework_hides_found(const char *name, const void *found)
{
  for (size_t i = 0; i < COUNT; i++) {
    const struct framework_symbol *symbol = find_symbol(frameworks[i], name);
    if (symbol != NULL && (uintptr_t)symbol->own_export == (uintptr_t)found)
      return framework_hides(name);
  }
  return false;
}

struct search {
  uintptr_t address;
  size_t readable;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *data)
{
  struct search *search = data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && search->address >= start && search->address < end)
      search->readable = end - search->address;
  }
  return search->readable != 0;
}

size_t framework_readable(const void *address)
{
  struct search search = {(uintptr_t)address, 0};
  dl_iterate_phdr(find_segment, &search);
  return search.readable;
}
