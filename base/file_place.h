// SPDX-License-Identifier: Apache-2.0
// Gives a complete file its place. Whatever makes a file under a temporary name ends here.
#ifndef XSP_BASE_FILE_PLACE_H
#define XSP_BASE_FILE_PLACE_H

#include <stdbool.h>

// Renames `from` to `to`, paths in one file system. Without `may_replace` whatever has the name `to` keeps it: EEXIST. 0, or
// -1 with errno. Some file systems know no such rename: there a name that is taken during the call is lost.
int file_place(const char *from, const char *to, bool may_replace);

#endif
