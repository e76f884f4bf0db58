// SPDX-License-Identifier: Apache-2.0
// Files that no importer takes but that people try: what they are, and what to do instead. Pure. Inside this room only.
#ifndef XSP_IMPORTERS_FOREIGN_H
#define XSP_IMPORTERS_FOREIGN_H

#include "base/slice.h"

struct foreign_format {
  const char *what;   // "it is an ELF program or library"
  const char *advice; // NULL: none in particular
};
// By the beginning of the file, else by the end of its name. NULL: not known either.
const struct foreign_format *foreign_recognise(const char *path, struct slice head, bool is_all);

#endif
