// SPDX-License-Identifier: Apache-2.0
// Folders: removing them, and making those in which a program keeps what outlives it.
#ifndef XSP_BASE_FOLDER_H
#define XSP_BASE_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

// ---- removing; errors are ignored: what cannot be removed stays
// Removes the folder and the files in it, not folders inside. A missing folder is no error.
void folder_remove_flat(const char *path);
// Removes the folder and everything below it, however deep. Links are removed, not followed; what is mounted there stays.
void folder_remove_tree(const char *path);

// ---- keeping
// The place of xsp/NAME among the user's state: in XDG_STATE_HOME, else below HOME. False: HOME is not set, or the path is too long.
bool folder_state_path(const char *name, char *path, size_t size);
// Makes `path` and the folders above it that are missing, mode 0700, and opens it. Never follows a link, nor opens a folder that another
// user can write to. *ret_folder is -1 on failure: STATUS_SYSTEM, `what` begins the message.
enum status folder_keep(const char *path, const char *what, const char *advice, int *ret_folder,
                        struct error *err) MUST_CHECK;

#endif
