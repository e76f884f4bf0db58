// SPDX-License-Identifier: Apache-2.0
// Finds xsp's own parts by the program's own path, so that a tarball works wherever it is unpacked.
#include "launch/install.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The folder of the program, and the length of the path of the folder above it.
static enum status own_folder(char program[PATH_MAX], int *above, struct error *err)
{
  ssize_t length = readlink("/proc/self/exe", program, PATH_MAX - 1);
  if (length < 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot find xsp's own folder", "/proc/self/exe", "mount /proc");
  program[length] = 0;
  *strrchr(program, '/') = 0; // the kernel's path has neither links nor ".."
  *above = (int)(strrchr(program, '/') != NULL ? strrchr(program, '/') - program : 0);
  return STATUS_OK;
}

enum status install_find(const char *part, char *path, size_t size, struct error *err)
{
  char program[PATH_MAX];
  int above;
  XSP_TRY(own_folder(program, &above, err));
  static const char *const places[] = {"/lib/xsp", "/lib",
                                       "/libexec/xsp"}; // the second: libxsp.so; the last: the wheel
  for (size_t i = 0; i < 1 + sizeof places / sizeof places[0]; i++) {
    int needed = i == 0 ? snprintf(path, size, "%s/%s", program, part)
                        : snprintf(path, size, "%.*s%s/%s", above, program, places[i - 1], part);
    if (needed > 0 && (size_t)needed < size && access(path, F_OK) == 0)
      return STATUS_OK;
  }
  return error_set(err, STATUS_SYSTEM, "a part of xsp is missing", part, "reinstall xsp",
                   "it is neither in %s nor in lib/xsp, lib or libexec/xsp beside that", program);
}

bool install_find_pages(char *path, size_t size)
{
  char program[PATH_MAX];
  int above;
  struct error err = {0};
  if (own_folder(program, &above, &err) != STATUS_OK)
    return false;
  static const char *const places[] = {"/share/doc/xsp/docs", "/docs"}; // the second: a build folder
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    int needed = snprintf(path, size, "%.*s%s/README.md", above, program, places[i]);
    if (needed > 0 && (size_t)needed < size && access(path, F_OK) == 0) {
      *strrchr(path, '/') = 0;
      return true;
    }
  }
  return false;
}
