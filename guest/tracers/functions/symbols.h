// SPDX-License-Identifier: Apache-2.0
// A loaded library's dynamic symbols, read from memory, and its table of them exchanged for a copy. No libc.
#ifndef XSP_TRACERS_FUNCTIONS_SYMBOLS_H
#define XSP_TRACERS_FUNCTIONS_SYMBOLS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct symbols { // borrowed from a mapped library
  ElfW(Addr) base;
  ElfW(Dyn) * table_entry; // the DT_SYMTAB of its dynamic section
  const ElfW(Sym) * table;
  const char *strings;
  const char *soname;        // NULL: none
  const uint32_t *gnu_hash;  // NULL: none
  const uint32_t *sysv_hash; // NULL: none
};

// False: no dynamic symbols, or nothing to find them by.
bool functions_symbols_open(const struct link_map *map, struct symbols *ret_symbols);
// Symbols in the table; 0: it defines none.
uint32_t functions_symbols_count(const struct symbols *symbols);
// The next defined symbol of this name after index `after` (0: the first); 0: no more. Names may stand for several
// versions.
uint32_t functions_symbols_next(const struct symbols *symbols, const char *name, uint32_t after);
// A function that may be called by name.
bool functions_symbols_is_function(const ElfW(Sym) * symbol);

#endif
