// SPDX-License-Identifier: Apache-2.0
// Describes the software of a root file system; see software.h. Its files are the container's: bounded, and never trusted.
#include "experiment/software.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "base/sorted.h"
#include "experiment/system.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_FILE_MOST (64 << 20) // of dpkg
#define DPKG_MOST 16384             // packages
#define PACKAGES_MOST 1024          // of Python
#define ENTRIES_MOST 65536          // of their folder
#define NOTES_MOST 4096u            // bytes
#define LIBRARY_MOST INT64_MAX      // a few pages of it are read

struct facts {
  struct store_system_value *values;
  size_t count;
};

static void put(struct facts *facts, const char *key, const char *text)
{
  if (text != NULL && text[0] != 0)
    facts->values[facts->count++] = (struct store_system_value){.key = key, .text = text};
}

// ---- packages ----------------------------------------------------------------------------------------------------------

static const char *joined(const struct buf *list, struct arena *arena) // without the ", " at its end
{
  return list->length > 2 ? arena_copy(arena, list->data, list->length - 2) : NULL;
}

// The value of a line of dpkg's file; NULL: it has another key.
static const char *value_of(char *line, const char *key)
{
  if (!text_begins_with(line, key))
    return NULL;
  line[strcspn(line, "\n")] = 0;
  return line + strlen(key);
}

// "adduser=3.134, apt=2.6.1, …": what dpkg has installed, in the order of its file.
static const char *dpkg_packages(int root, struct arena *arena)
{
  char line[8192], name[256] = "";
  struct stat facts;
  struct buf list SCOPED(buf_done) = {0};
  int file = root_file(root, "/var/lib/dpkg/status", STATUS_FILE_MOST, &facts);
  FILE *stream SCOPED(scoped_fclose) = file >= 0 ? fdopen(file, "r") : NULL;
  bool is_installed = false;
  size_t bytes = 0, count = 0;
  while (stream != NULL && count < DPKG_MOST && fgets(line, sizeof line, stream) != NULL &&
         (bytes += strlen(line)) < STATUS_FILE_MOST) {
    const char *package = value_of(line, "Package: "), *status = value_of(line, "Status: "),
               *version = value_of(line, "Version: ");
    if (package != NULL)
      snprintf(name, sizeof name, "%s", package);
    else if (status != NULL)
      is_installed = text_ends_with(status, " installed");
    else if (version != NULL && is_installed && ++count > 0)
      buf_format(&list, "%s=%.200s, ", name, version);
  }
  return joined(&list, arena);
}

// Names of the entries of a folder with this ending, without it, sorted, ", " between them; NULL: none.
static const char *entries_of(int root, const char *path, const char *ending, struct arena *arena)
{
  const char *names[PACKAGES_MOST];
  struct buf list SCOPED(buf_done) = {0};
  size_t count = 0, seen = 0;
  int file = root_open(root, path, O_RDONLY | O_DIRECTORY);
  DIR *folder SCOPED(scoped_closedir) = file >= 0 ? fdopendir(file) : NULL;
  if (folder == NULL)
    return NULL;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL && count < PACKAGES_MOST && seen < ENTRIES_MOST; seen++)
    if (text_ends_with(entry->d_name, ending))
      names[count++] = arena_copy(arena, entry->d_name, strlen(entry->d_name) - strlen(ending));
  qsort(names, count, sizeof *names, sorted_compare_text);
  for (size_t i = 0; i < count; i++)
    buf_format(&list, "%s, ", names[i]);
  return joined(&list, arena);
}

// Of the site-packages folder that the framework's library is in: its distributions, and what conda installed into the environment
// around it, "NAME-VERSION-BUILD".
static void put_environment(struct facts *facts, int root, const char *library, struct arena *arena)
{
  static const char site[] = "-packages/", python[] = "/lib/python";
  const char *end = library != NULL ? strstr(library, site) : NULL;
  if (end == NULL)
    return;
  const char *path = arena_copy(arena, library, (size_t)(end - library) + strlen(site)), *around = strstr(path, python);
  put(facts, "python_packages", entries_of(root, path, ".dist-info", arena));
  if (around != NULL)
    put(facts, "conda_packages",
        entries_of(root, arena_format(arena, "%.*s/conda-meta", (int)(around - path), path), ".json", arena));
}

// ---- the framework's library -------------------------------------------------------------------------------------------

// In the notes of an ELF file: {4, size, NT_GNU_BUILD_ID, "GNU", the id}.
static const char *find_id(const unsigned char *notes, size_t length, struct arena *arena)
{
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= length;) {
    Elf64_Nhdr note;
    memcpy(&note, notes + at, sizeof note);
    size_t name = at + sizeof note, id = name + ((size_t)note.n_namesz + 3) / 4 * 4;
    size_t next = id + ((size_t)note.n_descsz + 3) / 4 * 4;
    if (id + note.n_descsz > length)
      return NULL;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
      char *text = arena_alloc(arena, 2 * (size_t)note.n_descsz + 1);
      for (size_t i = 0; i < note.n_descsz; i++)
        snprintf(text + 2 * i, 3, "%02x", notes[id + i]);
      return text;
    }
    at = next;
  }
  return NULL;
}

static const char *build_id(int root, const char *path, struct arena *arena)
{
  Elf64_Ehdr head;
  Elf64_Phdr part;
  unsigned char notes[NOTES_MOST];
  const char *id = NULL;
  struct stat facts;
  int file SCOPED(scoped_close) = root_file(root, path, LIBRARY_MOST, &facts);
  if (file < 0)
    return NULL;
  if (pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
      head.e_ident[EI_CLASS] == ELFCLASS64)
    for (unsigned i = 0; i < head.e_phnum && id == NULL; i++) {
      if (pread(file, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)) != (ssize_t)sizeof part)
        break;
      if (part.p_type != PT_NOTE || part.p_filesz > sizeof notes)
        continue;
      ssize_t got = pread(file, notes, part.p_filesz, (off_t)part.p_offset);
      id = got > 0 ? find_id(notes, (size_t)got, arena) : NULL;
    }
  return id;
}

// ---- all ---------------------------------------------------------------------------------------------------------------

static void put_isolation(struct facts *facts, const struct isolation *isolation)
{
  put(facts, "isolation", "runc");
  put(facts, "container", isolation->container);
  put(facts, "container_digest", isolation->digest);
  if (isolation->cpus > 0)
    facts->values[facts->count++] = system_number("limit_cpus", isolation->cpus);
  if (isolation->memory_bytes > 0)
    facts->values[facts->count++] = system_number("limit_memory_bytes", (double)isolation->memory_bytes);
  if (isolation->time_limit_s > 0)
    facts->values[facts->count++] = system_number("limit_time_s", isolation->time_limit_s);
}

size_t software_describe(const struct isolation *isolation, const char *library, struct arena *arena,
                         struct store_system_value values[SOFTWARE_VALUES])
{
  struct facts facts = {.values = values};
  bool is_container = isolation != NULL && isolation->root != NULL;
  int root SCOPED(scoped_close) = is_container ? open(isolation->root, O_PATH | O_DIRECTORY | O_CLOEXEC) : ROOT_OF_HOST;
  const char *os = system_os_name(root, arena);
  put(&facts, "os", os == NULL && is_container ? "unknown" : os); // not that of the host, which is recorded, too
  put(&facts, "dpkg_packages", dpkg_packages(root, arena));
  put_environment(&facts, root, library, arena);
  if (library[0] == '/')
    put(&facts, "framework_build_id", build_id(root, library, arena));
  if (isolation != NULL)
    put_isolation(&facts, isolation);
  return facts.count;
}
