// SPDX-License-Identifier: Apache-2.0
// Libraries, opened once each, and their functions: sorted by address, because elfutils looks through all of a library's
// symbols for each address. Called by collect at the end of a run.
#include "symbols/symbols.h"

#include "base/buf.h"
#include "base/interner.h"
#include "base/memory.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "symbols/symbols_private.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// Names are not read before they are asked for: the pages of all make up half of a large library's share.
struct function {
  GElf_Addr address;   // as elfutils laid the library out
  uint32_t size_bytes; // 0: unknown
  uint32_t symbol;     // its number, below its rank: of names for one address the lowest, global, weak, local
};
#define SYMBOL_BITS 30

struct library {
  Dwfl *dwfl;
  Dwfl_Module *module;        // NULL: the file has no symbols for us
  GElf_Addr bias;             // from the file's addresses to those of elfutils
  struct function *functions; // owned
  size_t function_count;
};

struct symbols {
  struct interner paths;
  VECTOR(struct library) libraries; // by the path's id
  struct buf name;
};

struct symbols *symbols_open(void)
{
  struct symbols *symbols = memory_new(1, sizeof *symbols);
  return symbols;
}

void symbols_close(struct symbols *symbols)
{
  if (symbols == NULL)
    return;
  for (size_t i = 0; i < symbols->libraries.count; i++) {
    free(symbols->libraries.items[i].functions);
    if (symbols->libraries.items[i].dwfl != NULL)
      dwfl_end(symbols->libraries.items[i].dwfl);
  }
  vector_done(&symbols->libraries);
  interner_done(&symbols->paths);
  buf_done(&symbols->name);
  free(symbols);
}

// ---- a library
SORTED_BY(compare, struct function, RISING(address) ?: RISING(symbol))

static void list_functions(struct library *library)
{
  static const uint32_t ranks[] = {[STB_LOCAL] = 2, [STB_GLOBAL] = 0, [STB_WEAK] = 1};
  int count = dwfl_module_getsymtab(library->module);
  if (count <= 0 || count >= 1 << SYMBOL_BITS)
    return;
  library->functions =
      memory_resize(NULL, (size_t)count, sizeof *library->functions); // what is not written is no memory yet
  for (int i = 0; i < count; i++) {
    GElf_Sym symbol;
    GElf_Addr address;
    const char *name = dwfl_module_getsym_info(library->module, i, &symbol, &address, NULL, NULL, NULL);
    int type = GELF_ST_TYPE(symbol.st_info);
    unsigned binding = GELF_ST_BIND(symbol.st_info);
    if (name == NULL || symbol.st_name == 0 || symbol.st_shndx == SHN_UNDEF ||
        (type != STT_FUNC && type != STT_GNU_IFUNC))
      continue;
    library->functions[library->function_count++] =
        (struct function){address, symbol.st_size < UINT32_MAX ? (uint32_t)symbol.st_size : UINT32_MAX,
                          (binding < 3 ? ranks[binding] : 3) << SYMBOL_BITS | (uint32_t)i};
  }
  qsort(library->functions, library->function_count, sizeof *library->functions, compare);
}

static int open_regular(const char *path) // -1: it is none
{
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 || (fstat(file, &status) == 0 && S_ISREG(status.st_mode)))
    return file;
  close(file);
  return -1;
}

// Debug information by build id, else what the library names, next to it; elfutils' own search would also ask servers.
static int find_debug_file(Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base, const char *path,
                           const char *debug_link, GElf_Word checksum, char **ret_path)
{
  static const char folder[] = "/usr/lib/debug/.build-id/";
  const unsigned char *id;
  GElf_Addr address;
  struct buf text SCOPED(buf_done) = {0};
  int length = dwfl_module_build_id(module, &id, &address), file = -1;
  if (length > 1) {
    buf_format(&text, "%s%02x/", folder, id[0]);
    for (int i = 1; i < length; i++)
      buf_format(&text, "%02x", id[i]);
    buf_text(&text, ".debug");
    file = open_regular(text.data);
  }
  const char *slash = path == NULL ? NULL : strrchr(path, '/');
  if (file < 0 && debug_link != NULL && slash != NULL && strchr(debug_link, '/') == NULL) {
    buf_clear(&text);
    buf_format(&text, "%.*s/%s", (int)(slash - path), path, debug_link);
    file = open_regular(text.data);
  }
  *ret_path = file >= 0 ? strdup(text.data) : NULL; // elfutils frees it
  return file;
}

static void open_library(struct library *library, const char *path)
{
  static const Dwfl_Callbacks callbacks = {.find_debuginfo = find_debug_file,
                                           .section_address = dwfl_offline_section_address};
  int file = open_regular(path);
  if (file < 0)
    return;
  library->dwfl = dwfl_begin(&callbacks);
  library->module = library->dwfl == NULL ? NULL : dwfl_report_offline(library->dwfl, path, path, file);
  if (library->module == NULL) // else elfutils has the file
    close(file);
  else if (dwfl_report_end(library->dwfl, NULL, NULL) != 0 ||
           dwfl_module_getelf(library->module, &library->bias) == NULL)
    library->module = NULL;
  if (library->module != NULL)
    list_functions(library);
}

static struct library *library_of(struct symbols *symbols, const char *path)
{
  uint32_t id = interner_at(&symbols->paths, path, strlen(path));
  if (id == symbols->libraries.count)
    open_library(vector_add(&symbols->libraries), path);
  return &symbols->libraries.items[id];
}

static const char *find_function(const struct library *library, GElf_Addr address)
{
  const struct function *all = library->functions;
  size_t end = PARTITION_POINT(i, 0, library->function_count, all[i].address <= address);
  if (end == 0)
    return NULL;
  const struct function *function = &all[end - 1];
  while (function > all && function[-1].address == function->address)
    function--;
  if (function->size_bytes != 0 && address - function->address >= function->size_bytes)
    return NULL;
  GElf_Sym symbol;
  GElf_Addr start;
  const int number = function->symbol & ((1u << SYMBOL_BITS) - 1);
  return dwfl_module_getsym_info(library->module, number, &symbol, &start, NULL, NULL, NULL);
}

bool symbols_find(struct symbols *symbols, const char *path, uint64_t address, struct symbol *ret_symbol)
{
  const struct library *library = library_of(symbols, path);
  if (library->module == NULL)
    return false;
  GElf_Addr at = address + library->bias;
  return debug_info_find(library->module, at, find_function(library, at), &symbols->name, ret_symbol);
}
