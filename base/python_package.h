// SPDX-License-Identifier: Apache-2.0
// Installed Python packages, by the metadata of what is installed; nothing is imported. Offline programs only.
#ifndef XSP_BASE_PYTHON_PACKAGE_H
#define XSP_BASE_PYTHON_PACKAGE_H

#include "base/arena.h"
#include "base/slice.h"

struct python_package {
  char version[64];
  const char *folder; // of modules, where it is installed; in the arena
};
// In the active environment (base/python.h). As Python's index compares names, case does not count, and '-', '_' and '.' are the
// same. False: it is not installed.
bool python_package_find(struct slice name, struct arena *arena, struct python_package *ret_package);

#endif
