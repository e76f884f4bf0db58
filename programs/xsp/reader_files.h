// SPDX-License-Identifier: Apache-2.0
// The files that a reading verb was given, folders among them, opened. Where a question is about
// many, those that cannot be read are named and kept out, so that one broken file does not take the answer about all others.
#ifndef XSP_PROGRAMS_XSP_READER_FILES_H
#define XSP_PROGRAMS_XSP_READER_FILES_H

#include "store/store.h"

struct reader_files {
  struct arena arena;
  struct store **stores; // correlated
  size_t count;
  const char **left_out; // "PATH: why"
  size_t left_out_count;
  bool has_broken; // one of these is broken, not just unfinished
};

// With `are_many` (the question is about all of them) a folder stands for the `*.xsp` in it, by name, and one without any
// is STATUS_INPUT; files that cannot be read are told on stderr and kept out, and where nothing else is left, that is the
// error. Else every path is a file, and the first that cannot be read is the error. The caller ends with
// reader_files_close, also after an error.
enum status reader_files_open(const char *const *paths, size_t path_count, bool are_many,
                              struct reader_files *ret_files, struct error *err) MUST_CHECK;
void reader_files_close(struct reader_files *files);

#endif
