// SPDX-License-Identifier: Apache-2.0
// The folder in which a framework may write what it insists on writing. Made by xsp; removed by whichever of xsp and the
// runner ends last, so that neither's death leaves it behind.
#ifndef XSP_PROGRAMS_RUNNER_WORK_DIRECTORY_H
#define XSP_PROGRAMS_RUNNER_WORK_DIRECTORY_H

// Removes the folder and the files in it (no folders inside). A folder that is gone is fine.
void work_directory_remove(const char *path);

#endif
