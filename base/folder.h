// SPDX-License-Identifier: Apache-2.0
// Removing folders. Errors are ignored: what cannot be removed stays.
#ifndef XSP_BASE_FOLDER_H
#define XSP_BASE_FOLDER_H

// Removes the folder and the files in it, not folders inside. A missing folder is no error.
void folder_remove_flat(const char *path);
// Removes the folder and everything below it, however deep. Links are removed, not followed; what is mounted there stays.
void folder_remove_tree(const char *path);

#endif
