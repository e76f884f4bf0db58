// SPDX-License-Identifier: Apache-2.0
// Writes a data set in one file: items one after the other, then the index. Until data_writer_finish the file has a temporary name
// next to its place. One thread; one writer at a time.
#ifndef XSP_DATA_DATA_WRITER_H
#define XSP_DATA_DATA_WRITER_H

#include "data/data_file.h"

struct data_writer;
// STATUS_USE: `path` is there, without `may_replace`. STATUS_SYSTEM: it cannot be written.
enum status data_writer_open(const char *path, bool may_replace, struct data_writer **ret_writer,
                             struct error *err) MUST_CHECK;
// `label` may be NULL. STATUS_INPUT: too many items or bytes, or the name is not a path below a folder (path_is_inner).
enum status data_writer_add(struct data_writer *writer, const char *name, const char *label, const void *bytes,
                            size_t size, struct error *err) MUST_CHECK;
// Everything is on the disk, and has its name. The writer still needs data_writer_close.
enum status data_writer_finish(struct data_writer *writer, struct error *err) MUST_CHECK;
void data_writer_close(struct data_writer *writer); // NULL: nothing. Removes what is not finished
// From a signal's handler: removes what is not finished.
void data_writer_unfinished_remove(void);

#endif
