// SPDX-License-Identifier: Apache-2.0
// What debug information has of an address: the functions that were inlined into each other there, file and line.
#ifndef XSP_SYMBOLS_SYMBOLS_PRIVATE_H
#define XSP_SYMBOLS_SYMBOLS_PRIVATE_H

#include "base/buf.h"
#include "symbols/symbols.h"

#include <elfutils/libdwfl.h>

// `symbol`: the function's name by the library's symbols, NULL: none. The name is put into `name`; texts of *ret_symbol are in it
// and in the module. False: no name at all.
bool debug_info_find(Dwfl_Module *module, GElf_Addr address, const char *symbol, struct buf *name,
                     struct symbol *ret_symbol);

#endif
