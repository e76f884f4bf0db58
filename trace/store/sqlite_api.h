// SPDX-License-Identifier: Apache-2.0
// SQLite's functions: linked directly in xsp, through the host's table of functions in the loadable extension.
#ifndef XSP_STORE_SQLITE_API_H
#define XSP_STORE_SQLITE_API_H

#ifdef XSP_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#endif
