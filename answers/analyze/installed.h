// SPDX-License-Identifier: Apache-2.0
// Whose code a source file is.
#ifndef XSP_ANALYZE_INSTALLED_H
#define XSP_ANALYZE_INSTALLED_H

#include <stdbool.h>

// Of an installed package, of Python's own library, or generated: not code that the program's author wrote. NULL: unknown, so not
// the author's.
bool analyze_is_installed(const char *file);

#endif
