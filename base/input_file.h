// SPDX-License-Identifier: Apache-2.0
// Opens a file that a person named, or that lies next to one. Whatever reads such a file opens it here.
#ifndef XSP_BASE_INPUT_FILE_H
#define XSP_BASE_INPUT_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <sys/stat.h>

enum input_file_kind { INPUT_FILE_REGULAR, INPUT_FILE_OR_PIPE };
// Opens `path` for reading and never waits for a FIFO's writer or a device: whatever is not of `kind` is refused at once.
// Only a permitted pipe is waited for, until its writer has come; a signal without SA_RESTART ends that. *ret_file is -1 on
// failure: STATUS_INPUT, or STATUS_SYSTEM if interrupted; `what` begins the message.
enum status input_file_open(const char *path, enum input_file_kind kind, const char *what, int *ret_file,
                            struct stat *ret_facts, struct error *err) MUST_CHECK;
enum status input_file_stream(const char *path, enum input_file_kind kind, const char *what, FILE **ret_stream,
                              struct error *err) MUST_CHECK; // as input_file_open
// Appends all of a regular file to `bytes`, up to its maximum. STATUS_INPUT.
enum status input_file_read(const char *path, const char *what, struct buf *bytes, struct error *err) MUST_CHECK;
// Opens the regular file that lies in `folder` (a descriptor) under `name`, without following a link. `flags` as of openat.
// -1 with errno; EINVAL: it is not a regular file. Allocates nothing, so that it suits any process.
int regular_file_open(int folder, const char *name, int flags, struct stat *ret_facts);

#endif
