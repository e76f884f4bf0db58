// SPDX-License-Identifier: Apache-2.0
// A file under a temporary name, and then its place.
#ifndef XSP_BASE_FILE_PLACE_H
#define XSP_BASE_FILE_PLACE_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

// Before the work: STATUS_USE, in the words of all verbs, where `path` exists, even as a link that leads nowhere, and may not be replaced.
enum status file_place_check(const char *path, bool may_replace, struct error *err) MUST_CHECK;

// Makes `path`.PID.partial, new and empty, with the access that other programs' files have; one of a killed process with this number
// is removed. Its name goes to `partial`. A descriptor for writing, or -1 with errno.
int file_place_begin(const char *path, char partial[PATH_MAX]);

// Renames `from` to `to`, paths in one file system. Without `may_replace` whatever has the name `to` keeps it: EEXIST. 0, or
// -1 with errno. Some file systems know no such rename: there a name that is taken during the call is lost.
int file_place(const char *from, const char *to, bool may_replace);

// A new file at `path` with these bytes, by the calls above: it is complete or absent. False, with errno.
bool file_place_whole(const char *path, const void *bytes, size_t length, bool may_replace);

#endif
