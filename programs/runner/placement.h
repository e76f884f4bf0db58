// SPDX-License-Identifier: Apache-2.0
// Where the predicting thread runs relative to the framework's own threads.
#ifndef XSP_PROGRAMS_RUNNER_PLACEMENT_H
#define XSP_PROGRAMS_RUNNER_PLACEMENT_H

// Keeps the calling thread off the CPUs that the process's other threads are pinned to, where others remain for it.
// Call once the framework has made its threads. Returns the number of CPUs kept clear; 0 where nothing is pinned, or
// nothing would remain.
int placement_keep_clear(void);

#endif
