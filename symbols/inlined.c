// SPDX-License-Identifier: Apache-2.0
// Reads the scopes around an address (DWARF) and demangles names. Called by symbols.c for each address.
#include "symbols/inlined.h"

#include "base/memory.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

static void put_name(struct buf *out, const char *name)
{
  char *bare = memory_text_of(name, strcspn(name, "@")); // "main@@VERSION"
  char *plain = cplus_demangle_v3(bare, DMGL_PARAMS | DMGL_ANSI);
  buf_text(out, plain != NULL ? plain : bare);
  free(plain);
  free(bare);
}

static const char *name_of(Dwarf_Die *scope)
{
  Dwarf_Attribute attribute;
  Dwarf_Attribute *linkage = dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute);
  return linkage != NULL ? dwarf_formstring(linkage)
                         : dwarf_formstring(dwarf_attr_integrate(scope, DW_AT_name, &attribute));
}

void inlined_names(Dwfl_Module *module, GElf_Addr address, const char *symbol, struct buf *out)
{
  Dwarf_Addr bias = 0;
  Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *scopes = NULL, *parents = NULL;
  int parent_count = 0, inlined = 0;
  if (unit != NULL && dwarf_getscopes(unit, address - bias, &scopes) > 0)
    parent_count = dwarf_getscopes_die(&scopes[0], &parents); // from the innermost outwards
  for (int i = 0; i < parent_count; i++) {
    int tag = dwarf_tag(&parents[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
      continue;
    const char *name = tag == DW_TAG_subprogram && symbol != NULL ? symbol : name_of(&parents[i]);
    if (name != NULL) {
      buf_text(out, inlined == 0 ? "" : inlined == 1 ? " (inlined in " : ", ");
      put_name(out, name);
      inlined++;
    }
    if (tag == DW_TAG_subprogram)
      break;
  }
  if (inlined > 1)
    buf_text(out, ")");
  else if (inlined == 0 && symbol != NULL)
    put_name(out, symbol);
  free(parents);
  free(scopes);
}
