// SPDX-License-Identifier: Apache-2.0
// Where the parts of xsp are: next to the program (a build folder), in ../lib/xsp (an installation, the tarball), or in ../libexec/xsp
// (the wheel).
#ifndef XSP_LAUNCH_INSTALL_H
#define XSP_LAUNCH_INSTALL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

// Path of a part ("xsp-runner", "tracers"), absolute and without ".."; STATUS_SYSTEM where it is in none of them.
enum status install_find(const char *part, char *path, size_t size, struct error *err) MUST_CHECK;

// The folder of the pages that messages name as docs/NAME.md, absolute; false where they are not installed.
bool install_find_pages(char *path, size_t size);

#endif
