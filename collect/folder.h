// SPDX-License-Identifier: Apache-2.0
// A session's folder: make it, open one that is there, remove it, remember what it was drained into. Private to collect.
#ifndef XSP_COLLECT_FOLDER_H
#define XSP_COLLECT_FOLDER_H

#include "collect/state.h"

// Both fill directory, lock, head, catalog_file, catalog_bytes and catalog_window. On failure folder_create leaves no
// folder behind; the handle is to be closed in any case.
enum status folder_create(struct collect_session *session, const struct collect_options *options,
                          struct error *err) MUST_CHECK;
enum status folder_open(struct collect_session *session, const char *directory, struct error *err) MUST_CHECK;
void folder_remove(const char *directory);     // only files that a session has, then the folder if it is empty
int folder_open_origin(const char *directory); // -1: it cannot be kept, which only recovery would miss
// `store_path` NULL: the run is in the file already, only the present run changes.
void folder_write_origin(int file, const char *store_path, int64_t run_id);

#endif
