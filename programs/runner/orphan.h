// SPDX-License-Identifier: Apache-2.0
// A runner without its xsp must not stay, not even where the framework hangs.
#ifndef XSP_PROGRAMS_RUNNER_ORPHAN_H
#define XSP_PROGRAMS_RUNNER_ORPHAN_H

// Starts a thread that sleeps until the other end of `control_fd` is closed; two seconds later it removes `work_directory`
// and ends the process, if it is still there. `work_directory` is borrowed for the life of the process. Where no thread
// can be had nothing happens.
void orphan_watch(int control_fd, const char *work_directory);

#endif
