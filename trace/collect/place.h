// SPDX-License-Identifier: Apache-2.0
// A session's folder as a place: opened once, checked, then used by its descriptor. Everything in collect/ opens the files
// of a session here. Private.
#ifndef XSP_COLLECT_PLACE_H
#define XSP_COLLECT_PLACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

// Opens the folder that `directory` names and writes its path, without links, to `ret_path`. STATUS_INPUT unless it is the
// caller's and no other user can write to it: its files decide what is written where.
enum status collect_place_open(const char *directory, const char *what, char *ret_path, size_t size, int *ret_folder,
                               struct error *err) MUST_CHECK;
// Opens a regular file of the folder that is the caller's, without following a link; made 0600. -1 with errno; EPERM:
// another user's.
int collect_place_file(int folder, const char *name, int flags, struct stat *ret_facts);
// The lock of the file "session" is its collector's; it ends with the last descriptor. False: somebody else has it. The file is open
// for writing.
bool collect_place_lock(int file);
// Takes no lock, not even for an instant: others may be opening the session.
bool collect_place_is_locked(int file);
// Whether no other process has the file open or mapped; a descriptor or mapping that comes from this one's, by a fork, does not count.
// False where the kernel does not say. The file is open for writing.
bool collect_place_is_alone(int file);
// Mounts a file system in memory of at most so many bytes on an empty folder of the caller's. STATUS_SYSTEM.
enum status collect_place_bound(const char *path, const char *what, uint64_t bytes, struct error *err) MUST_CHECK;
// Removes the files that a session has, and what collect_place_bound mounted; then the folder, if it is empty. Takes the descriptor.
void collect_place_remove(int folder, const char *path);

#endif
