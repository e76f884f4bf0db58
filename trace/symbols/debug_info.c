// SPDX-License-Identifier: Apache-2.0
// Reads units, scopes and lines of an address (DWARF), and demangles names. Called by symbols.c for each address.
#include "symbols/symbols_private.h"

#include "base/memory.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

char *symbols_plain_name(const char *name)
{
  return cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
}

static void put_name(struct buf *out, const char *name)
{
  char *bare SCOPED(scoped_free) = memory_text_of(name, strcspn(name, "@")); // "main@@VERSION"
  char *plain SCOPED(scoped_free) = symbols_plain_name(bare);
  buf_text(out, plain != NULL ? plain : bare);
}

static const char *name_of(Dwarf_Die *scope)
{
  Dwarf_Attribute attribute;
  Dwarf_Attribute *linkage = dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute);
  return linkage != NULL ? dwarf_formstring(linkage)
                         : dwarf_formstring(dwarf_attr_integrate(scope, DW_AT_name, &attribute));
}

// Clang leaves out the table of addresses.
static Dwarf_Die *find_unit(Dwfl_Module *module, GElf_Addr address, Dwarf_Addr *ret_bias)
{
  Dwarf_Die *unit = dwfl_module_addrdie(module, address, ret_bias);
  if (unit != NULL)
    return unit;
  while ((unit = dwfl_module_nextcu(module, unit, ret_bias)) != NULL)
    if (dwarf_haspc(unit, address - *ret_bias) > 0)
      break;
  return unit;
}

// "inner (inlined in middle, outer)", or only the function; nothing where there is no name.
static void put_names(Dwarf_Die *unit, Dwarf_Addr address, const char *symbol, struct buf *out)
{
  Dwarf_Die *scopes SCOPED(scoped_free) = NULL, *parents SCOPED(scoped_free) = NULL;
  int parent_count = 0, names = 0;
  if (unit != NULL && dwarf_getscopes(unit, address, &scopes) > 0)
    parent_count = dwarf_getscopes_die(&scopes[0], &parents); // from the innermost outwards
  for (int i = 0; i < parent_count; i++) {
    int tag = dwarf_tag(&parents[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
      continue;
    const char *name = tag == DW_TAG_subprogram && symbol != NULL ? symbol : name_of(&parents[i]);
    if (name != NULL) {
      buf_text(out, names == 0 ? "" : names == 1 ? " (inlined in " : ", ");
      put_name(out, name);
      names++;
    }
    if (tag == DW_TAG_subprogram)
      break;
  }
  if (names > 1)
    buf_text(out, ")");
  else if (names == 0 && symbol != NULL)
    put_name(out, symbol);
}

bool debug_info_find(Dwfl_Module *module, GElf_Addr address, const char *symbol, struct buf *name,
                     struct symbol *ret_symbol)
{
  Dwarf_Addr bias = 0;
  Dwarf_Die *unit = find_unit(module, address, &bias);
  *ret_symbol = (struct symbol){0};
  buf_clear(name);
  put_names(unit, address - bias, symbol, name);
  if (name->length == 0)
    return false;
  int number = 0;
  Dwarf_Line *line = unit == NULL ? NULL : dwarf_getsrc_die(unit, address - bias);
  if (line != NULL && dwarf_lineno(line, &number) == 0 && number > 0)
    ret_symbol->line = (uint32_t)number;
  ret_symbol->file = line == NULL ? NULL : dwarf_linesrc(line, NULL, NULL);
  ret_symbol->name = name->data;
  return true;
}
