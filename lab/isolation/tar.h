// SPDX-License-Identifier: Apache-2.0
// Reads a tar archive (ustar, pax, GNU's long names), plain or gzip, and refuses what no layer of an image needs: absolute paths, "..",
// links that lead out of the root, devices, absurd sizes. Touches no file but the archive. One thread. Inside this room only; fuzzed.
#ifndef XSP_ISOLATION_TAR_H
#define XSP_ISOLATION_TAR_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#define TAR_ENTRIES_MOST 4000000u
#define TAR_BYTES_MOST ((uint64_t)64 << 30) // of all files of an archive

enum tar_kind { TAR_FILE, TAR_FOLDER, TAR_SYMLINK, TAR_HARD_LINK };
struct tar_entry {
  enum tar_kind kind;
  char path[PATH_MAX]; // relative, without "." and ".."; "": the root
  char link[PATH_MAX]; // of a symbolic link its text; of a hard link a path as above
  unsigned mode;       // permissions only
  uint64_t size_bytes; // of a file
};

struct tar {
  gzFile stream;
  const char *name; // of the archive, for errors; borrowed
  uint64_t unread;  // bytes of the entry and its padding
  uint64_t total;
  unsigned count;
};

// Takes the descriptor, also on failure.
enum status tar_open(struct tar *tar, int file, const char *name, struct error *err) MUST_CHECK;
// The next entry, after what is unread of the last one. *ret_is_end: there is none. Errors: STATUS_INPUT.
enum status tar_next(struct tar *tar, struct tar_entry *ret_entry, bool *ret_is_end, struct error *err) MUST_CHECK;
// The next `size` bytes of a file, which has as many left.
enum status tar_read(struct tar *tar, void *bytes, size_t size, struct error *err) MUST_CHECK;
void tar_close(struct tar *tar);

#endif
