// SPDX-License-Identifier: Apache-2.0
// The functions at an address that were inlined into each other.
#ifndef XSP_SYMBOLS_INLINED_H
#define XSP_SYMBOLS_INLINED_H

#include "base/buf.h"

#include <elfutils/libdwfl.h>

// Appends "inner (inlined in middle, outer)", or only the function. `symbol`: its name by the library's symbols, NULL: none.
// Nothing is appended where there is no name at all.
void inlined_names(Dwfl_Module *module, GElf_Addr address, const char *symbol, struct buf *out);

#endif
